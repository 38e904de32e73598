//! What an end tag does.

use super::*;

const MAX_ROUNDS: usize = 6; // after eight the parser gives up

impl<'a> Page<'a> {
    pub(super) fn close(&mut self, tag: Tag, flags: u32, name: &str) -> Plain<()> {
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
    pub(super) fn nearest(&self, tag: Tag, name: &str) -> Option<usize> {
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

    pub(super) fn close_formatting(&mut self, tag: Tag, name: &str) -> Plain<()> {
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
                if last >= MAX_ROUNDS
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

    pub(super) fn close_form(&mut self) -> Plain<()> {
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

    pub(super) fn close_in_select(&mut self, tag: Tag) -> Plain<()> {
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

    pub(super) fn close_table_part(&mut self, tag: Tag) -> Plain<()> {
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
}
