//! What the `style` of an element says, as `css.py` reads it.

/// Whether an element with this style is not seen: not displayed, of size 0, off the screen, or of one colour.
pub fn hides(style: &str) -> bool {
    let (mut display, mut visibility, mut letters, mut cut) = (false, false, false, false);
    let (mut far, mut empty) = ([false; 5], [false; 4]);
    let (mut clipped, mut inset, mut placed, mut pixel) = (false, false, false, false);
    let (mut aside, mut padded) = (false, false);
    let (mut colour, mut background) = (String::new(), String::new());
    for declaration in style.to_ascii_lowercase().split(';') {
        let Some((name, value)) = declaration.split_once(':') else {
            continue;
        };
        let value = trimmed(value.split('!').next().unwrap_or(""));
        match trimmed(name) {
            "display" => display = value == "none",
            "visibility" => visibility = value == "hidden" || value == "collapse",
            "font-size" => letters = is_nothing(value),
            "font" => letters = value.split(WHITE).any(|part| is_nothing(part.split('/').next().unwrap_or(""))),
            "left" => far[0] = is_far(value),
            "top" => far[1] = is_far(value),
            "right" => far[2] = is_far(value),
            "bottom" => far[3] = is_far(value),
            "text-indent" => far[4] = is_far(value),
            "margin-left" => aside = is_far_aside(value),
            "padding" | "padding-left" => padded = !is_nothing(value),
            "position" => placed = value == "absolute" || value == "fixed",
            "clip" => clipped = is_empty_rectangle(value),
            "clip-path" => inset = is_all_inset(value),
            side @ ("width" | "height" | "max-width" | "max-height") => {
                let place = match side {
                    "width" => 0,
                    "height" => 1,
                    "max-width" => 2,
                    _ => 3,
                };
                empty[place] = is_nothing(value);
                pixel |= value == "1px";
            }
            "overflow" => cut = value == "hidden" || value == "clip",
            "color" => colour = one_way(value),
            "background" | "background-color" => background = one_way(value),
            _ => {}
        }
    }
    let alike = !colour.is_empty() && colour == background;
    let clipped = !pixel && (inset || (clipped && placed));
    let far = far.contains(&true) || (aside && !padded);
    display || visibility || letters || alike || clipped || far || (cut && empty.contains(&true))
}

const WHITE: [char; 5] = [' ', '\t', '\n', '\r', '\x0c'];

/// A colour written in one way; empty for what may be any (`inherit`) or is more than a colour.
fn one_way(value: &str) -> String {
    match value {
        "white" => "#ffffff".to_owned(),
        "black" => "#000000".to_owned(),
        short if short.starts_with('#') && short.chars().count() == 4 => {
            short.chars().take(1).chain(short.chars().skip(1).flat_map(|digit| [digit, digit])).collect()
        }
        long if long.starts_with('#') => long.to_owned(),
        _ => String::new(),
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(WHITE)
}

/// Sign, digits before and after the point, unit.
fn size(value: &str) -> Option<(bool, &str, &str, &str)> {
    let rest = value.strip_prefix('-');
    let (negative, rest) = (rest.is_some(), rest.unwrap_or(value));
    let (whole, rest) = digits(rest);
    let (part, unit) = rest.strip_prefix('.').map_or(("", rest), digits);
    unit.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'%').then_some((negative, whole, part, unit))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

fn is_nothing(value: &str) -> bool {
    size(value).is_some_and(|(_, whole, part, _)| {
        !whole.is_empty() && (whole.bytes().chain(part.bytes())).all(|digit| digit == b'0')
    })
}

/// So far beyond an edge nobody sees it.
fn is_far(value: &str) -> bool {
    is_beyond(value, |unit| match unit {
        "px" => Some(500),
        "em" | "rem" => Some(30),
        "%" | "vw" | "vh" => Some(100),
        _ => None,
    })
}

/// Less is a column that is moved into its place.
fn is_far_aside(value: &str) -> bool {
    is_beyond(value, |unit| match unit {
        "px" => Some(2000),
        "em" | "rem" => Some(100),
        _ => None,
    })
}

fn is_beyond(value: &str, limit: impl Fn(&str) -> Option<u32>) -> bool {
    let Some((true, whole, _, unit)) = size(value) else {
        return false;
    };
    limit(unit).is_some_and(|far| number(whole) >= far)
}

fn number(digits: &str) -> u32 {
    digits[..digits.len().min(9)].parse().unwrap_or(0)
}

/// `rect(0 0 0 0)`, `rect(1px, 1px, 1px, 1px)`: without height or width.
fn is_empty_rectangle(value: &str) -> bool {
    match arguments(value, "rect(").as_slice() {
        [top, right, bottom, left] => (top == bottom && *top != "auto") || (right == left && *right != "auto"),
        _ => false,
    }
}

/// `inset(50%)`, `inset(100%)`: nothing is left.
fn is_all_inset(value: &str) -> bool {
    let edges = arguments(value, "inset(");
    !edges.is_empty()
        && edges.into_iter().all(|edge| {
            size(edge).is_some_and(|(negative, whole, _, unit)| !negative && unit == "%" && number(whole) >= 50)
        })
}

/// Of a function; none when it is another.
fn arguments<'a>(value: &'a str, function: &str) -> Vec<&'a str> {
    let inside = value.strip_prefix(function).and_then(|rest| rest.strip_suffix(')')).unwrap_or("");
    inside.split(|sign| sign == ',' || WHITE.contains(&sign)).filter(|part| !part.is_empty()).collect()
}
