//! The one pass over a page: tags, the stack of open elements, and what is gathered on the way.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::address::address;
use crate::bombs;
use crate::pack;
use crate::source::{decode, normalised, value, Plain, Reason};
use crate::tags::{self, Tag};
use crate::text::{self, Mark};

const DEEPEST: usize = 256;
const MOST_ATTRIBUTES: usize = 100;
const MOST_ALIKE: usize = 3;
const MOST_ROUNDS: usize = 6; // after eight the parser gives up
const MOST_LANDMARKS: usize = 64; // html.MAX_LANDMARKS
const MOST_COPIED: usize = 8 << 20; // html.MAX_COPIED, passages.MAX_COPIED
const MOST_NAMED: usize = 3000; // passages.MAX_NAMED
const MOST_BOILERPLATE: usize = 100;
const NAMES_LOOKED_AT: usize = 300;
const LONGEST_TITLE: usize = 4000;

/// As `native.py` gives them.
pub struct Limits {
    html_bytes: usize,
    html_tags: usize,
    text: usize,
    line: usize,
    description: usize,
    headings: usize,
    anchor: usize,
    href: usize,
    links: usize,
    css: usize,
}

impl Limits {
    pub const COUNT: usize = 10;

    pub fn new(given: &[u64]) -> Limits {
        let at = |place: usize| usize::try_from(given[place]).unwrap_or(usize::MAX);
        Limits {
            html_bytes: at(0),
            html_tags: at(1),
            text: at(2),
            line: at(3),
            description: at(4),
            headings: at(5),
            anchor: at(6),
            href: at(7),
            links: at(8),
            css: at(9),
        }
    }
}

/// Writes what was read to `out`, or says why the page is not plain.
pub fn read(data: &[u8], limits: &Limits, out: &mut Vec<u8>) -> Plain<()> {
    if data.len() > limits.html_bytes {
        return Err(Reason::Limit);
    }
    let source = normalised(data)?;
    let tags = text::count(data, |byte| byte == b'<');
    if tags > limits.html_tags {
        return Err(Reason::Limit);
    }
    let mut page = Page::new(&source, limits);
    page.run()?;
    page.finish(bombs::doubtful(data, tags), out)
}

macro_rules! attributes {
    ($($name:ident $text:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        enum Attribute { $($name),* }

        #[allow(non_upper_case_globals)]
        mod codes { $(pub const $name: u128 = crate::tags::packed_long($text);)* }

        fn attribute(name: &[u8]) -> Option<Attribute> {
            if name.len() > 16 {
                return None;
            }
            match crate::tags::packed_long(name) { $(codes::$name => Some(Attribute::$name),)* _ => None }
        }
    };
}

attributes! {
    Class b"class";
    Id b"id";
    Href b"href";
    Rel b"rel";
    Title b"title";
    Role b"role";
    Style b"style";
    Src b"src";
    Alt b"alt";
    Name b"name";
    Content b"content";
    Type b"type";
    Hidden b"hidden";
    Srcset b"srcset";
    DataSrc b"data-src";
    DataSrcset b"data-srcset";
    Property b"property";
    Itemprop b"itemprop";
    HttpEquiv b"http-equiv";
    Hreflang b"hreflang";
    Lang b"lang";
    XmlLang b"xml:lang";
    Poster b"poster";
    Data b"data";
    Datetime b"datetime";
    Pubdate b"pubdate";
}

const fn bit(attribute: Attribute) -> u32 {
    1 << attribute as u32
}

/// Any of these makes an element interesting.
const ASKING: u32 = bit(Attribute::Hidden) | bit(Attribute::Role) | bit(Attribute::Style);

/// The attributes of the tag in work, as written.
#[derive(Default)]
struct Attributes<'a> {
    seen: u32,
    linked: bool, // with one of `xlink:`
    values: Vec<(u8, &'a str)>,
}

impl<'a> Attributes<'a> {
    fn has(&self, attribute: Attribute) -> bool {
        self.seen & bit(attribute) != 0
    }

    fn written(&self, attribute: Attribute) -> Option<&'a str> {
        if !self.has(attribute) {
            return None;
        }
        self.values.iter().find(|entry| entry.0 == attribute as u8).map(|entry| entry.1)
    }

    /// Its value; empty where there is none.
    fn get(&self, attribute: Attribute) -> Plain<Cow<'a, str>> {
        self.written(attribute).map_or(Ok(Cow::Borrowed("")), value)
    }

    fn first_of(&self, attributes: &[Attribute]) -> Plain<Cow<'a, str>> {
        for &attribute in attributes {
            let found = self.get(attribute)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Cow::Borrowed(""))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Mode {
    BeforeHtml,
    BeforeHead,
    Head,
    HeadNoscript,
    AfterHead,
    Body,
}

// What is to be done when an element ends.
const ANCHOR: u8 = 1;
const HEADING: u8 = 1 << 1;
const HIDDEN: u8 = 1 << 2;
const DROPPED: u8 = 1 << 3;
const KEPT: u8 = 1 << 4;
const NAMED: u8 = 1 << 5;
const UNREPEATABLE: u8 = 1 << 6; // must not be opened again

#[derive(Clone, Copy)]
struct Open<'a> {
    tag: Tag,
    flags: u32,
    name: &'a str,
    duties: u8,
    region: u8,
    in_main: bool,
}

/// A formatting element in the parser's list of those to open again where a block has cut them short.
struct Formatting<'a> {
    open: Open<'a>,
    place: Option<usize>, // in the stack; None: cut short
    marker: bool,         // not an element but the begin of a cell or the like
}

const REGIONS: [&str; 5] = ["main", "nav", "header", "footer", "aside"];
const MAIN: u8 = 0;
const KINDS: [&str; 11] =
    ["page", "requisite", "frame", "feed", "sitemap", "canonical", "alternate", "redirect", "css", "srcset", "refresh"];
const PAGE: u8 = 0;
const REQUISITE: u8 = 1;
const FRAME: u8 = 2;
const FEED: u8 = 3;
const SITEMAP: u8 = 4;
const CANONICAL: u8 = 5;
const ALTERNATE: u8 = 6;
// The addresses in these are found by Python.
const CSS: u8 = 8;
const SRCSET: u8 = 9;
const REFRESH: u8 = 10;

// Facts that Python makes sense of, in the order of the page.
const DATE: u8 = 0;
const AUTHOR: u8 = 1;
const LINKED_DATA: u8 = 2;

struct Link<'a> {
    href: Cow<'a, str>,
    kind: u8,
    text: String,
    nofollow: bool,
    region: u8,
}

struct Anchor<'a> {
    href: &'a str,
    rel: &'a str,
    title: &'a str,
    alt: Option<&'a str>,
    region: u8,
    start: usize,
    end: usize,
}

/// An element whose class or id may name it as navigation.
struct Named<'a> {
    class: Cow<'a, str>,
    id: Cow<'a, str>,
    counted: usize, // how often the search for such elements finds it: once for its class, once for its id
    inside: usize,
    start: usize,
    end: usize,
}

struct Page<'a> {
    source: &'a str,
    bytes: &'a [u8],
    limits: &'a Limits,
    at: usize,
    mode: Mode,
    standard: bool, // the doctype is known not to mean quirks
    stack: Vec<Open<'a>>,
    formatting: Vec<Formatting<'a>>,
    attributes: Attributes<'a>,
    raw: String, // all text of the body, with a tab where a block begins or ends
    marks: Vec<(usize, Mark)>,
    hidden: usize,
    dropped: usize,
    landmarks: usize,
    landmarks_open: Vec<(usize, usize)>, // where each begins in the raw text and in the marks
    has_kept: bool,
    paragraphs: usize, // open ones
    anchor_open: bool,
    form_open: bool,
    select_open: bool,
    svg_open: bool,
    self_closing: bool, // the tag in work
    pres: usize,
    anchors: Vec<Anchor<'a>>,
    headings: Vec<(usize, usize)>,
    headings_open: Vec<usize>,
    named: Vec<Named<'a>>,
    named_open: Vec<usize>,
    named_counted: usize,
    links: Vec<Link<'a>>,
    pages: HashMap<Cow<'a, str>, usize>,
    others: HashSet<(Cow<'a, str>, u8)>,
    pending: bool,
    title: Option<&'a str>,
    og_title: String,
    description: String,
    language: Cow<'a, str>,
    canonical: Option<String>,
    base: Option<String>,
    noindex: bool,
    nofollow: bool,
    noarchive: bool,
    facts: Vec<(u8, String)>,
}

impl<'a> Page<'a> {
    fn new(source: &'a str, limits: &'a Limits) -> Page<'a> {
        Page {
            source,
            bytes: source.as_bytes(),
            limits,
            at: 0,
            mode: Mode::BeforeHtml,
            standard: false,
            stack: Vec::with_capacity(64),
            formatting: Vec::new(),
            attributes: Attributes::default(),
            raw: String::with_capacity(source.len() / 2),
            marks: Vec::new(),
            hidden: 0,
            dropped: 0,
            landmarks: 0,
            landmarks_open: Vec::new(),
            has_kept: false,
            paragraphs: 0,
            anchor_open: false,
            form_open: false,
            select_open: false,
            svg_open: false,
            self_closing: false,
            pres: 0,
            anchors: Vec::new(),
            headings: Vec::new(),
            headings_open: Vec::new(),
            named: Vec::new(),
            named_open: Vec::new(),
            named_counted: 0,
            links: Vec::new(),
            pages: HashMap::new(),
            others: HashSet::new(),
            pending: false,
            title: None,
            og_title: String::new(),
            description: String::new(),
            language: Cow::Borrowed(""),
            canonical: None,
            base: None,
            noindex: false,
            nofollow: false,
            noarchive: false,
            facts: Vec::new(),
        }
    }

    // Tokens.

    fn run(&mut self) -> Plain<()> {
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            let mut length = 0;
            let mut refers = false;
            while length < rest.len() && rest[length] != b'<' {
                refers |= rest[length] == b'&';
                length += 1;
            }
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
                b'?' => self.at = self.find(self.at, ">")? + 1, // a comment, to the parser
                _ => {
                    self.text(&self.source[self.at..=self.at], false)?;
                    self.at += 1;
                }
            }
        }
        while self.stack.len() > 0 {
            self.pop()?;
        }
        Ok(())
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn find(&self, from: usize, what: &str) -> Plain<usize> {
        self.source[from..].find(what).map(|at| from + at).ok_or(Reason::Markup)
    }

    fn declaration(&mut self) -> Plain<()> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"<!--") {
            if rest[4..].starts_with(b">") || rest[4..].starts_with(b"->") {
                return Err(Reason::Markup);
            }
            let end = self.find(self.at + 4, "-->")?;
            if self.source[self.at + 4..end].contains("--!>") {
                return Err(Reason::Markup);
            }
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
        self.standard = kind.starts_with([' ', '\n', '\x0c']) && kind.trim_ascii().eq_ignore_ascii_case("html");
        self.at = end + 1;
        Ok(())
    }

    /// The name of the tag that begins at `from`.
    fn name(&self, from: usize) -> Plain<&'a str> {
        let mut end = from;
        loop {
            match self.byte(end) {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b':' | b'_' => end += 1,
                b' ' | b'\n' | b'\x0c' | b'/' | b'>' => return Ok(&self.source[from..end]),
                _ => return Err(Reason::Markup),
            }
        }
    }

    fn end_tag(&mut self) -> Plain<()> {
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
        self.close(tag, flags, name)
    }

    fn start_tag(&mut self) -> Plain<()> {
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
        self.read_attributes()?;
        self.open(tag, flags, name)
    }

    fn read_attributes(&mut self) -> Plain<()> {
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
            if count > MOST_ATTRIBUTES {
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
                        at = start;
                        while *bytes.get(at).ok_or(Reason::Markup)? != quote {
                            at += 1;
                        }
                        written = &self.source[start..at];
                        at += 1;
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
            }
            let Some(attribute) = attribute(name) else {
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

    // Text.

    fn text(&mut self, text: &'a str, refers: bool) -> Plain<()> {
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
    fn line_break(&mut self) -> Plain<()> {
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
    fn raw_text(&mut self, name: &str) -> Plain<&'a str> {
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
                return Ok(&self.source[start..at]);
            }
            from = at + 2;
        }
    }

    // Start tags.

    fn open(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        if self.svg_open {
            return self.open_in_svg(tag, name);
        }
        match tag {
            Tag::Html | Tag::Head | Tag::Body => return self.open_root(tag, flags, name),
            _ if flags & tags::META != 0 || (tag == Tag::Noscript && self.mode != Mode::Body) => {
                return self.open_meta(tag, flags, name)
            }
            _ => {}
        }
        if self.mode != Mode::Body {
            self.begin_body()?;
        }
        if self.select_open {
            return self.open_in_select(tag, flags, name);
        }
        if flags & tags::TABLE_PART != 0 {
            return self.open_table_part(tag, flags, name);
        }
        if self.top().tag == Tag::Colgroup {
            self.pop()?;
        }
        if self.top().flags & tags::TABLE_ONLY != 0 {
            return Err(Reason::Table);
        }
        if flags & tags::BLOCK != 0 || flags & tags::HEADING != 0 || tag == Tag::Hr {
            self.close_paragraph()?;
            if flags & tags::HEADING != 0 && self.top().flags & tags::HEADING != 0 {
                self.pop()?;
            }
        }
        if !(flags & (tags::BLOCK | tags::HEADING | tags::IMPLIED_END) != 0
            && tag != Tag::Option
            && tag != Tag::Optgroup)
            && !matches!(
                tag,
                Tag::Hr | Tag::Param | Tag::Source | Tag::Track | Tag::Table | Tag::Textarea | Tag::Iframe | Tag::Form
            )
        {
            if matches!(tag, Tag::Option | Tag::Optgroup) && self.top().tag == Tag::Option {
                self.pop()?;
            }
            self.reopen()?;
        }
        match tag {
            Tag::A => {
                if self.anchor_open || self.stack.iter().any(|open| open.tag == Tag::A) {
                    return Err(Reason::Nesting);
                }
            }
            Tag::Li => self.close_item(&[Tag::Li])?,
            Tag::Dd | Tag::Dt => self.close_item(&[Tag::Dd, Tag::Dt])?,
            Tag::Form => {
                if self.form_open {
                    return Err(Reason::Nesting);
                }
                self.close_paragraph()?;
                self.form_open = true;
            }
            Tag::Button => {
                if self.stack.iter().any(|open| open.tag == Tag::Button) {
                    return Err(Reason::Nesting);
                }
            }
            Tag::Table => {
                if self.standard {
                    self.close_paragraph()?;
                } else if self.paragraphs > 0 {
                    return Err(Reason::Table); // in quirks mode a table may stand in a paragraph
                }
            }
            Tag::Select => self.select_open = true,
            Tag::Svg => {
                self.svg_open = true;
                return self.insert_in_svg(tag, 0, name);
            }
            Tag::Pre => self.pres += 1,
            Tag::Textarea => return self.open_textarea(tag, flags, name),
            Tag::Iframe => {
                self.insert(tag, flags, name)?;
                let content = self.raw_text("iframe")?;
                if !content.is_empty() && self.captures() {
                    return Err(Reason::Script);
                }
                return self.pop();
            }
            _ => {}
        }
        self.insert(tag, flags, name)
    }

    fn open_root(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        match tag {
            Tag::Html if self.mode == Mode::BeforeHtml => {
                if self.attributes.seen & ASKING != 0 {
                    return Err(Reason::Head);
                }
                self.language = self.attributes.first_of(&[Attribute::Lang, Attribute::XmlLang])?;
                self.mode = Mode::BeforeHead;
                self.push(tag, flags, name)
            }
            Tag::Head if self.mode <= Mode::BeforeHead => {
                if self.attributes.seen & ASKING != 0 {
                    return Err(Reason::Head);
                }
                self.begin_html()?;
                self.mode = Mode::Head;
                Ok(())
            }
            Tag::Body if self.mode == Mode::Body && self.attributes.seen & ASKING == 0 => Ok(()), // another one
            Tag::Body if self.mode <= Mode::AfterHead && self.mode != Mode::HeadNoscript => {
                self.begin_html()?;
                self.mode = Mode::Body;
                if self.attributes.has(Attribute::Hidden) || self.attributes.has(Attribute::Role) {
                    return Err(Reason::Head);
                }
                self.insert(tag, flags, name)
            }
            _ => Err(Reason::Head),
        }
    }

    fn begin_html(&mut self) -> Plain<()> {
        if self.stack.is_empty() {
            self.push(Tag::Html, tags::SPECIAL | tags::SCOPE, "html")?;
        }
        Ok(())
    }

    fn begin_body(&mut self) -> Plain<()> {
        self.begin_html()?;
        self.mode = Mode::Body;
        self.push(Tag::Body, tags::SPECIAL, "body")
    }

    /// What belongs in the head, there or elsewhere.
    fn open_meta(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        match self.mode {
            Mode::Body => {
                let around = self.top();
                if self.select_open
                    || around.tag == Tag::Colgroup
                    || (around.flags & tags::TABLE_ONLY != 0 && !matches!(tag, Tag::Script | Tag::Style))
                {
                    return Err(Reason::Table);
                }
            }
            Mode::HeadNoscript => {
                if !matches!(tag, Tag::Link | Tag::Meta | Tag::Style) {
                    return Err(Reason::Head);
                }
            }
            Mode::AfterHead => {
                if tag == Tag::Noscript {
                    return Err(Reason::Head);
                }
            }
            _ => {
                self.begin_html()?;
                self.mode = Mode::Head;
            }
        }
        match tag {
            Tag::Title => {
                if self.mode == Mode::Body || self.title.is_some() || self.attributes.seen & ASKING != 0 {
                    return Err(Reason::Head);
                }
                let written = self.raw_text("title")?;
                if written.contains('<') || written.len() > LONGEST_TITLE {
                    return Err(Reason::Head);
                }
                self.title = Some(written);
                Ok(())
            }
            Tag::Noscript => {
                if self.attributes.seen & ASKING != 0 {
                    return Err(Reason::Head);
                }
                self.mode = Mode::HeadNoscript;
                Ok(())
            }
            Tag::Script | Tag::Style => {
                self.insert(tag, flags, name)?;
                let kind = self.attributes.get(Attribute::Type)?;
                let content = self.raw_text(name)?;
                if tag == Tag::Style {
                    self.sheet(Cow::Borrowed(content))?;
                } else {
                    if content.contains("<!--") && find_script(content) {
                        return Err(Reason::Script);
                    }
                    if kind.eq_ignore_ascii_case("application/ld+json") {
                        if content.contains('<') {
                            return Err(Reason::Script);
                        }
                        self.facts.push((LINKED_DATA, content.to_owned()));
                    }
                }
                if self.captures() && !content.is_empty() {
                    return Err(Reason::Script);
                }
                self.pop()
            }
            _ => self.insert(tag, flags, name),
        }
    }

    /// Whether the text of an anchor or a heading is being taken.
    fn captures(&self) -> bool {
        self.anchor_open || !self.headings_open.is_empty()
    }

    fn open_textarea(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        self.insert(tag, flags, name)?;
        let content = self.raw_text("textarea")?;
        if content.contains('<') {
            return Err(Reason::Element);
        }
        self.pres += 1;
        let raw = &mut self.raw;
        decode(content, false, |part| raw.push_str(part))?;
        self.raw.push('\t'); // before its end tag
        self.pop()
    }

    fn open_in_select(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        if !matches!(tag, Tag::Option | Tag::Optgroup) {
            return Err(Reason::Element);
        }
        if self.top().tag == Tag::Option {
            self.pop()?;
        }
        if tag == Tag::Optgroup && self.top().tag == Tag::Optgroup {
            self.pop()?;
        }
        self.insert(tag, flags, name)
    }

    /// Pictures in the page: elements of another kind, plain when each is closed by itself.
    fn open_in_svg(&mut self, tag: Tag, name: &'a str) -> Plain<()> {
        let around = self.top();
        if ["title", "desc"].into_iter().any(|name| around.name.eq_ignore_ascii_case(name)) {
            return Err(Reason::Element); // HTML again
        }
        match tag {
            Tag::Title if self.title.is_none() => Err(Reason::Element), // might be taken for the page's
            Tag::Use | Tag::Image if self.attributes.linked => Err(Reason::Attribute),
            Tag::Use | Tag::Image => self.insert_in_svg(tag, tags::INTERESTING | tags::EMPTY, name),
            Tag::Title => self.insert_in_svg(Tag::Other, 0, name),
            Tag::Other if is_drawing(name) => self.insert_in_svg(tag, 0, name),
            _ => Err(Reason::Element),
        }
    }

    fn insert_in_svg(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        self.insert(tag, flags, name)?;
        if self.self_closing {
            return self.close_in_svg(name);
        }
        Ok(())
    }

    fn close_in_svg(&mut self, name: &str) -> Plain<()> {
        let around = self.top();
        if !around.name.eq_ignore_ascii_case(name) {
            return Err(Reason::Element);
        }
        self.svg_open = around.tag != Tag::Svg;
        self.pop()
    }

    fn open_table_part(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        loop {
            let around = self.top();
            match around.tag {
                Tag::Table => match tag {
                    Tag::Td | Tag::Th | Tag::Tr => self.push_plain(Tag::Tbody)?,
                    Tag::Col => self.push_plain(Tag::Colgroup)?,
                    _ => return self.insert(tag, flags, name),
                },
                Tag::Colgroup if tag == Tag::Col => return self.insert(tag, flags, name),
                Tag::Colgroup => self.pop()?,
                Tag::Tbody | Tag::Thead | Tag::Tfoot => match tag {
                    Tag::Tr => return self.insert(tag, flags, name),
                    Tag::Td | Tag::Th => self.push_plain(Tag::Tr)?,
                    _ => self.pop()?,
                },
                Tag::Tr => match tag {
                    Tag::Td | Tag::Th => return self.insert(tag, flags, name),
                    _ => self.pop()?,
                },
                _ => match self.cell() {
                    Some(place) => self.pop_cell(place)?,
                    None if self.stack.iter().any(|open| open.tag == Tag::Table) => return Err(Reason::Table),
                    None => return Ok(()), // a part of no table
                },
            }
        }
    }

    /// The cell that is open in the innermost table.
    fn cell(&self) -> Option<usize> {
        for (place, open) in self.stack.iter().enumerate().rev() {
            match open.tag {
                Tag::Td | Tag::Th => return Some(place),
                Tag::Table | Tag::Caption => return None,
                _ => {}
            }
        }
        None
    }

    /// With a cell (or a caption, or an object) ends all that is open in it, formatting for good.
    fn pop_cell(&mut self, place: usize) -> Plain<()> {
        self.forget_formatting();
        self.pop_to(place)
    }

    fn close_paragraph(&mut self) -> Plain<()> {
        if self.paragraphs > 0 {
            if let Some(place) = self.in_scope(|open| open.tag == Tag::P, &[Tag::Button]) {
                return self.pop_to(place);
            }
        }
        Ok(())
    }

    /// An item ends the one before it.
    fn close_item(&mut self, tags: &[Tag]) -> Plain<()> {
        for place in (0..self.stack.len()).rev() {
            let open = self.stack[place];
            if tags.contains(&open.tag) {
                self.pop_to(place)?;
                break;
            }
            if open.flags & tags::SPECIAL != 0 && !matches!(open.tag, Tag::Address | Tag::Div | Tag::P) {
                break;
            }
        }
        self.close_paragraph()
    }

    // End tags.

    fn close(&mut self, tag: Tag, flags: u32, name: &str) -> Plain<()> {
        match (tag, self.mode) {
            (Tag::Head, Mode::Head) => {
                self.mode = Mode::AfterHead;
                return Ok(());
            }
            (Tag::Noscript, Mode::HeadNoscript) => {
                self.mode = Mode::Head;
                return Ok(());
            }
            (Tag::Html | Tag::Body, Mode::AfterHead) => return self.begin_body(),
            (_, Mode::Body) => {}
            _ => return Err(Reason::Head),
        }
        if self.svg_open {
            return self.close_in_svg(name);
        }
        if self.select_open {
            return self.close_in_select(tag);
        }
        if matches!(tag, Tag::Html | Tag::Body | Tag::Head) {
            return Ok(()); // what is open stays open
        }
        if tag == Tag::Br || flags & tags::UNUSUAL != 0 {
            return Err(Reason::Element);
        }
        if flags & tags::TABLE_PART != 0 || tag == Tag::Table {
            return self.close_table_part(tag);
        }
        let around = self.top();
        if around.flags & tags::TABLE_ONLY != 0 || around.tag == Tag::Colgroup {
            return Err(Reason::Table);
        }
        if flags & tags::FORMATTING != 0 {
            return self.close_formatting(tag, name);
        }
        if around.tag == tag && !matches!(tag, Tag::Other | Tag::Form | Tag::Object) {
            return self.pop();
        }
        let place = match tag {
            Tag::P => self.in_scope(|open| open.tag == tag, &[Tag::Button]),
            Tag::Li => self.in_scope(|open| open.tag == tag, &[Tag::Ol, Tag::Ul]),
            Tag::Dd | Tag::Dt | Tag::Button => self.in_scope(|open| open.tag == tag, &[]),
            Tag::Object => {
                let place = self.in_scope(|open| open.tag == tag, &[]);
                return place.map_or(Ok(()), |place| self.pop_cell(place));
            }
            Tag::Form => return self.close_form(),
            _ if flags & tags::HEADING != 0 => {
                let place = self.in_scope(|open| open.flags & tags::HEADING != 0, &[]);
                if place.is_some_and(|place| self.stack[place].tag != tag) {
                    return Err(Reason::Nesting);
                }
                place
            }
            _ if flags & tags::BLOCK != 0 => {
                self.in_scope(|open| open.tag == tag && open.name.eq_ignore_ascii_case(name), &[])
            }
            _ => self.nearest(tag, name),
        };
        place.map_or(Ok(()), |place| self.pop_to(place))
    }

    /// The element of that name, unless a special one is nearer.
    fn nearest(&self, tag: Tag, name: &str) -> Option<usize> {
        for (place, open) in self.stack.iter().enumerate().rev() {
            if open.tag == tag && open.name.eq_ignore_ascii_case(name) {
                return Some(place);
            }
            if open.flags & tags::SPECIAL != 0 {
                return None;
            }
        }
        None
    }

    fn close_formatting(&mut self, tag: Tag, name: &str) -> Plain<()> {
        let mut found = None;
        for (number, entry) in self.formatting.iter().enumerate().rev() {
            if entry.marker {
                break;
            }
            if entry.open.tag == tag {
                found = Some((number, entry.place));
                break;
            }
        }
        let Some((number, place)) = found else {
            return match self.nearest(tag, name) {
                Some(_) => Err(Reason::Formatting),
                None => Ok(()),
            };
        };
        if let Some(place) = place {
            let above = &self.stack[place + 1..];
            if let Some(last) = above.iter().rposition(|open| open.flags & tags::SPECIAL != 0) {
                // Blocks stay open; each is moved out of the element and its content into another like it.
                let unlike = |open: &Open| open.flags & (tags::SPECIAL | tags::SCOPE) != tags::SPECIAL;
                if last >= MOST_ROUNDS
                    || above[..=last].iter().any(unlike)
                    || self.stack[place].duties & UNREPEATABLE != 0
                {
                    return Err(Reason::Formatting);
                }
                self.formatting.remove(number);
                self.pop_to(place + last + 2)?;
                self.stack.remove(place);
                return Ok(());
            }
            self.formatting.remove(number);
            return self.pop_to(place);
        }
        self.formatting.remove(number);
        Ok(())
    }

    fn close_form(&mut self) -> Plain<()> {
        if !self.form_open {
            return Ok(());
        }
        while self.top().flags & tags::IMPLIED_END != 0 {
            self.pop()?;
        }
        if self.top().tag != Tag::Form {
            return Err(Reason::Nesting);
        }
        self.form_open = false;
        self.pop()
    }

    fn close_in_select(&mut self, tag: Tag) -> Plain<()> {
        match tag {
            Tag::Option if self.top().tag == Tag::Option => self.pop(),
            Tag::Optgroup => {
                if self.top().tag == Tag::Option {
                    self.pop()?;
                }
                if self.top().tag != Tag::Optgroup {
                    return Err(Reason::Element);
                }
                self.pop()
            }
            Tag::Select => {
                while self.top().tag != Tag::Select {
                    self.pop()?;
                }
                self.select_open = false;
                self.pop()
            }
            _ => Err(Reason::Element),
        }
    }

    fn close_table_part(&mut self, tag: Tag) -> Plain<()> {
        if tag == Tag::Col {
            return Err(Reason::Table);
        }
        let Some(table) = self.stack.iter().rposition(|open| open.tag == Tag::Table) else {
            return Ok(()); // a part of no table
        };
        let Some(place) = self.stack[table..].iter().rposition(|open| open.tag == tag).map(|place| table + place)
        else {
            return Ok(());
        };
        if matches!(tag, Tag::Td | Tag::Th | Tag::Caption) {
            return self.pop_cell(place);
        }
        match self.cell() {
            Some(cell) => self.pop_cell(cell)?,
            None if self.stack[table..].iter().any(|open| open.tag == Tag::Caption) => return Err(Reason::Table),
            None => {}
        }
        self.pop_to(place)
    }

    // The stack.

    fn top(&self) -> Open<'a> {
        *self.stack.last().expect("the body is open")
    }

    /// Where the nearest such element is, unless something that bounds the scope is nearer.
    fn in_scope(&self, wanted: impl Fn(&Open) -> bool, bounds: &[Tag]) -> Option<usize> {
        for (place, open) in self.stack.iter().enumerate().rev() {
            if wanted(open) {
                return Some(place);
            }
            if open.flags & tags::SCOPE != 0 || bounds.contains(&open.tag) {
                return None;
            }
        }
        None
    }

    /// Ends the element at `place` and all in it; formatting elements among them will be opened again.
    fn pop_to(&mut self, place: usize) -> Plain<()> {
        while self.stack.len() > place {
            self.pop()?;
        }
        Ok(())
    }

    fn pop(&mut self) -> Plain<()> {
        let Some(open) = self.stack.pop() else {
            return Err(Reason::Nesting);
        };
        if open.tag == Tag::P {
            self.paragraphs -= 1;
        } else if open.tag == Tag::Form && self.form_open && self.at < self.bytes.len() {
            return Err(Reason::Nesting); // the parser would go on to ignore further forms
        }
        if open.flags & (tags::FORMATTING | tags::SCOPE) != 0 {
            self.cut_short(open)?;
        }
        if open.duties != 0 {
            self.leave(open.duties)?;
        }
        Ok(())
    }

    /// A formatting element or a cell ends; if it is still in the list then not by its own end tag.
    fn cut_short(&mut self, open: Open<'a>) -> Plain<()> {
        let place = self.stack.len();
        if let Some(entry) = self.formatting.iter_mut().rev().find(|entry| entry.place == Some(place)) {
            entry.place = None;
            if (entry.marker || open.duties & UNREPEATABLE != 0) && self.at < self.bytes.len() {
                return Err(Reason::Formatting);
            }
        }
        Ok(())
    }

    /// A landmark is marked, and so a line of its own, only if anything is left in it: unclear where there is no text.
    fn check_landmark(&mut self, here: usize) -> Plain<()> {
        let (start, mark) = self.landmarks_open.pop().unwrap_or((0, 0));
        let after_hidden = self.marks[..mark].last().is_some_and(|&(at, mark)| at == start && mark == Mark::HideEnd);
        let on_new_line = self.raw[..start].ends_with('\t') && !after_hidden;
        if !on_new_line && self.shown(start, here, mark) == 0 {
            return Err(Reason::Landmark);
        }
        Ok(())
    }

    fn leave(&mut self, duties: u8) -> Plain<()> {
        let here = self.raw.len();
        if duties & (DROPPED | KEPT) != 0 {
            self.check_landmark(here)?;
        }
        if duties & ANCHOR != 0 {
            self.anchor_open = false;
            if let Some(anchor) = self.anchors.last_mut() {
                anchor.end = here;
            }
        }
        if duties & HEADING != 0 {
            if let Some(place) = self.headings_open.pop() {
                self.headings[place].1 = here;
            }
        }
        if duties & NAMED != 0 {
            if let Some(place) = self.named_open.pop() {
                let counted = self.named_counted;
                let named = &mut self.named[place];
                named.end = here;
                named.inside = counted - named.inside;
            }
        }
        if duties & DROPPED != 0 {
            self.dropped -= 1;
            self.marks.push((here, Mark::DropEnd));
        }
        if duties & KEPT != 0 {
            self.marks.push((here, Mark::KeepEnd));
        }
        if duties & HIDDEN != 0 {
            self.hidden -= 1;
            self.marks.push((here, Mark::HideEnd));
        }
        Ok(())
    }

    fn push(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        let (region, in_main) = self.stack.last().map_or((MAIN, false), |open| (open.region, open.in_main));
        self.push_with(Open { tag, flags, name, duties: 0, region, in_main })
    }

    fn push_with(&mut self, open: Open<'a>) -> Plain<()> {
        if self.stack.len() >= DEEPEST {
            return Err(Reason::Limit);
        }
        if open.tag == Tag::P {
            self.paragraphs += 1;
        }
        self.stack.push(open);
        Ok(())
    }

    /// An element that the parser adds by itself.
    fn push_plain(&mut self, tag: Tag) -> Plain<()> {
        let name = match tag {
            Tag::Tbody => "tbody",
            Tag::Tr => "tr",
            _ => "colgroup",
        };
        self.push(tag, tags::known(name.as_bytes()).1, name)
    }

    // Elements of interest.

    fn insert(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        let parent = self.stack.last().copied();
        let (mut region, mut in_main) = parent.map_or((MAIN, false), |open| (open.region, open.in_main));
        let mut duties = 0;
        if self.anchor_open && self.attributes.has(Attribute::Alt) {
            if let Some(anchor) = self.anchors.last_mut() {
                anchor.alt = anchor.alt.or(self.attributes.written(Attribute::Alt));
            }
        }
        if flags & tags::NAMED != 0 {
            duties |= self.name_of_element()?;
        }
        if tag == Tag::A {
            duties |= self.anchor(region);
        }
        let interesting = flags & tags::INTERESTING != 0;
        if interesting {
            duties |= self.handle(tag)?;
        }
        if flags & tags::EMPTY == 0 && (interesting || self.attributes.seen & ASKING != 0) {
            duties |= self.ask(tag, flags, interesting, &mut region, in_main)?;
        }
        if self.attributes.has(Attribute::Role) && self.attributes.get(Attribute::Role)? == "main" {
            in_main = true;
        }
        in_main |= matches!(tag, Tag::Main | Tag::Article);
        if flags & tags::VOID != 0 {
            return self.leave(duties);
        }
        let open = Open { tag, flags, name, duties, region, in_main };
        if flags & tags::FORMATTING != 0 {
            return self.push_formatting(open);
        }
        if flags & tags::SCOPE != 0 && tag != Tag::Table {
            self.formatting.push(Formatting { open, place: Some(self.stack.len()), marker: true });
        }
        self.push_with(open)
    }

    fn push_formatting(&mut self, mut open: Open<'a>) -> Plain<()> {
        let alike = self.formatting.iter().rev().take_while(|entry| !entry.marker);
        if alike.filter(|entry| entry.open.tag == open.tag).count() >= MOST_ALIKE {
            return Err(Reason::Formatting); // of equal ones the parser forgets the first
        }
        if open.tag == Tag::A || self.attributes.seen & (ASKING | bit(Attribute::Alt)) != 0 {
            open.duties |= UNREPEATABLE;
        }
        self.formatting.push(Formatting { open, place: Some(self.stack.len()), marker: false });
        self.push_with(open)
    }

    /// Opens again what was cut short, before text and the like.
    fn reopen(&mut self) -> Plain<()> {
        let cut = |entry: &Formatting| !entry.marker && entry.place.is_none();
        if !self.formatting.last().is_some_and(cut) || self.select_open || self.svg_open {
            return Ok(());
        }
        let kept = self.formatting.iter().rposition(|entry| !cut(entry)).map_or(0, |place| place + 1);
        for number in kept..self.formatting.len() {
            let Open { tag, flags, name, .. } = self.formatting[number].open;
            self.formatting[number].place = Some(self.stack.len());
            self.push(tag, flags, name)?;
        }
        Ok(())
    }

    /// With a cell or the like ends the list of what to open again in it.
    fn forget_formatting(&mut self) {
        while let Some(entry) = self.formatting.pop() {
            if entry.marker {
                return;
            }
        }
    }

    /// Hidden, a landmark, or with addresses in its style.
    fn ask(&mut self, tag: Tag, flags: u32, found: bool, region: &mut u8, in_main: bool) -> Plain<u8> {
        let has_role = self.attributes.has(Attribute::Role);
        let hidden = self.attributes.has(Attribute::Hidden);
        let style = self.attributes.get(Attribute::Style)?;
        if !(found || has_role || hidden || contains_any_case(&style, "url(")) {
            return Ok(0);
        }
        let here = self.raw.len();
        if flags & tags::UNSEEN != 0 || hidden {
            self.hidden += 1;
            self.marks.push((here, Mark::Hide));
            return Ok(HIDDEN);
        }
        let role = self.attributes.get(Attribute::Role)?;
        let landmark = match role.to_ascii_lowercase().as_str() {
            "navigation" => Some(1),
            "banner" => Some(2),
            "contentinfo" => Some(3),
            "complementary" => Some(4),
            "main" if role != "main" => return Err(Reason::Landmark),
            "main" => Some(MAIN),
            _ => match tag {
                Tag::Main | Tag::Article => Some(MAIN),
                Tag::Nav => Some(1),
                Tag::Header => Some(2),
                Tag::Footer => Some(3),
                Tag::Aside => Some(4),
                _ => None,
            },
        };
        let Some(landmark) = landmark else {
            if !style.is_empty() {
                self.sheet(style)?;
            }
            return Ok(0);
        };
        self.landmarks += 1;
        if self.landmarks > MOST_LANDMARKS {
            return Err(Reason::Limit);
        }
        if landmark == MAIN {
            if in_main {
                return Ok(0);
            }
            self.has_kept = true;
            if self.hidden > 0 {
                return Ok(0);
            }
            if self.dropped > 0 {
                return Err(Reason::Landmark);
            }
            self.landmarks_open.push((here, self.marks.len()));
            self.marks.push((here, Mark::Keep));
            return Ok(KEPT);
        }
        if (landmark == 2 || landmark == 3) && in_main {
            return Ok(0);
        }
        *region = landmark;
        if self.hidden > 0 {
            return Ok(0);
        }
        self.dropped += 1;
        self.landmarks_open.push((here, self.marks.len()));
        self.marks.push((here, Mark::Drop));
        Ok(DROPPED)
    }

    fn name_of_element(&mut self) -> Plain<u8> {
        let counted =
            usize::from(self.attributes.has(Attribute::Class)) + usize::from(self.attributes.has(Attribute::Id));
        if counted == 0 || self.hidden > 0 || self.attributes.has(Attribute::Hidden) {
            return Ok(0);
        }
        let class = self.attributes.get(Attribute::Class)?;
        let id = self.attributes.get(Attribute::Id)?;
        self.named_counted += counted;
        self.named_open.push(self.named.len());
        let here = self.raw.len();
        self.named.push(Named { class, id, counted, inside: self.named_counted, start: here, end: here });
        Ok(NAMED)
    }

    fn anchor(&mut self, region: u8) -> u8 {
        let here = self.raw.len();
        self.anchor_open = true;
        self.anchors.push(Anchor {
            href: self.attributes.written(Attribute::Href).unwrap_or(""),
            rel: self.attributes.written(Attribute::Rel).unwrap_or(""),
            title: self.attributes.written(Attribute::Title).unwrap_or(""),
            alt: None,
            region,
            start: here,
            end: here,
        });
        ANCHOR
    }

    fn handle(&mut self, tag: Tag) -> Plain<u8> {
        match tag {
            Tag::H1 | Tag::H2 | Tag::H3 => {
                let here = self.raw.len();
                self.headings_open.push(self.headings.len());
                self.headings.push((here, here));
                return Ok(HEADING);
            }
            Tag::Img | Tag::Source => {
                self.add_from(Attribute::Src, REQUISITE)?;
                if tag == Tag::Img {
                    self.add_from(Attribute::DataSrc, REQUISITE)?;
                }
                for attribute in [Attribute::Srcset, Attribute::DataSrcset] {
                    let set = self.attributes.get(attribute)?;
                    if !set.is_empty() {
                        self.leave_to_python(set, SRCSET)?;
                    }
                }
            }
            Tag::Script | Tag::Audio | Tag::Track | Tag::Embed | Tag::Input => {
                self.add_from(Attribute::Src, REQUISITE)?;
            }
            Tag::Video => {
                self.add_from(Attribute::Src, REQUISITE)?;
                self.add_from(Attribute::Poster, REQUISITE)?;
            }
            Tag::Use | Tag::Image => self.add_from(Attribute::Href, REQUISITE)?,
            Tag::Object => self.add_from(Attribute::Data, REQUISITE)?,
            Tag::Iframe => self.add_from(Attribute::Src, FRAME)?,
            Tag::Area => {
                let href = self.attributes.get(Attribute::Href)?;
                let rel = self.attributes.get(Attribute::Rel)?;
                let title = self.attributes.get(Attribute::Title)?;
                let text = text::line(&title, self.limits.anchor);
                self.page_link(href, &rel, MAIN, |_| Ok(text.clone()))?;
            }
            Tag::Base => {
                if self.base.is_none() {
                    let found = address(self.attributes.get(Attribute::Href)?, self.limits.href)?;
                    self.base = Some(found.into_owned()).filter(|found| !found.is_empty());
                }
            }
            Tag::Time => {
                if self.attributes.has(Attribute::Pubdate)
                    || self.attributes.get(Attribute::Itemprop)? == "datePublished"
                {
                    let date = self.attributes.get(Attribute::Datetime)?.into_owned();
                    self.facts.push((DATE, date));
                }
            }
            Tag::Link => self.link()?,
            Tag::Meta => self.meta()?,
            _ => {}
        }
        Ok(0)
    }

    fn link(&mut self) -> Plain<()> {
        let rel = self.attributes.get(Attribute::Rel)?.to_lowercase();
        let has = |wanted: &str| rel.split_whitespace().any(|word| word == wanted);
        if rel.split_whitespace().next().is_none() {
            return Ok(());
        }
        let href = self.attributes.get(Attribute::Href)?;
        if has("canonical") {
            if self.canonical.is_none() {
                let found = self.add(href, CANONICAL, "")?;
                self.canonical = Some(found).filter(|found| !found.is_empty());
            }
        } else if has("alternate") && !has("stylesheet") {
            let kind = self.attributes.get(Attribute::Type)?;
            let media = kind.split(';').next().unwrap_or("").trim().to_lowercase();
            if matches!(
                media.as_str(),
                "application/rss+xml" | "application/atom+xml" | "application/feed+json" | "application/rdf+xml"
            ) {
                let title = text::line(&self.attributes.get(Attribute::Title)?, self.limits.anchor);
                self.add(href, FEED, &title)?;
            } else {
                let language = text::line(&self.attributes.get(Attribute::Hreflang)?, 20);
                self.add(href, ALTERNATE, &language)?;
            }
        } else if has("amphtml") {
            self.add(href, ALTERNATE, "")?;
        } else if has("sitemap") {
            self.add(href, SITEMAP, "")?;
        } else if has("next") || has("prev") {
            let found = address(href, self.limits.href)?;
            if !found.is_empty() && !self.pages.contains_key(&found) {
                self.pages.insert(found.clone(), self.links.len());
                self.links.push(Link { href: found, kind: PAGE, text: String::new(), nofollow: false, region: 1 });
            }
        } else if ["stylesheet", "icon", "apple-touch-icon", "mask-icon", "manifest", "preload", "modulepreload"]
            .into_iter()
            .any(has)
        {
            self.add(href, REQUISITE, "")?;
        }
        Ok(())
    }

    fn meta(&mut self) -> Plain<()> {
        let name = self.attributes.first_of(&[Attribute::Name, Attribute::Property, Attribute::Itemprop])?;
        if name.is_empty() {
            if self.attributes.get(Attribute::HttpEquiv)?.eq_ignore_ascii_case("refresh") {
                let content = self.attributes.get(Attribute::Content)?;
                self.leave_to_python(content, REFRESH)?;
            }
            return Ok(());
        }
        let name = name.to_lowercase();
        match name.as_str() {
            "robots" | "hemeroteca" => {
                let content = self.attributes.get(Attribute::Content)?.to_lowercase();
                for word in content.split(|sign: char| sign == ',' || sign.is_whitespace()) {
                    self.noindex |= matches!(word, "none" | "noindex");
                    self.nofollow |= matches!(word, "none" | "nofollow");
                    self.noarchive |= word == "noarchive";
                }
            }
            "description" | "og:description" => {
                if self.description.is_empty() {
                    self.description = text::line(&self.attributes.get(Attribute::Content)?, self.limits.description);
                }
            }
            "og:title" => {
                if self.og_title.is_empty() {
                    self.og_title = text::line(&self.attributes.get(Attribute::Content)?, self.limits.line);
                }
            }
            "article:published_time"
            | "og:published_time"
            | "datepublished"
            | "date"
            | "dc.date"
            | "dc.date.issued"
            | "dcterms.created"
            | "dcterms.date"
            | "citation_date"
            | "citation_publication_date"
            | "pubdate"
            | "publishdate"
            | "parsely-pub-date"
            | "sailthru.date" => {
                let date = self.attributes.get(Attribute::Content)?.into_owned();
                self.facts.push((DATE, date));
            }
            "author" | "article:author" | "dc.creator" | "dcterms.creator" | "citation_author" | "parsely-author" => {
                let author = self.attributes.get(Attribute::Content)?.into_owned();
                self.facts.push((AUTHOR, author));
            }
            _ => {}
        }
        Ok(())
    }

    fn sheet(&mut self, sheet: Cow<'a, str>) -> Plain<()> {
        if sheet.len() > self.limits.css {
            return Err(Reason::Limit);
        }
        if contains_any_case(&sheet, "url(") || contains_any_case(&sheet, "@import") {
            if sheet.contains('<') {
                return Err(Reason::Script);
            }
            return self.leave_to_python(sheet, CSS);
        }
        Ok(())
    }

    fn leave_to_python(&mut self, written: Cow<'a, str>, kind: u8) -> Plain<()> {
        self.pending = true;
        self.push_link(Link { href: written, kind, text: String::new(), nofollow: false, region: MAIN })
    }

    fn push_link(&mut self, link: Link<'a>) -> Plain<()> {
        if self.links.len() >= self.limits.links {
            return Err(Reason::Limit);
        }
        self.links.push(link);
        Ok(())
    }

    fn add_from(&mut self, attribute: Attribute, kind: u8) -> Plain<()> {
        if self.attributes.has(attribute) {
            let href = self.attributes.get(attribute)?;
            self.add(href, kind, "")?;
        }
        Ok(())
    }

    fn add(&mut self, href: Cow<'a, str>, kind: u8, text: &str) -> Plain<String> {
        let found = address(href, self.limits.href)?;
        let told = found.clone().into_owned();
        if !found.is_empty() && self.others.insert((found.clone(), kind)) {
            self.push_link(Link { href: found, kind, text: text.to_owned(), nofollow: false, region: MAIN })?;
        }
        Ok(told)
    }

    fn page_link(
        &mut self,
        href: Cow<'a, str>,
        rel: &str,
        region: u8,
        text: impl Fn(&Self) -> Plain<String>,
    ) -> Plain<()> {
        let found = address(href, self.limits.href)?;
        if found.is_empty() {
            return Ok(());
        }
        if let Some(&place) = self.pages.get(&found) {
            if self.links[place].nofollow {
                self.links[place].nofollow = unendorsed(rel);
            }
            if self.links[place].text.is_empty() {
                self.links[place].text = text(self)?;
            }
            return Ok(());
        }
        let text = text(self)?;
        self.pages.insert(found.clone(), self.links.len());
        self.push_link(Link { href: found, kind: PAGE, text, nofollow: unendorsed(rel), region })
    }

    // The end.

    fn finish(&mut self, doubtful: bool, out: &mut Vec<u8>) -> Plain<()> {
        self.take_anchors()?;
        let headings = self.take_headings()?;
        if !self.has_kept {
            self.drop_boilerplate()?;
        }
        let (text, main) = text::texts(&self.raw, &self.marks);
        if self.raw.len() > self.limits.text || text.len() > self.limits.text {
            return Err(Reason::Limit);
        }
        let mut title = String::new();
        decode(self.title.unwrap_or(""), false, |part| title.push_str(part))?;
        let title = text::line(&title, self.limits.line);

        out.reserve(text.len() * 2 + self.links.len() * 64 + 1024);
        pack::list(out, 16);
        pack::flag(out, doubtful);
        pack::flag(out, self.pending);
        pack::text(out, &title);
        pack::text(out, &self.description);
        pack::text(out, &headings);
        pack::text(out, &text);
        match main {
            Some(main) => pack::text(out, &main),
            None => pack::nothing(out),
        }
        pack::list(out, self.links.len());
        for link in &self.links {
            pack_link(out, link);
        }
        for found in [&self.canonical, &self.base] {
            match found {
                Some(found) => pack::text(out, found),
                None => pack::nothing(out),
            }
        }
        pack::flag(out, self.noindex);
        pack::flag(out, self.nofollow);
        pack::flag(out, self.noarchive);
        pack::text(out, &self.language);
        pack::list(out, self.facts.len());
        for (kind, fact) in &self.facts {
            pack::list(out, 2);
            out.push(*kind);
            pack::text(out, fact);
        }
        pack::text(out, &self.og_title);
        Ok(())
    }

    fn take_anchors(&mut self) -> Plain<()> {
        let mut copied = 0;
        for anchor in std::mem::take(&mut self.anchors) {
            copied += anchor.end - anchor.start;
            if copied > MOST_COPIED {
                return Err(Reason::Limit);
            }
            let href = value(anchor.href)?;
            if href.is_empty() || href.starts_with('#') {
                continue;
            }
            let rel = value(anchor.rel)?;
            let limit = self.limits.anchor;
            self.page_link(href, &rel, anchor.region, |page| {
                let text = text::line(&page.raw[anchor.start..anchor.end], limit);
                if !text.is_empty() {
                    return Ok(text);
                }
                let alt = value(anchor.alt.unwrap_or(""))?;
                Ok(text::line(&if alt.is_empty() { value(anchor.title)? } else { alt }, limit))
            })?;
        }
        Ok(())
    }

    fn take_headings(&mut self) -> Plain<String> {
        let mut out = String::new();
        let mut copied = 0;
        for &(start, end) in &self.headings {
            copied += end - start;
            if copied > MOST_COPIED {
                return Err(Reason::Limit);
            }
            let heading = text::line(&self.raw[start..end], self.limits.line);
            if !heading.is_empty() {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&heading);
            }
        }
        Ok(out.chars().take(self.limits.headings).collect())
    }

    /// Navigation by class and id, where a page has no <main> or <article> to go by: `passages._named_boilerplate`.
    fn drop_boilerplate(&mut self) -> Plain<()> {
        let mut found = Vec::new();
        let (mut number, mut skip_until, mut copied) = (0, 0, 0);
        // Where the parser keeps a little more or less white space than we do.
        let slack = 16 + 2 * self.landmarks + self.pres;
        let mut total = 0;
        for named in &self.named {
            if !named.class.is_ascii() || !named.id.is_ascii() {
                return Err(Reason::Characters);
            }
            let boilerplate = boilerplate(&named.class, &named.id);
            for _ in 0..named.counted {
                let this = number;
                number += 1;
                if this >= MOST_NAMED || found.len() >= MOST_BOILERPLATE {
                    break;
                }
                if this < skip_until || !boilerplate {
                    continue;
                }
                if total == 0 {
                    total = self.shown(0, self.raw.len(), 0) + 2 * self.marks.len();
                }
                let length = self.shown(named.start, named.end, 0);
                copied += length + slack + 1000;
                if copied > MOST_COPIED {
                    return Err(Reason::Limit);
                }
                if (length * 2).abs_diff(total) <= 2 * slack + 2 * self.marks.len() {
                    return Err(Reason::Close);
                }
                if length * 2 < total {
                    found.push((named.start, named.end));
                    skip_until = this + 1 + named.inside;
                }
            }
        }
        if !found.is_empty() {
            for (start, end) in found {
                self.marks.push((start, Mark::Drop));
                self.marks.push((end, Mark::DropEnd));
            }
            self.marks.sort_by_key(|mark| mark.0);
        }
        Ok(())
    }

    /// How many characters of the raw text between two places are not hidden; `first` mark that may lie there.
    fn shown(&self, start: usize, end: usize, first: usize) -> usize {
        let bytes = self.raw.as_bytes();
        let mut length = text::characters(&bytes[start..end]);
        let (mut depth, mut from) = (0, 0);
        for &(at, mark) in &self.marks[first..] {
            match mark {
                Mark::Hide => {
                    if depth == 0 {
                        from = at;
                    }
                    depth += 1;
                }
                Mark::HideEnd => {
                    depth -= 1;
                    let (from, at) = (from.max(start), at.min(end));
                    if depth == 0 && from < at {
                        length -= text::characters(&bytes[from..at]);
                    }
                }
                _ => {}
            }
        }
        length
    }
}

fn pack_link(out: &mut Vec<u8>, link: &Link) {
    let entries = 2 + u8::from(!link.text.is_empty()) + u8::from(link.nofollow) + u8::from(link.region != MAIN);
    pack::map(out, entries);
    pack::text(out, "href");
    pack::text(out, &link.href);
    pack::text(out, "kind");
    pack::text(out, KINDS[usize::from(link.kind)]);
    if !link.text.is_empty() {
        pack::text(out, "text");
        pack::text(out, &link.text);
    }
    if link.nofollow {
        pack::text(out, "nofollow");
        pack::flag(out, true);
    }
    if link.region != MAIN {
        pack::text(out, "region");
        pack::text(out, REGIONS[usize::from(link.region)]);
    }
}

fn unendorsed(rel: &str) -> bool {
    !rel.is_empty()
        && rel.to_lowercase().split_whitespace().any(|word| matches!(word, "nofollow" | "ugc" | "sponsored"))
}

fn contains_any_case(text: &str, wanted: &str) -> bool {
    text.len() >= wanted.len()
        && text.as_bytes().windows(wanted.len()).any(|window| window.eq_ignore_ascii_case(wanted.as_bytes()))
}

/// Elements of a picture without a meaning in HTML.
fn is_drawing(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        name.as_str(),
        "path"
            | "g"
            | "circle"
            | "rect"
            | "line"
            | "polyline"
            | "polygon"
            | "ellipse"
            | "defs"
            | "lineargradient"
            | "radialgradient"
            | "stop"
            | "clippath"
            | "mask"
            | "symbol"
            | "marker"
            | "pattern"
            | "filter"
            | "desc"
            | "text"
            | "tspan"
            | "animate"
            | "animatetransform"
            | "fegaussianblur"
            | "feoffset"
            | "feblend"
            | "feflood"
            | "fecolormatrix"
            | "fecomposite"
            | "femerge"
            | "femergenode"
            | "fedropshadow"
    )
}

fn find_script(text: &str) -> bool {
    contains_any_case(text, "<script")
}

/// `passages._BOILERPLATE` on the class and the id, both ASCII.
fn boilerplate(class: &str, id: &str) -> bool {
    let joined;
    let mut names = class;
    if !id.is_empty() {
        joined = format!("{class} {id}");
        names = &joined;
    }
    let names = &names.as_bytes()[..names.len().min(NAMES_LOOKED_AT)];
    let delimits = |byte: u8| matches!(byte, b' ' | b'\n' | b'\x0c' | b'_' | b'-');
    (0..names.len()).any(|start| (start == 0 || delimits(names[start - 1])) && names_boilerplate(&names[start..]))
}

const BEGINNING: [&str; 5] = ["nav", "recommend", "advert", "promo", "sponsor"];

fn names_boilerplate(text: &[u8]) -> bool {
    let ends = |at: usize| at >= text.len() || matches!(text[at], b' ' | b'\n' | b'\x0c' | b'_' | b'-');
    let begins = |name: &str| text.len() >= name.len() && text[..name.len()].eq_ignore_ascii_case(name.as_bytes());
    if !text.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    if BEGINNING.into_iter().any(|name| {
        begins(name) && {
            let rest = &text[name.len()..];
            let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(rest.len());
            ends(name.len() + end)
        }
    }) {
        return true;
    }
    let whole: &[&str] = match text[0].to_ascii_lowercase() {
        b'a' => &["ad", "ads"],
        b'b' => &["breadcrumb", "breadcrumbs", "bread-crumb", "bread-crumbs"],
        b'c' => &["cookie", "cookies", "consent", "comment", "comments"],
        b'f' => &["footer", "foot"],
        b'g' => &["gdpr"],
        b'm' => &["menu", "mainmenu", "masthead", "modal"],
        b'n' => &["newsletter"],
        b'p' => &["pagination", "pager", "popup"],
        b'r' => &["related"],
        b's' => &[
            "submenu",
            "sidebar",
            "side-bar",
            "site-header",
            "share",
            "sharing",
            "social",
            "skiplink",
            "skiplinks",
            "skip-link",
            "skip-links",
            "subscribe",
        ],
        b't' => &["topmenu"],
        b'w' => &["widget", "widgets"],
        _ => &[],
    };
    whole.iter().any(|name| begins(name) && ends(name.len()))
}
