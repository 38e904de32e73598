//! The open elements, and formatting that is opened again where a block has cut it short.

use super::*;

const MAX_ALIKE: usize = 3;
const MAX_DEPTH: usize = 256;

impl<'a> Page<'a> {
    pub(super) fn top(&self) -> Open<'a> {
        *self.stack.last().expect("the body is open")
    }

    /// Where the nearest such element is, unless something that bounds the scope is nearer.
    pub(super) fn in_scope(&self, wanted: impl Fn(&Open) -> bool, bounds: &[Tag]) -> Option<usize> {
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
    pub(super) fn pop_to(&mut self, place: usize) -> Plain<()> {
        while self.stack.len() > place {
            self.pop()?;
        }
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Plain<()> {
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
    pub(super) fn cut_short(&mut self, open: Open<'a>) -> Plain<()> {
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
    pub(super) fn check_landmark(&mut self, here: usize) -> Plain<()> {
        let (start, mark) = self.landmarks_open.pop().unwrap_or((0, 0));
        let after_hidden = self.marks[..mark].last().is_some_and(|&(at, mark)| at == start && mark == Mark::HideEnd);
        let on_new_line = self.raw[..start].ends_with('\t') && !after_hidden;
        if !on_new_line && self.shown(start, here, mark) == 0 {
            return Err(Reason::Landmark);
        }
        Ok(())
    }

    pub(super) fn leave(&mut self, duties: u8) -> Plain<()> {
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
        if duties & HEADING != 0
            && let Some(place) = self.headings_open.pop()
        {
            self.headings[place].1 = here;
        }
        if duties & NAMED != 0
            && let Some(place) = self.named_open.pop()
        {
            let counted = self.named_counted;
            let named = &mut self.named[place];
            named.end = here;
            named.inside = counted - named.inside;
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
        if duties & INVISIBLE != 0 {
            self.invisible -= 1;
            if let Some(unseen) = self.unseen.last_mut() {
                unseen.1 = here;
            }
        }
        Ok(())
    }

    pub(super) fn push(&mut self, tag: Tag, flags: u32, name: &'a str) -> Plain<()> {
        let (region, in_main) = self.stack.last().map_or((MAIN, false), |open| (open.region, open.in_main));
        self.push_with(Open { tag, flags, name, duties: 0, region, in_main })
    }

    pub(super) fn push_with(&mut self, open: Open<'a>) -> Plain<()> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(Reason::Limit);
        }
        if open.tag == Tag::P {
            self.paragraphs += 1;
        }
        self.stack.push(open);
        Ok(())
    }

    /// An element that the parser adds by itself.
    pub(super) fn push_plain(&mut self, tag: Tag) -> Plain<()> {
        let name = match tag {
            Tag::Tbody => "tbody",
            Tag::Tr => "tr",
            _ => "colgroup",
        };
        self.push(tag, tags::known(name.as_bytes()).1, name)
    }

    pub(super) fn push_formatting(&mut self, mut open: Open<'a>) -> Plain<()> {
        let alike = self.formatting.iter().rev().take_while(|entry| !entry.marker);
        if alike.filter(|entry| entry.open.tag == open.tag).count() >= MAX_ALIKE {
            return Err(Reason::Formatting); // of equal ones the parser forgets the first
        }
        if open.tag == Tag::A || self.attributes.seen & (ASKING | bit(Attribute::Alt)) != 0 {
            open.duties |= UNREPEATABLE;
        }
        self.formatting.push(Formatting { open, place: Some(self.stack.len()), marker: false });
        self.push_with(open)
    }

    /// Opens again what was cut short, before text and the like.
    pub(super) fn reopen(&mut self) -> Plain<()> {
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
    pub(super) fn forget_formatting(&mut self) {
        while let Some(entry) = self.formatting.pop() {
            if entry.marker {
                return;
            }
        }
    }
}
