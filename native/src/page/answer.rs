//! What remains at the end: texts of anchors, navigation by its names, the answer.

use super::*;

const MOST_COPIED: usize = 8 << 20; // html.MAX_COPIED, passages.MAX_COPIED
const MOST_NAMED: usize = 3000; // passages.MAX_NAMED
const MOST_BOILERPLATE: usize = 100;
const NAMES_LOOKED_AT: usize = 300;

impl<'a> Page<'a> {
    pub(super) fn finish(&mut self, doubtful: bool, place: Option<&Place>, out: &mut Vec<u8>) -> Plain<()> {
        self.take_anchors()?;
        let headings = self.take_headings()?;
        if !self.has_kept {
            self.drop_boilerplate()?;
        }
        let most = self.limits.text;
        // Python cuts the raw text at twice the limit; what a little more or less white space may be is left to it.
        if self.raw.len() > most && self.raw.len() + self.raw.len() / 8 + 10_000 > 2 * most {
            return Err(Reason::Limit);
        }
        let (mut text, mut main) = text::texts(&self.raw, &self.marks);
        let cut = text.len() > most && text::cut(&mut text, most);
        if let (true, Some(main)) = (cut, &mut main) {
            text::cut(main, most);
        }
        let mut title = String::new();
        decode(self.title.unwrap_or(""), false, |part| title.push_str(part))?;
        let title = text::line(&title, self.limits.line);

        out.reserve(text.len() * 2 + self.links.len() * 64 + 1024);
        pack::list(out, 18);
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
        pack::flag(out, cut);
        self.pack_leads(place, out);
        Ok(())
    }

    pub(super) fn take_anchors(&mut self) -> Plain<()> {
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

    pub(super) fn take_headings(&mut self) -> Plain<String> {
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

/// As `document.Link`, without what is as usual at its end.
fn pack_link(out: &mut Vec<u8>, link: &Link) {
    let length = match link {
        link if link.region != MAIN => 5,
        link if link.nofollow => 4,
        link if !link.text.is_empty() => 3,
        _ => 2,
    };
    pack::short_list(out, length);
    pack::text(out, &link.href);
    pack::text(out, KINDS[usize::from(link.kind)]);
    if length > 2 {
        pack::text(out, &link.text);
    }
    if length > 3 {
        pack::flag(out, link.nofollow);
    }
    if length > 4 {
        pack::text(out, REGIONS[usize::from(link.region)]);
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
