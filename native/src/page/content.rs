//! What is taken from elements of interest: links, facts, landmarks.

use super::*;

const MAX_LANDMARKS: usize = 64; // html.MAX_LANDMARKS

impl<'a> Page<'a> {
    pub(super) fn insert(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        let parent = self.stack.last().copied();
        let (mut region, mut in_main) = parent.map_or((MAIN, false), |open| (open.region, open.in_main));
        let mut duties = 0;
        let around = region;
        let interesting = flags & tags::INTERESTING != 0;
        if interesting {
            duties |= self.handle(tag)?;
        }
        if flags & tags::EMPTY == 0 && (interesting || self.attributes.seen & ASKING != 0) {
            duties |= self.ask(tag, flags, &mut region, in_main)?;
        }
        if self.invisible > 0 && matches!(tag, Tag::Main | Tag::Article | Tag::H1) {
            return Err(Reason::Landmark); // perhaps behind a dialog
        }
        if flags & tags::NAMED != 0 {
            duties |= self.name_of_element()?;
        }
        if self.anchor_open
            && self.invisible == 0
            && self.attributes.has(Attribute::Alt)
            && let Some(anchor) = self.anchors.last_mut()
        {
            anchor.alt = anchor.alt.or(self.attributes.written(Attribute::Alt));
        }
        if tag == Tag::A {
            duties |= self.anchor(around);
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

    /// Hidden, a landmark, or with addresses in its style.
    pub(super) fn ask(&mut self, tag: Tag, flags: u32, region: &mut u8, in_main: bool) -> Plain<u8> {
        let style = self.attributes.get(Attribute::Style)?;
        let here = self.raw.len();
        let invisible = tag != Tag::Body
            && (self.attributes.has(Attribute::Hidden)
                || self.attributes.get(Attribute::AriaHidden)?.eq_ignore_ascii_case("true")
                || styles::hides(&style));
        if flags & tags::UNSEEN != 0 || invisible {
            self.hidden += 1;
            self.marks.push((here, Mark::Hide));
            if !invisible {
                return Ok(HIDDEN);
            }
            if !style.is_empty() {
                self.sheet(style)?;
            }
            if self.invisible == 0 {
                self.unseen.push((here, here));
            }
            self.invisible += 1;
            return Ok(HIDDEN | INVISIBLE);
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
        if self.landmarks > MAX_LANDMARKS {
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

    pub(super) fn name_of_element(&mut self) -> Plain<u8> {
        let counted =
            usize::from(self.attributes.has(Attribute::Class)) + usize::from(self.attributes.has(Attribute::Id));
        if counted == 0 || self.hidden > 0 {
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

    pub(super) fn anchor(&mut self, region: u8) -> u8 {
        let here = self.raw.len();
        self.anchor_open = true;
        self.anchors.push(Anchor {
            href: self.attributes.written(Attribute::Href).unwrap_or(""),
            rel: self.attributes.written(Attribute::Rel).unwrap_or(""),
            title: self.attributes.written(Attribute::Title).unwrap_or(""),
            alt: None,
            region,
            hidden: self.hidden > 0,
            invisible: self.invisible > 0,
            start: here,
            end: here,
        });
        ANCHOR
    }

    pub(super) fn handle(&mut self, tag: Tag) -> Plain<u8> {
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
                let text = text::line(&title, self.limits.anchor_chars);
                self.page_link(href, &rel, MAIN, None, |_| Ok(text.clone()))?;
            }
            Tag::Base if self.base.is_none() => {
                let found = address(self.attributes.get(Attribute::Href)?, self.limits.href_chars)?;
                self.base = Some(found.into_owned()).filter(|found| !found.is_empty());
            }
            Tag::Time
                if (self.attributes.has(Attribute::Pubdate)
                    || self.attributes.get(Attribute::Itemprop)? == "datePublished") =>
            {
                let date = self.attributes.get(Attribute::Datetime)?.into_owned();
                self.facts.push((DATE, date));
            }
            Tag::Link => self.link()?,
            Tag::Meta => self.meta()?,
            _ => {}
        }
        Ok(0)
    }

    pub(super) fn link(&mut self) -> Plain<()> {
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
                let title = text::line(&self.attributes.get(Attribute::Title)?, self.limits.anchor_chars);
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
            let found = address(href, self.limits.href_chars)?;
            if !found.is_empty() && !self.pages.contains_key(&found) {
                self.pages.insert(found.clone(), self.links.len());
                self.links.push(Link { region: 1, ..Link::new(found, PAGE) });
            }
        } else if ["stylesheet", "icon", "apple-touch-icon", "mask-icon", "manifest", "preload", "modulepreload"]
            .into_iter()
            .any(has)
        {
            self.add(href, REQUISITE, "")?;
            let set = self.attributes.get(Attribute::Imagesrcset)?;
            if !set.is_empty() {
                self.leave_to_python(set, SRCSET)?;
            }
        }
        Ok(())
    }

    pub(super) fn meta(&mut self) -> Plain<()> {
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
            "description" | "og:description" if self.description.is_empty() => {
                self.description = text::line(&self.attributes.get(Attribute::Content)?, self.limits.description_chars);
            }
            "og:title" if self.og_title.is_empty() => {
                self.og_title = text::line(&self.attributes.get(Attribute::Content)?, self.limits.line_chars);
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

    pub(super) fn sheet(&mut self, sheet: Cow<'a, str>) -> Plain<()> {
        if sheet.len() > self.limits.css_bytes {
            return Err(Reason::Limit);
        }
        if text::contains_any_case(&sheet, "url(") || text::contains_any_case(&sheet, "@import") {
            if sheet.contains('<') {
                return Err(Reason::Script);
            }
            return self.leave_to_python(sheet, CSS);
        }
        Ok(())
    }

    pub(super) fn leave_to_python(&mut self, written: Cow<'a, str>, kind: u8) -> Plain<()> {
        self.pending = true;
        self.push_link(Link::new(written, kind))
    }

    pub(super) fn push_link(&mut self, link: Link<'a>) -> Plain<()> {
        if self.links.len() >= self.limits.links {
            return Err(Reason::Limit);
        }
        self.links.push(link);
        Ok(())
    }

    pub(super) fn add_from(&mut self, attribute: Attribute, kind: u8) -> Plain<()> {
        if self.attributes.has(attribute) {
            let href = self.attributes.get(attribute)?;
            self.add(href, kind, "")?;
        }
        Ok(())
    }

    pub(super) fn add(&mut self, href: Cow<'a, str>, kind: u8, text: &str) -> Plain<String> {
        let found = address(href, self.limits.href_chars)?;
        let told = found.clone().into_owned();
        if !found.is_empty() && self.others.insert((found.clone(), kind)) {
            self.push_link(Link { text: text.to_owned(), ..Link::new(found, kind) })?;
        }
        Ok(told)
    }

    /// A link to another page; `anchor`: where its text stands, if it is an anchor's.
    pub(super) fn page_link(
        &mut self,
        href: Cow<'a, str>,
        rel: &str,
        region: u8,
        anchor: Option<(usize, usize)>,
        text: impl Fn(&Self) -> Plain<String>,
    ) -> Plain<()> {
        let found = address(href, self.limits.href_chars)?;
        if found.is_empty() {
            return Ok(());
        }
        if let Some(&place) = self.pages.get(&found) {
            if self.links[place].nofollow {
                self.links[place].nofollow = unendorsed(rel);
            }
            if self.links[place].text.is_empty() {
                let text = text(self)?;
                let link = &mut self.links[place];
                if !text.is_empty() {
                    (link.text, link.anchor) = (text, anchor);
                }
            }
            return Ok(());
        }
        let text = text(self)?;
        self.pages.insert(found.clone(), self.links.len());
        self.push_link(Link { text, nofollow: unendorsed(rel), region, anchor, ..Link::new(found, PAGE) })
    }
}

fn unendorsed(rel: &str) -> bool {
    !rel.is_empty()
        && rel.to_lowercase().split_whitespace().any(|word| matches!(word, "nofollow" | "ugc" | "sponsored"))
}
