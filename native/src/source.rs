//! The bytes of a page as the parser sees them, and the text they stand for.

use std::borrow::Cow;

use crate::entities;

/// Why a page is not plain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    Characters,
    Reference,
    Markup,
    Attribute,
    Element,
    Formatting,
    Table,
    Nesting,
    Head,
    Limit,
    Script,
    Landmark,
    Close,
}

pub type Plain<T> = Result<T, Reason>;

/// Valid UTF-8 with tabs as spaces and line ends as the parser makes them.
pub fn normalised(data: &[u8]) -> Plain<Cow<'_, str>> {
    let mut odd = false;
    let mut changed = false;
    for &byte in data {
        odd |= byte < b' ' && byte != b'\n' && byte != b'\t' && byte != b'\r' && byte != b'\x0c';
        changed |= byte == b'\t' || byte == b'\r';
    }
    if odd || data.starts_with(b"\xef\xbb\xbf") {
        return Err(Reason::Characters); // marks of our own, or what is white space for Python only
    }
    let text = std::str::from_utf8(data).map_err(|_| Reason::Characters)?;
    if !changed {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split('\r').enumerate() {
        let rest = if number > 0 {
            out.push('\n');
            line.strip_prefix('\n').unwrap_or(line)
        } else {
            line
        };
        let mut last = 0;
        for (at, tab) in rest.match_indices('\t') {
            out.push_str(&rest[last..at]);
            out.push(' ');
            last = at + tab.len();
        }
        out.push_str(&rest[last..]);
    }
    Ok(Cow::Owned(out))
}

/// The value of an attribute.
pub fn value(written: &str) -> Plain<Cow<'_, str>> {
    let (mut tag, mut refers) = (false, false);
    for byte in written.bytes() {
        tag |= byte == b'<';
        refers |= byte == b'&';
    }
    if tag {
        return Err(Reason::Attribute); // a break may be put before it
    }
    if !refers {
        return Ok(Cow::Borrowed(written));
    }
    let mut out = String::with_capacity(written.len());
    decode(written, true, |part| out.push_str(part))?;
    Ok(Cow::Owned(out))
}

/// Text with its character references replaced, piece by piece.
pub fn decode(text: &str, attribute: bool, mut push: impl FnMut(&str)) -> Plain<()> {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        push(&rest[..at]);
        rest = &rest[at..];
        match reference(rest, attribute)? {
            Some((sign, length)) => {
                push(&sign);
                rest = &rest[length..];
            }
            None => {
                push("&");
                rest = &rest[1..];
            }
        }
    }
    push(rest);
    Ok(())
}

/// What a reference stands for and how long it is written; None where `&` is only itself.
fn reference(text: &str, attribute: bool) -> Plain<Option<(Cow<'static, str>, usize)>> {
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'#') => numeric(text).map(|(sign, length)| Some((Cow::Owned(sign.to_string()), length))),
        Some(first) if first.is_ascii_alphanumeric() => {
            let length = bytes[1..].iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(bytes.len() - 1);
            let name = &text[1..1 + length];
            let next = bytes.get(1 + length);
            if next == Some(&b';') {
                return match entities::named(name) {
                    Some(sign) => Ok(Some((Cow::Borrowed(sign), length + 2))),
                    None => Err(Reason::Reference),
                };
            }
            match entities::bare(name) {
                None => Ok(None),
                Some(bare) if attribute && (bare < length || next == Some(&b'=')) => Ok(None),
                Some(_) => Err(Reason::Reference),
            }
        }
        _ => Ok(None),
    }
}

fn numeric(text: &str) -> Plain<(char, usize)> {
    let end = text.bytes().take(12).position(|byte| byte == b';').ok_or(Reason::Reference)?;
    let digits = &text[2..end];
    let number = match digits.strip_prefix(['x', 'X']) {
        Some(hex) if hex.bytes().all(|digit| digit.is_ascii_hexdigit()) => u32::from_str_radix(hex, 16),
        None if digits.bytes().all(|digit| digit.is_ascii_digit()) => digits.parse(),
        _ => return Err(Reason::Reference),
    }
    .map_err(|_| Reason::Reference)?;
    let usual = number == 10 || (32..127).contains(&number) || (160..0xfdd0).contains(&number) || number > 0xfdef;
    if !usual || number & 0xfffe == 0xfffe {
        return Err(Reason::Reference);
    }
    char::from_u32(number).map(|sign| (sign, end + 1)).ok_or(Reason::Reference)
}
