//! Whether `markup.py` could take a page for a bomb. Sure when the answer is no; otherwise Python looks.

use crate::tags::{self, Tag};

const FEW_TAGS: usize = 1500;
const SHALLOW_TAGS: usize = 20_000;
const SHORT_BYTES: usize = 128 << 10;
const MAX_NODES: usize = 500_000;
const ALL_KINDS: usize = 11; // that `markup.py` tells apart
const MAX_TAG: usize = 2048;
const MAX_ROOTS: usize = 100;
const MAX_HIDDEN_ENDS: usize = 40;

/// What was seen of the tags: enough to say how many elements a parser could add by opening formatting again.
#[derive(Default)]
pub struct Tally {
    tags: usize,
    others: usize,
    dressed: usize, // formatting with attributes, and what might be taken for it
    unknown: usize,
    carried: usize, // how many of those stand before each of the others
    kinds: u128,
}

impl Tally {
    pub fn start_tag(&mut self, tag: Tag, flags: u32, bare: bool) {
        self.tags += 1;
        if flags & tags::FORMATTING != 0 && tag != Tag::A {
            self.dressed += usize::from(!bare);
            self.kinds |= 1 << tag as u8;
        } else {
            self.others += 1;
            self.carried += self.dressed;
            self.dressed += usize::from(tag == Tag::Other);
            self.unknown += usize::from(tag == Tag::Other);
        }
    }

    pub fn end_tag(&mut self, tag: Tag, flags: u32) {
        self.tags += 1;
        if flags & tags::FORMATTING == 0 || tag == Tag::A {
            self.others += 1;
            self.carried += self.dressed;
        }
    }

    /// Not less than `markup._most_reopened`. A `<` in scripts and the like counts as whatever is worst.
    fn most_reopened(&self, tags: usize) -> usize {
        let unseen = tags.saturating_sub(self.tags);
        let others = self.others + unseen;
        let kinds = (self.kinds.count_ones() as usize + 1 + unseen + self.unknown).min(ALL_KINDS + 1);
        3 * kinds * others + self.carried + unseen * others
    }
}

/// `tags`: how often `<` stands in `data`.
pub fn doubtful(data: &[u8], tags: usize, tally: &Tally) -> bool {
    tags > SHALLOW_TAGS
        || (tags > FEW_TAGS && tally.most_reopened(tags) > MAX_NODES)
        || (data.len() > SHORT_BYTES && may_have_many_attributes(data))
}

/// `markup._may_have_many_attributes`, without its closer look.
fn may_have_many_attributes(data: &[u8]) -> bool {
    let (mut last, mut roots, mut hidden_ends) = (0, 0, 0);
    for (at, &byte) in data.iter().enumerate() {
        match byte {
            b'>' => {
                if at - last > MAX_TAG {
                    return true;
                }
                last = at;
            }
            b'<' => roots += usize::from(is_root(&data[at + 1..])),
            b'=' => hidden_ends += usize::from(hides_end(&data[at + 1..])),
            _ => {}
        }
    }
    data.len() - last > MAX_TAG || roots > MAX_ROOTS || hidden_ends > MAX_HIDDEN_ENDS
}

fn is_root(rest: &[u8]) -> bool {
    let name = rest.strip_prefix(b"/").unwrap_or(rest);
    name.len() > 2 && (name[..3].eq_ignore_ascii_case(b"htm") || name[..3].eq_ignore_ascii_case(b"bod"))
}

/// Whether a value in quotes follows with `>` in it.
fn hides_end(rest: &[u8]) -> bool {
    let mut rest = rest.iter().skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r'));
    let Some(&quote @ (b'"' | b'\'')) = rest.next() else {
        return false;
    };
    rest.find(|&&byte| byte == quote || byte == b'>') == Some(&b'>')
}
