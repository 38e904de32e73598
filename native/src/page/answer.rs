//! What remains at the end: texts of anchors, navigation by its names, the answer.

use serde::Serialize;
use serde::ser::{SerializeTuple, Serializer};

use super::leads::Leads;
use super::*;

const MAX_COPIED: usize = 8 << 20; // html.MAX_COPIED, passages.MAX_COPIED
const MAX_NAMED: usize = 3000; // passages.MAX_NAMED
const MAX_BOILERPLATE: usize = 100;
const NAMES_LOOKED_AT: usize = 300;

/// What was read, in the order of the fields of `extract.native.Read`.
#[derive(Serialize)]
struct Answer<'p> {
    doubtful: bool,
    pending: bool,
    title: String,
    description: &'p str,
    headings: String,
    text: String,
    main: Option<String>,
    links: PackedLinks,
    canonical: &'p Option<String>,
    base: &'p Option<String>,
    noindex: bool,
    nofollow: bool,
    noarchive: bool,
    language: &'p str,
    facts: &'p [(u8, String)],
    social_title: &'p str,
    cut: bool,
    leads: Option<Leads>,
}

/// Each link for itself, so that Python makes only those it looks at; with the place where each ends.
#[derive(Serialize)]
struct PackedLinks {
    #[serde(with = "serde_bytes")]
    packed: Vec<u8>,
    #[serde(with = "serde_bytes")]
    ends: Vec<u8>,
}

impl PackedLinks {
    fn new(links: &[Link]) -> Plain<PackedLinks> {
        let mut serializer = rmp_serde::Serializer::new(Vec::with_capacity(links.len() * 64));
        let mut ends = Vec::with_capacity(links.len() * 4);
        for link in links {
            link.serialize(&mut serializer).map_err(|_| Reason::Limit)?;
            let end = u32::try_from(serializer.get_ref().len()).map_err(|_| Reason::Limit)?;
            ends.extend(end.to_ne_bytes());
        }
        Ok(PackedLinks { packed: serializer.into_inner(), ends })
    }
}

/// As `document.Link`, without what is as usual at its end.
impl Serialize for Link<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = match self {
            link if !link.context.is_empty() => 6,
            link if link.region != MAIN => 5,
            link if link.nofollow => 4,
            link if !link.text.is_empty() => 3,
            _ => 2,
        };
        let mut fields = serializer.serialize_tuple(length)?;
        fields.serialize_element(&self.href)?;
        fields.serialize_element(KINDS[usize::from(self.kind)])?;
        if length > 2 {
            fields.serialize_element(&self.text)?;
        }
        if length > 3 {
            fields.serialize_element(&self.nofollow)?;
        }
        if length > 4 {
            fields.serialize_element(REGIONS[usize::from(self.region)])?;
        }
        if length > 5 {
            fields.serialize_element(&self.context)?;
        }
        fields.end()
    }
}

#[derive(Clone, Copy)]
enum Event {
    Hide,
    Show,
    Begin(usize),
    End(usize),
}

impl<'a> Page<'a> {
    pub(super) fn answer(&mut self, doubtful: bool, context: bool, place: Option<&Place>) -> Plain<Vec<u8>> {
        self.take_anchors()?;
        let headings = self.take_headings()?;
        if context {
            self.add_contexts();
        }
        if !self.has_kept {
            self.drop_boilerplate()?;
        }
        let most = self.limits.text_chars;
        // Python cuts the raw text at twice the limit; what a little more or less white space may be is left to it.
        if self.raw.len() > most && self.raw.len() + self.raw.len() / 8 + 10_000 > 2 * most {
            return Err(Reason::Limit);
        }
        let (mut text, mut main) = text::texts(&self.raw, &self.marks);
        if text.is_empty() && !self.unseen.is_empty() {
            return Err(Reason::Close); // perhaps scripts show it
        }
        let cut = text.len() > most && text::cut(&mut text, most);
        if let (true, Some(main)) = (cut, &mut main) {
            text::cut(main, most);
        }
        let mut title = String::new();
        decode(self.title.unwrap_or(""), false, |part| title.push_str(part))?;
        let out = Vec::with_capacity(text.len() * 2 + self.links.len() * 64 + 1024);
        let answer = Answer {
            doubtful,
            pending: self.pending,
            title: text::line(&title, self.limits.line_chars),
            description: &self.description,
            headings,
            text,
            main,
            links: PackedLinks::new(&self.links)?,
            canonical: &self.canonical,
            base: &self.base,
            noindex: self.noindex,
            nofollow: self.nofollow,
            noarchive: self.noarchive,
            language: &self.language,
            facts: &self.facts,
            social_title: &self.og_title,
            cut,
            leads: place.and_then(|place| self.leads(place)),
        };
        let mut serializer = rmp_serde::Serializer::new(out);
        answer.serialize(&mut serializer).map_err(|_| Reason::Limit)?;
        Ok(serializer.into_inner())
    }

    pub(super) fn take_anchors(&mut self) -> Plain<()> {
        let mut copied = 0;
        for anchor in std::mem::take(&mut self.anchors) {
            copied += anchor.end - anchor.start;
            if copied > MAX_COPIED {
                return Err(Reason::Limit);
            }
            let href = value(anchor.href)?;
            if href.is_empty() || href.starts_with('#') || anchor.invisible {
                continue;
            }
            let rel = value(anchor.rel)?;
            let limit = self.limits.anchor_chars;
            let shown = (!anchor.hidden).then_some((anchor.start, anchor.end));
            self.page_link(href, &rel, anchor.region, shown, |page| {
                let text = text::line(&page.seen(anchor.start, anchor.end), limit);
                if !text.is_empty() {
                    return Ok(text);
                }
                let alt = value(anchor.alt.unwrap_or(""))?;
                Ok(text::line(&if alt.is_empty() { value(anchor.title)? } else { alt }, limit))
            })?;
        }
        Ok(())
    }

    /// Gives each link the text around its anchor, with white space collapsed: `passages._give_contexts`.
    fn add_contexts(&mut self) {
        let mut events: Vec<(usize, Event)> = Vec::new();
        for (number, link) in self.links.iter().enumerate() {
            if let Some((start, end)) = link.anchor {
                events.push((start, Event::Begin(number)));
                events.push((end, Event::End(number)));
            }
        }
        events.extend(self.marks.iter().filter_map(|&(at, mark)| match mark {
            Mark::Hide => Some((at, Event::Hide)),
            Mark::HideEnd => Some((at, Event::Show)),
            _ => None,
        }));
        events.sort_by_key(|event| event.0);
        let mut flat = text::Flat::default();
        let mut places = vec![(0, 0); self.links.len()];
        let (mut hidden, mut last) = (0_usize, 0);
        for (at, event) in events {
            if hidden == 0 {
                flat.add(&self.raw[last..at]);
            }
            last = at;
            match event {
                Event::Hide => hidden += 1,
                Event::Show => hidden -= 1,
                Event::Begin(number) => places[number].0 = flat.out.len(),
                Event::End(number) => {
                    let end = flat.out.len();
                    let text = flat.out[places[number].0..].trim_start();
                    places[number] = (end - text.len(), end);
                }
            }
        }
        flat.add(&self.raw[last..]);
        for (link, (start, end)) in self.links.iter_mut().zip(places) {
            if link.anchor.is_some() {
                let width = self.limits.context_chars;
                let inside = text::first(&flat.out[start..end], self.limits.anchor_chars);
                let context = [text::last(&flat.out[..start], width), inside, text::first(&flat.out[end..], width)];
                link.context = context.concat();
            }
        }
    }

    pub(super) fn take_headings(&mut self) -> Plain<String> {
        let mut out = String::new();
        let mut copied = 0;
        for &(start, end) in &self.headings {
            copied += end - start;
            if copied > MAX_COPIED {
                return Err(Reason::Limit);
            }
            let heading = text::line(&self.seen(start, end), self.limits.line_chars);
            if !heading.is_empty() {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&heading);
            }
        }
        Ok(out.chars().take(self.limits.headings_chars).collect())
    }

    /// The raw text between two places without what is invisible.
    fn seen(&self, start: usize, end: usize) -> Cow<'_, str> {
        let first = self.unseen.partition_point(|&(_, until)| until <= start);
        let mut hiding = self.unseen[first..].iter().take_while(|&&(from, _)| from < end).peekable();
        if hiding.peek().is_none() {
            return Cow::Borrowed(&self.raw[start..end]);
        }
        let mut seen = String::new();
        let mut at = start;
        for &(from, until) in hiding {
            seen.push_str(&self.raw[at..from.max(at)]);
            at = until.min(end);
        }
        seen.push_str(&self.raw[at..end]);
        Cow::Owned(seen)
    }

    /// Navigation by class and id, where a page has no <main> or <article> to go by: `passages._named_boilerplate`.
    pub(super) fn drop_boilerplate(&mut self) -> Plain<()> {
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
                if this >= MAX_NAMED || found.len() >= MAX_BOILERPLATE {
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
                if copied > MAX_COPIED {
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
    pub(super) fn shown(&self, start: usize, end: usize, first: usize) -> usize {
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
