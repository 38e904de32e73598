//! Answers of a wiki without their texts: what is left is short, and a text goes to its place without a detour.

use memchr::{memchr, memchr2};

/// A text in an answer: where it begins and ends as it is written there, and how many bytes it means.
#[derive(Debug, PartialEq)]
pub struct Passage {
    pub start: usize,
    pub end: usize,
    pub size: usize,
}

/// The JSON of an answer with a number in place of each text of its revisions, and the texts in this order.
///
/// None: something is not as MediaWiki writes it. What is left is not checked: whoever reads it finds out.
pub fn cut(bytes: &[u8]) -> Option<(Vec<u8>, Vec<Passage>)> {
    let mut rest = Vec::new();
    let mut passages = Vec::new();
    let (mut at, mut kept, mut depth) = (0, 0, 0_usize);
    let mut revisions = None; // how deep they begin, while inside of them
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if revisions == Some(depth) {
                    revisions = None;
                }
            }
            b'"' => {
                let name = passage(bytes, at + 1)?;
                at = name.end;
                let colon = skip_space(bytes, at + 1);
                if bytes.get(colon) == Some(&b':') {
                    let value = skip_space(bytes, colon + 1);
                    match &bytes[name.start..name.end] {
                        b"revisions" if revisions.is_none() => revisions = Some(depth),
                        b"content" | b"*" if revisions.is_some() => {
                            if bytes.get(value) != Some(&b'"') {
                                return None;
                            }
                            let text = passage(bytes, value + 1)?;
                            let written = &bytes[text.start..text.end];
                            std::str::from_utf8(written).ok()?;
                            if written.iter().fold(b' ', |least, &byte| least.min(byte)) < b' ' {
                                return None; // control characters must be escaped
                            }
                            rest.extend_from_slice(&bytes[kept..value]);
                            rest.extend_from_slice(passages.len().to_string().as_bytes());
                            kept = text.end + 1;
                            at = text.end;
                            passages.push(text);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    rest.extend_from_slice(&bytes[kept..]);
    Some((rest, passages))
}

/// What a passage means, handed on in pieces.
pub fn unescape(written: &[u8], mut give: impl FnMut(&[u8])) {
    let mut rest = written;
    while let Some(plain) = memchr(b'\\', rest) {
        give(&rest[..plain]);
        let Some((length, meant)) = escape(&rest[plain..]) else { return }; // cannot be: `passage` has seen it
        give(meant.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[plain + length..];
    }
    give(rest);
}

/// The string that begins at `start`, after its quotation mark.
fn passage(bytes: &[u8], start: usize) -> Option<Passage> {
    let (mut at, mut saved) = (start, 0);
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(Passage { start, end: at, size: at - start - saved });
        }
        let (length, meant) = escape(&bytes[at..])?;
        at += length;
        saved += length - meant.len_utf8();
    }
}

/// Bytes of the escape at the beginning, and what it means.
fn escape(written: &[u8]) -> Option<(usize, char)> {
    let meant = match *written.get(1)? {
        b'n' => '\n',
        sign @ (b'"' | b'\\' | b'/') => char::from(sign),
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let first = unit(written)?;
            if !(0xd800..0xe000).contains(&first) {
                return Some((6, char::from_u32(first)?));
            }
            let second = unit(written.get(6..)?)?;
            if first >= 0xdc00 || !(0xdc00..0xe000).contains(&second) {
                return None;
            }
            return Some((12, char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))?));
        }
        _ => return None,
    };
    Some((2, meant))
}

fn unit(written: &[u8]) -> Option<u32> {
    let digits = written.get(..6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |sum, &digit| Some(sum << 4 | char::from(digit).to_digit(16)?))
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    at + bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}
