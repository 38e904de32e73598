//! Lines of text: white space collapsed, as `passages.py` and `one_line` do it.

/// What lies between two places of the raw text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Hide,
    HideEnd,
    Drop,
    DropEnd,
    Keep,
    KeepEnd,
}

/// White space collapsed, of at most `limit` characters, appended to `out`. Long text is cut before any work.
pub fn one_line(out: &mut String, text: &str, limit: usize) {
    let mut count = 0;
    let mut spaced = false;
    for sign in text.chars().take(limit.saturating_mul(8)) {
        if sign.is_whitespace() {
            spaced = count > 0;
            continue;
        }
        if spaced {
            spaced = false;
            out.push(' ');
            count += 1;
            if count == limit {
                return;
            }
        }
        out.push(sign);
        count += 1;
        if count == limit {
            return;
        }
    }
}

pub fn line(text: &str, limit: usize) -> String {
    if text.len() <= limit && is_one_line(text.as_bytes()) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len().min(limit));
    one_line(&mut out, text, limit);
    out
}

/// Whether it is nothing but words of ASCII with one space between: then there is nothing to collapse.
fn is_one_line(text: &[u8]) -> bool {
    let mut before = b' ';
    for &byte in text {
        if !(b' '..0x7f).contains(&byte) || (byte == b' ' && before == b' ') {
            return false;
        }
        before = byte;
    }
    text.is_empty() || before != b' '
}

pub fn characters(text: &[u8]) -> usize {
    count(text, |byte| byte & 0xc0 != 0x80)
}

/// No more than so many characters; whether there were more.
pub fn cut(text: &mut String, characters: usize) -> bool {
    let end = text.char_indices().nth(characters).map(|(at, _)| at);
    end.inspect(|&at| text.truncate(at)).is_some()
}

/// How many bytes are such; in pieces short enough to count in a byte each, many at once.
pub fn count(text: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    text.chunks(255)
        .map(|piece| usize::from(piece.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(u8::from(wanted(byte))))))
        .sum()
}

/// Where bytes up to a space stand: between words, in ASCII and in UTF-8. Eight bytes at a time.
pub fn gaps(text: &[u8], mut found: impl FnMut(usize)) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    while let Some(&eight) = text[at..].first_chunk() {
        let bytes = u64::from_le_bytes(eight);
        // the highest bit of each byte that is no greater than a space
        let above = ((bytes & (0x7f * ONES)) + u64::from(0x7f - b' ') * ONES) | bytes;
        let mut low = !above & (0x80 * ONES);
        while low != 0 {
            found(at + low.trailing_zeros() as usize / 8);
            low &= low - 1;
        }
        at += 8;
    }
    text[at..].iter().enumerate().filter(|&(_, &byte)| byte <= b' ').for_each(|(rest, _)| found(at + rest));
}

/// A text without its digits, appended to `words`; its numbers one by one.
pub fn apart<'t>(text: &'t [u8], words: &mut Vec<u8>, mut number: impl FnMut(&'t [u8])) {
    let mut rest = text;
    while let Some(at) = digit(rest) {
        words.extend_from_slice(&rest[..at]);
        let length = rest[at..].iter().position(|sign| !sign.is_ascii_digit()).unwrap_or(rest.len() - at);
        number(&rest[at..at + length]);
        rest = &rest[at + length..];
    }
    words.extend_from_slice(rest);
}

/// Where the first digit stands; pieces without one are passed over many bytes at once.
fn digit(text: &[u8]) -> Option<usize> {
    let begins = |piece: &[u8]| piece.iter().fold(false, |any, sign| any | sign.is_ascii_digit());
    let piece = text.chunks(32).position(begins)?;
    text[piece * 32..].iter().position(u8::is_ascii_digit).map(|at| piece * 32 + at)
}

const TOO_SHORT: usize = 40;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Dropped,
    Kept,
    Plain,
}

/// All text and the main text, a line per block; None: they are the same.
pub fn texts(raw: &str, marks: &[(usize, Mark)]) -> (String, Option<String>) {
    let mut lines = Lines { out: String::with_capacity(raw.len()), runs: Vec::new(), start: 0, spaced: false };
    let mut part = Part::Plain;
    let (mut hidden, mut dropped, mut kept) = (0_i32, 0_i32, false);
    let mut last = 0;
    for &(at, mark) in marks {
        if hidden == 0 {
            lines.add(&raw[last..at], part);
        }
        last = at;
        match mark {
            Mark::Hide => hidden += 1,
            Mark::HideEnd => hidden -= 1,
            _ => lines.end(part),
        }
        match mark {
            Mark::Drop => dropped += 1,
            Mark::DropEnd => dropped -= 1,
            Mark::Keep => kept = true,
            Mark::KeepEnd => kept = false,
            _ => continue,
        }
        part = match (dropped > 0, kept) {
            (true, _) => Part::Dropped,
            (_, true) => Part::Kept,
            _ => Part::Plain,
        };
    }
    if hidden == 0 {
        lines.add(&raw[last..], part);
    }
    lines.end(part);
    let total = characters(lines.out.as_bytes());
    for part in [Part::Kept, Part::Plain] {
        let (main, whole) = lines.of(part);
        let length = characters(main.as_bytes());
        if length >= TOO_SHORT || length * 10 >= total {
            return if whole { (lines.out, None) } else { (lines.out, Some(main)) };
        }
    }
    (lines.out, None)
}

struct Lines {
    out: String,
    runs: Vec<(usize, usize, Part)>, // neighbouring lines of the same part
    start: usize,                    // of the line in work
    spaced: bool,
}

impl Lines {
    fn add(&mut self, raw: &str, part: Part) {
        let bytes = raw.as_bytes();
        let mut word = 0;
        let mut at = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if byte > b' ' && byte < 0x80 {
                at += 1;
                continue;
            }
            let mut width = 1;
            if byte >= 0x80 {
                // Only these begin the further white space of Unicode.
                if !matches!(byte, 0xc2 | 0xe1..=0xe3) {
                    at += 1;
                    continue;
                }
                let sign = raw[at..].chars().next().unwrap_or(' ');
                width = sign.len_utf8();
                if !sign.is_whitespace() {
                    at += width;
                    continue;
                }
            }
            self.word(&raw[word..at]);
            if byte == b'\t' {
                self.end(part);
            } else {
                self.spaced = true;
            }
            at += width;
            word = at;
        }
        self.word(&raw[word..]);
    }

    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if self.out.len() == self.start {
            if self.start > 0 {
                self.out.push('\n');
                self.start += 1;
            }
        } else if self.spaced {
            self.out.push(' ');
        }
        self.spaced = false;
        self.out.push_str(word);
    }

    fn end(&mut self, part: Part) {
        self.spaced = false;
        if self.out.len() == self.start {
            return;
        }
        match self.runs.last_mut() {
            Some((_, end, of)) if *of == part => *end = self.out.len(),
            _ => self.runs.push((self.start, self.out.len(), part)),
        }
        self.start = self.out.len();
    }

    /// The text of one part, and whether it is all text.
    fn of(&self, part: Part) -> (String, bool) {
        let mut main = String::new();
        for &(start, end, of) in &self.runs {
            if of == part {
                if !main.is_empty() {
                    main.push('\n');
                }
                main.push_str(&self.out[start..end]);
            }
        }
        let whole = main.len() == self.out.len();
        (main, whole)
    }
}

/// Text with its white space collapsed.
#[derive(Default)]
pub struct Flat {
    pub out: String,
    spaced: bool,
}

impl Flat {
    pub fn add(&mut self, text: &str) {
        for part in text.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            if !word.is_empty() {
                if self.spaced && !self.out.is_empty() {
                    self.out.push(' ');
                }
                self.out.push_str(word);
                self.spaced = false;
            }
            self.spaced |= word.len() < part.len();
        }
    }
}

/// The first characters of a text.
pub fn first(text: &str, characters: usize) -> &str {
    &text[..text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at)]
}

/// The last characters of a text.
pub fn last(text: &str, characters: usize) -> &str {
    &text[text.char_indices().rev().take(characters).last().map_or(text.len(), |(at, _)| at)..]
}

/// Whether `wanted` is in the text, in capital or small letters.
pub fn contains_any_case(text: &str, wanted: &str) -> bool {
    text.len() >= wanted.len()
        && text.as_bytes().windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}
