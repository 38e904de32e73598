//! Addresses as `html.py` takes them.

use std::borrow::Cow;

use crate::source::{Plain, Reason};

/// An address that may lead somewhere, without its fragment; otherwise empty.
pub fn address(value: Cow<'_, str>, longest: usize) -> Plain<Cow<'_, str>> {
    let end = memchr::memchr(b'#', value.as_bytes()).unwrap_or(value.len());
    let kept = value[..end].trim_matches([' ', '\n', '\r', '\t', '\x0c']);
    if other_scheme(kept)? {
        return Ok(Cow::Borrowed(""));
    }
    if kept.len() > longest {
        return Err(Reason::Limit);
    }
    Ok(match value {
        Cow::Borrowed(text) => Cow::Borrowed(text[..end].trim_matches([' ', '\n', '\r', '\t', '\x0c'])),
        Cow::Owned(_) => Cow::Owned(kept.to_owned()),
    })
}

/// Whether it begins with a scheme other than http and https.
fn other_scheme(text: &str) -> Plain<bool> {
    for (at, sign) in text.char_indices() {
        match sign {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '.' | '-' if at > 0 => {}
            ':' if at > 0 => {
                let scheme = &text[..at];
                return Ok(!scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https"));
            }
            '\u{17f}' | '\u{212a}' => return Err(Reason::Characters), // letters to Python, when case is ignored
            _ => return Ok(false),
        }
    }
    Ok(false)
}
