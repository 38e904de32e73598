//! From bytes to tags and text.

use memchr::{memchr, memchr2};

use super::*;

const MAX_ATTRIBUTES: usize = 100;

impl<'a> Page<'a> {
    pub(super) fn run(&mut self) -> Plain<()> {
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            let (until_tag, refers) = next_tag(rest);
            let length = until_tag.unwrap_or(rest.len());
            if length > 0 {
                self.text(&self.source[self.at..self.at + length], refers)?;
                self.at += length;
                if length == rest.len() {
                    break;
                }
            }
            match self.byte(self.at + 1) {
                b'a'..=b'z' | b'A'..=b'Z' => self.start_tag()?,
                b'/' => self.end_tag()?,
                b'!' => self.declaration()?,
                b'?' => {
                    self.nesting.doubt();
                    self.at = self.find(self.at, ">")? + 1; // a comment, to the parser
                }
                _ => {
                    self.nesting.doubt();
                    self.text(&self.source[self.at..=self.at], false)?;
                    self.at += 1;
                }
            }
        }
        while !self.stack.is_empty() {
            self.pop()?;
        }
        Ok(())
    }

    pub(super) fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    pub(super) fn find(&self, from: usize, what: &str) -> Plain<usize> {
        self.source[from..].find(what).map(|at| from + at).ok_or(Reason::Markup)
    }

    pub(super) fn declaration(&mut self) -> Plain<()> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"<!--") {
            if rest[4..].starts_with(b">") || rest[4..].starts_with(b"->") {
                return Err(Reason::Markup);
            }
            let end = self.find(self.at + 4, "-->")?;
            if self.source[self.at + 4..end].contains("--!>") {
                return Err(Reason::Markup);
            }
            self.nesting.declaration(&self.source[self.at..end + 3]);
            self.at = end + 3;
            return Ok(());
        }
        if rest.len() < 10 || !rest[..9].eq_ignore_ascii_case(b"<!doctype") || self.mode != Mode::BeforeHtml {
            return Err(Reason::Markup);
        }
        let end = self.find(self.at, ">")?;
        let kind = &self.source[self.at + 9..end];
        if kind.contains('<') {
            return Err(Reason::Markup);
        }
        self.nesting.declaration(&self.source[self.at..=end]);
        self.standard = kind.starts_with([' ', '\n', '\x0c']) && kind.trim_ascii().eq_ignore_ascii_case("html");
        self.at = end + 1;
        Ok(())
    }

    /// The name of the tag that begins at `from`.
    pub(super) fn name(&self, from: usize) -> Plain<&'a str> {
        let named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b':' | b'_');
        let length = self.bytes[from..].iter().position(|byte| !named(byte)).ok_or(Reason::Markup)?;
        match self.bytes[from + length] {
            b' ' | b'\n' | b'\x0c' | b'/' | b'>' => Ok(&self.source[from..from + length]),
            _ => Err(Reason::Markup),
        }
    }

    pub(super) fn end_tag(&mut self) -> Plain<()> {
        let from = self.at + 2;
        if !self.byte(from).is_ascii_alphabetic() {
            return Err(Reason::Markup);
        }
        let name = self.name(from)?;
        let mut end = from + name.len();
        while matches!(self.byte(end), b' ' | b'\n' | b'\x0c') {
            end += 1;
        }
        if self.byte(end) != b'>' {
            return Err(Reason::Markup);
        }
        let (tag, flags) = tags::known(name.as_bytes());
        if flags & tags::BREAK != 0 {
            self.line_break()?;
        }
        self.at = end + 1;
        self.tally.end_tag(tag, flags);
        if self.nesting.is_watched() {
            self.nesting.tag(tag, flags, name, self.byte(from + name.len()), end - from + 2, true);
        }
        self.close(tag, flags, name)
    }

    pub(super) fn start_tag(&mut self) -> Plain<()> {
        let name = self.name(self.at + 1)?;
        let (tag, flags) = tags::known(name.as_bytes());
        if flags & tags::UNUSUAL != 0 && !self.svg_open {
            return Err(Reason::Element);
        }
        let begun = self.at;
        if flags & tags::BREAK != 0 {
            self.line_break()?;
        }
        self.at = begun + 1 + name.len();
        self.tally.start_tag(tag, flags, self.byte(self.at) == b'>');
        self.read_attributes()?;
        if self.nesting.is_watched() {
            let after = self.byte(begun + 1 + name.len());
            self.nesting.tag(tag, flags, name, after, self.at - begun, false);
        }
        self.open(tag, flags, name)
    }

    pub(super) fn read_attributes(&mut self) -> Plain<()> {
        self.attributes.seen = 0;
        self.attributes.linked = false;
        self.attributes.values.clear();
        let bytes = self.bytes;
        let mut at = self.at;
        let mut count = 0;
        let mut slash = false;
        loop {
            match bytes.get(at) {
                Some(&byte @ (b' ' | b'\n' | b'\x0c' | b'/')) => {
                    slash = byte == b'/';
                    at += 1;
                    continue;
                }
                Some(b'>') => {
                    self.self_closing = slash;
                    self.at = at + 1;
                    return Ok(());
                }
                None | Some(b'=') => return Err(Reason::Markup),
                _ => {}
            }
            slash = false;
            let start = at;
            let name = loop {
                match bytes.get(at) {
                    Some(b' ' | b'\n' | b'\x0c' | b'/' | b'>' | b'=') => break &bytes[start..at],
                    None | Some(b'"' | b'\'' | b'<') => return Err(Reason::Attribute),
                    _ => at += 1,
                }
            };
            count += 1;
            if count > MAX_ATTRIBUTES {
                return Err(Reason::Limit);
            }
            let name_end = at;
            while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\x0c')) {
                at += 1;
            }
            let mut written = "";
            if bytes.get(at) == Some(&b'=') {
                at += 1;
                while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\x0c')) {
                    at += 1;
                }
                let from = at;
                match bytes.get(at) {
                    Some(&quote @ (b'"' | b'\'')) => {
                        let start = at + 1;
                        let length = memchr(quote, &bytes[start..]).ok_or(Reason::Markup)?;
                        written = &self.source[start..start + length];
                        at = start + length + 1;
                    }
                    None | Some(b'>') => return Err(Reason::Attribute),
                    _ => loop {
                        match bytes.get(at) {
                            Some(b' ' | b'\n' | b'\x0c' | b'>') => {
                                written = &self.source[from..at];
                                break;
                            }
                            None | Some(b'<' | b'"' | b'\'' | b'`') => return Err(Reason::Attribute),
                            _ => at += 1,
                        }
                    },
                }
                if self.nesting.is_watched() {
                    self.nesting.value(&bytes[start..from], &bytes[from..at], self.byte(at));
                }
            } else if self.nesting.is_watched() && name.contains(&b'`') {
                self.nesting.doubt();
            }
            let Some(attribute) = attribute(name) else {
                if name.eq_ignore_ascii_case(b"background") {
                    return Err(Reason::Attribute); // a picture behind the page or a cell, of old pages
                }
                self.attributes.linked |= self.svg_open && name.len() > 6 && name[..6].eq_ignore_ascii_case(b"xlink:");
                continue;
            };
            if bit(attribute) & ASKING != 0 && (name[0].is_ascii_uppercase() || !name.is_ascii()) {
                return Err(Reason::Attribute); // `markup.py` looks for small letters
            }
            if attribute == Attribute::Style && bytes.get(name_end) != Some(&b'=') {
                return Err(Reason::Attribute);
            }
            if self.attributes.seen & bit(attribute) == 0 {
                self.attributes.seen |= bit(attribute);
                self.attributes.values.push((attribute as u8, written));
            }
        }
    }

    pub(super) fn text(&mut self, text: &'a str, refers: bool) -> Plain<()> {
        let mut text = text;
        if self.mode != Mode::Body {
            text = text.trim_start_matches([' ', '\n', '\x0c']);
            if text.is_empty() {
                return Ok(());
            }
            if text.starts_with('&') {
                return Err(Reason::Reference); // perhaps to white space, which does not begin the body
            }
            self.begin_body()?;
        }
        let around = self.stack.last().map_or(0, |open| open.flags);
        let tag = self.stack.last().map_or(Tag::Body, |open| open.tag);
        if (around & tags::TABLE_ONLY != 0 || tag == Tag::Colgroup)
            && !text.bytes().all(|byte| matches!(byte, b' ' | b'\n' | b'\x0c'))
        {
            return Err(Reason::Table);
        }
        if around & tags::TABLE_ONLY == 0 && tag != Tag::Colgroup {
            self.reopen()?;
        }
        if refers {
            let raw = &mut self.raw;
            return decode(text, false, |part| raw.push_str(part));
        }
        self.raw.push_str(text);
        Ok(())
    }

    /// A tab before a tag of a block, in place of the white space there or put in.
    pub(super) fn line_break(&mut self) -> Plain<()> {
        if self.mode != Mode::Body {
            return Ok(());
        }
        let around = self.top();
        if around.flags & tags::TABLE_ONLY == 0 && around.tag != Tag::Colgroup {
            self.reopen()?;
        }
        if self.at > 0 && self.bytes[self.at - 1] <= b' ' && self.raw.ends_with([' ', '\n', '\x0c']) {
            self.raw.pop();
        }
        self.raw.push('\t');
        Ok(())
    }

    /// The content of an element without elements, up to its end tag, which is passed.
    pub(super) fn raw_text(&mut self, name: &str) -> Plain<&'a str> {
        let start = self.at;
        let mut from = start;
        loop {
            let at = self.find(from, "</")?;
            let after = at + 2 + name.len();
            if after >= self.bytes.len() || !self.bytes[at + 2..after].eq_ignore_ascii_case(name.as_bytes()) {
                from = at + 2;
                continue;
            }
            if self.byte(after) == b'<' {
                return Err(Reason::Script); // a break may be put between
            }
            if matches!(self.byte(after), b' ' | b'\n' | b'\x0c' | b'/' | b'>') {
                let mut end = after;
                while matches!(self.byte(end), b' ' | b'\n' | b'\x0c') {
                    end += 1;
                }
                if self.byte(end) != b'>' {
                    return Err(Reason::Script);
                }
                self.at = end + 1;
                self.nesting.raw_text(&self.source[start..at], end - at);
                return Ok(&self.source[start..at]);
            }
            from = at + 2;
        }
    }
}

/// Where the next tag begins, and whether a `&` stands before it.
fn next_tag(bytes: &[u8]) -> (Option<usize>, bool) {
    match memchr2(b'<', b'&', bytes) {
        Some(at) if bytes[at] == b'&' => (memchr(b'<', &bytes[at..]).map(|tag| at + tag), true),
        found => (found, false),
    }
}
