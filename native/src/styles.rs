//! What the `style` of an element says, as `css.py` reads it.

/// Whether an element with this style is not seen: not displayed, of size 0, or off the screen.
pub fn hides(style: &str) -> bool {
    const NAMES: [&str; 6] = ["display", "visibility", "font-size", "left", "top", "text-indent"];
    let mut hidden = [false; NAMES.len()];
    for declaration in style.split(';') {
        let Some((name, value)) = declaration.split_once(':') else {
            continue;
        };
        let Some(at) = NAMES.iter().position(|known| trimmed(name).eq_ignore_ascii_case(known)) else {
            continue;
        };
        let value = trimmed(value.split('!').next().unwrap_or("")).to_ascii_lowercase();
        hidden[at] = match at {
            0 => value == "none",
            1 => value == "hidden" || value == "collapse",
            2 => is_nothing(&value),
            _ => is_far(&value),
        };
    }
    hidden.contains(&true)
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0c'])
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

/// So far to the left or above nobody sees it.
fn is_far(value: &str) -> bool {
    let Some((true, whole, _, unit)) = size(value) else {
        return false;
    };
    let far = match unit {
        "px" => 500,
        "em" | "rem" => 30,
        "%" | "vw" | "vh" => 100,
        _ => return false,
    };
    whole[..whole.len().min(9)].parse::<u32>().unwrap_or(0) >= far
}
