//! `nesting.plainly_nested`: is every tag of a long page plainly written and closed in order? Its reasons stand there.
//! True only where Python says so too; what has line ends of other systems is left to Python.

const LONGEST_TAG: usize = 2048;
const MOST_OTHER_VALUES: usize = 2000;
const MOST_ROOTS: usize = 20;
const LONGEST_NAME: usize = 10;

const VOID: u8 = 1;
const TEXT_ONLY: u8 = 1 << 1;
const UNUSUAL: u8 = 1 << 2;
const LEFT_OPEN: u8 = 1 << 3;
const FORMATTING: u8 = 1 << 4;
const INLINE: u8 = 1 << 5;
const ROOT: u8 = 1 << 6;

/// A name in small letters, with zeros behind it.
type Name = [u8; LONGEST_NAME];

fn class(name: &[u8]) -> u8 {
    match name {
        b"br" | b"img" | b"input" | b"wbr" => VOID | INLINE,
        b"area" | b"base" | b"col" | b"embed" | b"hr" | b"link" | b"meta" | b"param" | b"source" | b"track" => VOID,
        b"script" | b"style" | b"title" | b"textarea" => TEXT_ONLY,
        b"iframe" | b"noembed" | b"noframes" | b"xmp" | b"plaintext" | b"svg" | b"math" | b"template" | b"select"
        | b"frameset" | b"listing" | b"image" => UNUSUAL,
        b"p" | b"li" | b"tr" | b"td" | b"th" | b"thead" | b"tbody" | b"tfoot" => LEFT_OPEN,
        b"a" | b"b" | b"big" | b"code" | b"em" | b"font" | b"i" | b"nobr" | b"s" | b"small" | b"strike" | b"strong"
        | b"tt" | b"u" => FORMATTING,
        b"span" | b"label" | b"abbr" | b"cite" | b"dfn" | b"kbd" | b"q" | b"samp" | b"sub" | b"sup" | b"time"
        | b"var" | b"bdi" | b"bdo" | b"data" | b"mark" | b"ins" | b"del" => INLINE,
        b"html" | b"body" => ROOT,
        _ => 0,
    }
}

/// `data`: with tabs as spaces.
pub fn plainly_nested(data: &[u8], depth: usize) -> bool {
    let mut order = Order { depth, ..Order::default() };
    let mut others = 0;
    let mut at = 0;
    while let Some(found) = data[at..].iter().position(|&byte| byte == b'<') {
        let start = at + found;
        let Some(end) = data[start + 1..].iter().position(|&byte| matches!(byte, b'<' | b'>')) else {
            break; // cut in the middle of a tag, which the parser drops
        };
        let end = start + 1 + end;
        if data[end] == b'<' || end - start > LONGEST_TAG {
            return false;
        }
        at = end + 1;
        let tag = &data[start..=end];
        if tag[1] == b'!' {
            if !declaration(tag) {
                return false;
            }
            continue;
        }
        let closing = tag[1] == b'/';
        let written = &tag[1 + usize::from(closing)..];
        if !written[0].is_ascii_alphabetic() || !plainly_written(tag, &mut others) || !order.take(written, closing) {
            return false;
        }
    }
    order.ended()
}

fn declaration(tag: &[u8]) -> bool {
    if tag.starts_with(b"<!--") {
        return tag.len() >= 7 && tag.ends_with(b"-->");
    }
    tag.len() >= 10 && tag[..9].eq_ignore_ascii_case(b"<!doctype")
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c')
}

fn ends_name(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' | b'>')
}

fn marks(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'=' | b'<' | b'>' | b'`')
}

/// Attributes only as name="value" and the like. `tag`: from its `<` to the first `>`.
fn plainly_written(tag: &[u8], others: &mut usize) -> bool {
    let mut at = 1;
    while at < tag.len() - 1 {
        match tag[at] {
            b'"' | b'\'' | b'`' => return false, // not after a sign: that is passed below
            b'=' => {
                let before = tag[at - 1];
                if !(before.is_ascii_alphanumeric() || matches!(before, b'-' | b'_' | b':' | b'.')) {
                    return false;
                }
                let value = &tag[at + 1..];
                let quote = value[0];
                if quote == b'"' {
                    let Some(length) = value[1..].iter().position(|&byte| byte == b'"') else {
                        return false;
                    };
                    at += length + 3;
                    continue;
                }
                *others += 1;
                if *others > MOST_OTHER_VALUES {
                    return false;
                }
                let inside = usize::from(quote == b'\'');
                let rest = &value[inside..];
                let plain = |byte: u8| !marks(byte) && (inside == 1 || !is_space(byte));
                let Some(length) = rest.iter().position(|&byte| !plain(byte)) else {
                    return false;
                };
                let good = if inside == 1 {
                    rest[length] == b'\''
                        && rest.get(length + 1).is_some_and(|&byte| is_space(byte) || matches!(byte, b'/' | b'>'))
                } else {
                    length > 0 && (is_space(rest[length]) || rest[length] == b'>')
                };
                if !good {
                    return false;
                }
                at += 1 + 2 * inside + length;
            }
            _ => at += 1,
        }
    }
    true
}

#[derive(Default)]
struct Order {
    depth: usize,
    open: Vec<(Name, bool, usize)>, // whether it is formatting, and how many blocks had begun or ended
    blocks: usize,
    roots: usize,
    text_only: Option<Name>, // the tag before, which only its end may follow
}

impl Order {
    fn take(&mut self, written: &[u8], closing: bool) -> bool {
        let Some(length) = written.iter().take(LONGEST_NAME + 1).position(|&byte| ends_name(byte)) else {
            return false;
        };
        let mut name: Name = [0; LONGEST_NAME];
        for (to, from) in name.iter_mut().zip(&written[..length]) {
            *to = from.to_ascii_lowercase();
            if !(to.is_ascii_alphanumeric() || *to == b'-') {
                return false;
            }
        }
        if length > 8 && !(matches!(&name, b"blockquote" | b"figcaption") && matches!(written[length], b' ' | b'>')) {
            return false;
        }
        let class = class(&name[..length]);
        if let Some(expected) = self.text_only.take() {
            if !closing || name != expected {
                return false;
            }
        }
        if class & UNUSUAL != 0 {
            return false;
        }
        if class & TEXT_ONLY != 0 && !closing {
            self.text_only = Some(name);
        }
        self.roots += usize::from(class & ROOT != 0);
        if class & (FORMATTING | INLINE) == 0 {
            self.blocks += 1;
        }
        if self.roots > MOST_ROOTS {
            return false;
        }
        if class & (LEFT_OPEN | VOID) != 0 {
            return true;
        }
        if !closing {
            self.open.push((name, class & FORMATTING != 0, self.blocks));
            return 6 * self.open.len() + 6 <= self.depth;
        }
        let Some((opened, formatting, blocks)) = self.open.pop() else {
            return false;
        };
        opened == name && (!formatting || blocks == self.blocks)
    }

    /// Nothing may follow what is left open of formatting.
    fn ended(&self) -> bool {
        self.text_only.is_none()
            && self.open.iter().all(|&(_, formatting, blocks)| !formatting || blocks == self.blocks)
    }
}
