//! The one pass over a page: tags, the stack of open elements, and what is gathered on the way.

mod answer;
mod content;
mod end_tags;
mod leads;
mod stack;
mod start_tags;
mod tokens;

pub use leads::mark;

use std::borrow::Cow;

use foldhash::{HashMap, HashSet};

use crate::address::address;
use crate::attributes::{ASKING, Attribute, Attributes, attribute, bit};
use crate::bombs;
use crate::source::{Plain, Reason, decode, normalised, value};
use crate::styles;
use crate::tags::{self, Tag};
use crate::targets::Place;
use crate::text::{self, Mark};

/// The fields of `extract.Limits` that matter here.
pub struct Limits {
    pub html_bytes: usize,
    pub html_tags: usize,
    pub depth: usize,
    pub text_chars: usize,
    pub line_chars: usize,
    pub description_chars: usize,
    pub headings_chars: usize,
    pub anchor_chars: usize,
    pub context_chars: usize,
    pub href_chars: usize,
    pub links: usize,
    pub css_bytes: usize,
}

/// What was read, as msgpack, or why the page is not plain. `context`: each link has the text around its anchor.
/// `place`: where its links are to be resolved.
pub fn read(data: &[u8], limits: &Limits, context: bool, place: Option<&Place>) -> Plain<Vec<u8>> {
    if data.len() > limits.html_bytes {
        return Err(Reason::Limit);
    }
    let source = normalised(data)?;
    let tags = text::count(data, |byte| byte == b'<');
    if tags > limits.html_tags {
        return Err(Reason::Limit);
    }
    let mut page = Page::new(&source, limits, tags);
    page.run()?;
    let doubtful = bombs::doubtful(data, tags, &page.tally, &page.nesting);
    page.answer(doubtful, context, place)
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
const INVISIBLE: u8 = 1 << 7; // hidden, with its links and headings

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
const KINDS: [&str; 12] = [
    "page",
    "requisite",
    "frame",
    "feed",
    "sitemap",
    "canonical",
    "alternate",
    "redirect",
    "css",
    "srcset",
    "refresh",
    "module",
];
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
const MODULE: u8 = 11;

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
    anchor: Option<(usize, usize)>, // where its text stands in the raw text
    context: String,
}

impl<'a> Link<'a> {
    fn new(href: Cow<'a, str>, kind: u8) -> Link<'a> {
        Link { href, kind, text: String::new(), nofollow: false, region: MAIN, anchor: None, context: String::new() }
    }
}

struct Anchor<'a> {
    href: &'a str,
    rel: &'a str,
    title: &'a str,
    alt: Option<&'a str>,
    region: u8,
    hidden: bool,
    invisible: bool,
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
    tally: bombs::Tally,
    nesting: bombs::Nesting,
    mode: Mode,
    standard: bool, // the doctype is known not to mean quirks
    stack: Vec<Open<'a>>,
    formatting: Vec<Formatting<'a>>,
    attributes: Attributes<'a>,
    raw: String, // all text of the body, with a tab where a block begins or ends
    marks: Vec<(usize, Mark)>,
    hidden: usize,
    invisible: usize,
    unseen: Vec<(usize, usize)>, // what is invisible of the raw text
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

const EXPECTED_LINKS: usize = 128;

impl<'a> Page<'a> {
    fn new(source: &'a str, limits: &'a Limits, tags: usize) -> Page<'a> {
        Page {
            source,
            bytes: source.as_bytes(),
            limits,
            at: 0,
            tally: bombs::Tally::default(),
            nesting: bombs::Nesting::new(tags, limits.depth),
            mode: Mode::BeforeHtml,
            standard: false,
            stack: Vec::with_capacity(64),
            formatting: Vec::new(),
            attributes: Attributes::default(),
            raw: String::with_capacity(source.len() / 2),
            marks: Vec::new(),
            hidden: 0,
            invisible: 0,
            unseen: Vec::new(),
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
            anchors: Vec::with_capacity(EXPECTED_LINKS),
            headings: Vec::new(),
            headings_open: Vec::new(),
            named: Vec::new(),
            named_open: Vec::new(),
            named_counted: 0,
            links: Vec::with_capacity(EXPECTED_LINKS),
            pages: HashMap::default(),
            others: HashSet::default(),
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
}
