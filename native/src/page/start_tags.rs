//! What a start tag does: what it ends, where it stands.

use super::*;

const MAX_TITLE: usize = 4000;

impl<'a> Page<'a> {
    pub(super) fn open(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        if self.svg_open {
            return self.open_in_svg(tag, name);
        }
        match tag {
            Tag::Html | Tag::Head | Tag::Body => return self.open_root(tag, flags, name),
            _ if flags & tags::META != 0 || (tag == Tag::Noscript && self.mode != Mode::Body) => {
                return self.open_meta(tag, flags, name);
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
            Tag::A if (self.anchor_open || self.stack.iter().any(|open| open.tag == Tag::A)) => {
                return Err(Reason::Nesting);
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
            Tag::Button if self.stack.iter().any(|open| open.tag == Tag::Button) => {
                return Err(Reason::Nesting);
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

    pub(super) fn open_root(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
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

    pub(super) fn begin_html(&mut self) -> Plain<()> {
        if self.stack.is_empty() {
            self.push(Tag::Html, tags::SPECIAL | tags::SCOPE, "html")?;
        }
        Ok(())
    }

    pub(super) fn begin_body(&mut self) -> Plain<()> {
        self.begin_html()?;
        self.mode = Mode::Body;
        self.push(Tag::Body, tags::SPECIAL, "body")
    }

    /// What belongs in the head, there or elsewhere.
    pub(super) fn open_meta(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
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
                if written.contains('<') || written.len() > MAX_TITLE {
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
                    if content.contains("<!--") && text::contains_any_case(content, "<script") {
                        return Err(Reason::Script);
                    }
                    if kind.eq_ignore_ascii_case("application/ld+json") {
                        if content.contains('<') {
                            return Err(Reason::Script);
                        }
                        self.facts.push((LINKED_DATA, content.to_owned()));
                    } else if kind.eq_ignore_ascii_case("module")
                        && (content.contains("import") || content.contains("export"))
                    {
                        self.leave_to_python(Cow::Borrowed(content), MODULE)?;
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
    pub(super) fn captures(&self) -> bool {
        self.anchor_open || !self.headings_open.is_empty()
    }

    pub(super) fn open_textarea(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
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

    pub(super) fn open_in_select(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
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
    pub(super) fn open_in_svg(&mut self, tag: Tag, name: &'a str) -> Plain<()> {
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

    pub(super) fn insert_in_svg(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        self.insert(tag, flags, name)?;
        if self.self_closing {
            return self.close_in_svg(name);
        }
        Ok(())
    }

    pub(super) fn close_in_svg(&mut self, name: &str) -> Plain<()> {
        let around = self.top();
        if !around.name.eq_ignore_ascii_case(name) {
            return Err(Reason::Element);
        }
        self.svg_open = around.tag != Tag::Svg;
        self.pop()
    }

    pub(super) fn open_table_part(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
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
    pub(super) fn cell(&self) -> Option<usize> {
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
    pub(super) fn pop_cell(&mut self, place: usize) -> Plain<()> {
        self.forget_formatting();
        self.pop_to(place)
    }

    pub(super) fn close_paragraph(&mut self) -> Plain<()> {
        if self.paragraphs > 0
            && let Some(place) = self.in_scope(|open| open.tag == Tag::P, &[Tag::Button])
        {
            return self.pop_to(place);
        }
        Ok(())
    }

    /// An item ends the one before it.
    pub(super) fn close_item(&mut self, tags: &[Tag]) -> Plain<()> {
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
