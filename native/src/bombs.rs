//! Whether `markup.py` could take a page for a bomb. Sure when the answer is no; otherwise Python looks.

use memchr::memchr2;

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
pub fn doubtful(data: &[u8], tags: usize, tally: &Tally, nesting: &Nesting) -> bool {
    if nesting.is_plain() {
        return false;
    }
    tags > SHALLOW_TAGS
        || (tags > FEW_TAGS && tally.most_reopened(tags) > MAX_NODES)
        || (data.len() > SHORT_BYTES && may_have_many_attributes(data))
}

/// `nesting.plainly_nested`, seen in passing: every tag plainly written and closed in order. Where line ends are two bytes
/// Python sees longer tags, so half of its length counts as long here.
pub struct Nesting {
    plain: bool,
    most: usize, // elements open at once
    open: Vec<Opened>,
    blocks: usize, // tags that are neither formatting nor inline
    roots: usize,
    values: usize, // of attributes, without double quotes
}

struct Opened {
    name: u128,
    formatting: bool,
    blocks: usize,
}

const PLAIN_TAG: usize = MAX_TAG / 2;
const PLAIN_ROOTS: usize = 20;
const PLAIN_VALUES: usize = 2000;

impl Nesting {
    /// `tags`: how many there are; `depth`: the limit of the tree.
    pub fn new(tags: usize, depth: usize) -> Nesting {
        let most = (depth / 6).saturating_sub(1); // with a list item, a paragraph, a cell in each
        Nesting { plain: tags > FEW_TAGS, most, open: Vec::new(), blocks: 0, roots: 0, values: 0 }
    }

    /// Whether it is still of use to tell it more.
    pub fn is_watched(&self) -> bool {
        self.plain
    }

    /// What is no tag, or one that has more than one reading.
    pub fn doubt(&mut self) {
        self.plain = false;
    }

    /// A comment or the like.
    pub fn declaration(&mut self, text: &str) {
        self.plain &= text.len() < PLAIN_TAG && memchr2(b'<', b'>', &text.as_bytes()[1..text.len() - 1]).is_none();
    }

    /// What stands in a script, a style sheet or a title, and how long its end tag is.
    pub fn raw_text(&mut self, text: &str, end_tag: usize) {
        self.plain &= end_tag < PLAIN_TAG && !text.contains('<');
    }

    /// Of an attribute: `name=` as written, the value with its quotes, and the byte after it.
    pub fn value(&mut self, name: &[u8], written: &[u8], after: u8) {
        let sign = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
        let named = matches!(name, [.., last, b'='] if sign(last)) && !name.contains(&b'`');
        let quoted = |quote: u8| written.first() == Some(&quote) && written.len() > 1;
        let plain = if quoted(b'"') {
            memchr2(b'<', b'>', written).is_none()
        } else {
            self.values += 1;
            let inside = if quoted(b'\'') { &written[1..written.len() - 1] } else { written };
            !inside.iter().any(|byte| b"\"'=<>`".contains(byte))
                && matches!(after, b' ' | b'\n' | b'\x0c' | b'/' | b'>')
        };
        self.plain &= named && plain && self.values <= PLAIN_VALUES;
    }

    /// A tag of so many bytes; `after`: the byte that ends its name.
    pub fn tag(&mut self, tag: Tag, flags: u32, name: &str, after: u8, length: usize, ends: bool) {
        let sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let known = name.len() <= 8 || (flags & tags::BLOCK != 0 && matches!(after, b' ' | b'>'));
        if length > PLAIN_TAG
            || !known
            || !name.bytes().all(sign)
            || matches!(tag, Tag::Iframe | Tag::Svg | Tag::Select)
            || flags & tags::UNUSUAL != 0
        {
            self.plain = false;
            return;
        }
        self.roots += usize::from(is_root(name.as_bytes()));
        let formatting = flags & tags::FORMATTING != 0;
        self.blocks += usize::from(!formatting && !is_inline(tag, name));
        if self.roots > PLAIN_ROOTS {
            self.plain = false;
        }
        if flags & tags::VOID != 0 || is_left_open(tag) {
            return;
        }
        let packed = tags::packed_long(name.as_bytes());
        if ends {
            let opened = self.open.pop();
            self.plain &=
                opened.is_some_and(|opened| opened.name == packed && (!formatting || opened.blocks == self.blocks));
            return;
        }
        self.plain &= self.open.len() < self.most;
        if !matches!(tag, Tag::Script | Tag::Style | Tag::Title | Tag::Textarea) {
            self.open.push(Opened { name: packed, formatting, blocks: self.blocks });
        }
    }

    fn is_plain(&self) -> bool {
        self.plain && self.open.iter().all(|opened| !opened.formatting || opened.blocks == self.blocks)
    }
}

/// May be left open: the next of its kind, or the end of what is around it, ends it.
fn is_left_open(tag: Tag) -> bool {
    use Tag::{Li, P, Tbody, Td, Tfoot, Th, Thead, Tr};
    matches!(tag, P | Li | Tr | Td | Th | Thead | Tbody | Tfoot)
}

fn is_inline(tag: Tag, name: &str) -> bool {
    const OTHERS: [&str; 13] =
        ["dfn", "kbd", "q", "samp", "sub", "sup", "var", "bdi", "bdo", "data", "mark", "ins", "del"];
    match tag {
        Tag::Span | Tag::Label | Tag::Abbr | Tag::Cite | Tag::Time | Tag::Wbr | Tag::Br | Tag::Img | Tag::Input => true,
        Tag::Other => OTHERS.iter().any(|known| known.eq_ignore_ascii_case(name)),
        _ => false,
    }
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
