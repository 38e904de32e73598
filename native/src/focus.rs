//! What a focused crawl sees of pages and links. `focus/matcher.py`, `focus/relevance.py` and `focus/learned_scores.py` are the
//! meaning; None: the text is not plain (accents apart from their letters, addresses that are not ASCII), ask them.

use aho_corasick::{AhoCorasick, BuildError, MatchKind};

const MASK: u32 = (1 << 18) - 1; // learning.BITS
const MAX_WORDS: usize = 12; // learning.MAX_WORDS
const MAX_TEXT: usize = 300; // learning.MAX_TEXT
const MAX_PARTS: usize = 8; // of a path, of a query
const MAX_NAME: usize = 20; // letters of a part of a path that is a name

/// Terms with their weights.
pub struct Terms {
    automaton: AhoCorasick,
    terms: Vec<usize>, // of each pattern
    weights: Vec<f64>, // of each term
}

impl Terms {
    pub fn new(patterns: &[Vec<u8>], terms: Vec<usize>, weights: Vec<f64>) -> Result<Terms, BuildError> {
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(patterns)?;
        Ok(Terms { automaton, terms, weights })
    }

    /// The weights of the terms in a text, more for each further occurrence but ever less.
    pub fn sum(&self, text: &str) -> Option<f64> {
        let mut folded = Vec::with_capacity(text.len() + 2);
        fold(text, &mut folded)?;
        let mut counts = vec![0_u32; self.weights.len()];
        let mut met = Vec::new();
        for term in self.find(&folded) {
            if counts[term] == 0 {
                met.push(term);
            }
            counts[term] += 1;
        }
        Some(met.iter().fold(0.0, |sum, &term| sum + self.weights[term] * (1.0 + f64::from(counts[term]).ln())))
    }

    /// The relevance of each of several short texts.
    pub fn each<'a>(&self, texts: impl Iterator<Item = &'a str>) -> Option<Vec<f64>> {
        let mut last_met = vec![0_u32; self.weights.len()];
        let mut folded = Vec::new();
        let relevance = |(number, text)| {
            folded.clear();
            fold(text, &mut folded)?;
            let mut sum = 0.0;
            for term in self.find(&folded) {
                if last_met[term] != number {
                    last_met[term] = number;
                    sum += self.weights[term];
                }
            }
            Some(if sum == 0.0 { 0.0 } else { 1.0 - f64::exp(-sum) })
        };
        (1..).zip(texts).map(relevance).collect()
    }

    fn find<'a>(&'a self, folded: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let whole = |found: &aho_corasick::Match| folded.get(found.end()) == Some(&b' ');
        self.automaton.find_iter(folded).filter(whole).map(|found| self.terms[found.pattern().as_usize()])
    }
}

/// A link, and the page it stands on.
pub struct Link<'a> {
    pub url: &'a str,
    pub host: &'a str,
    pub anchor: &'a str,
    pub context: &'a str,
    pub parent_url: &'a str,
    pub relevance: f64, // of the page
}

/// The words of the classifier (each once, as four bytes), and the groups of a link.
pub fn features(link: &Link) -> Option<(Vec<u8>, [u32; 5])> {
    if !(link.url.is_ascii() && link.host.is_ascii() && link.parent_url.is_ascii()) {
        return None;
    }
    let (_, path, query) = parts_of(link.url);
    let (parent_host, parent_path, parent_query) = parts_of(link.parent_url);
    let mut words = Words { kept: Vec::with_capacity(48), folded: Vec::with_capacity(256) };

    let mut shape = Vec::with_capacity(64);
    shape_of(parent_path, parent_query, &mut shape);
    words.add(crc32(&shape, crc32(b"p", 0)));
    words.add(crc32(&[digit(link.relevance * 5.0)], crc32(b"r", 0)));
    shape.extend_from_slice(&[b' ', digit(link.relevance * 4.0), b'>']);
    let page = crc32(&shape, 0);

    shape.clear();
    shape_of(path, query, &mut shape);
    let own = link.host.as_bytes();
    let mut kin = Vec::with_capacity(32);
    without_numbers(own.split(|&byte| byte == b'.').next().unwrap_or(b""), b"", &mut kin);
    let edge = |byte: &u8| matches!(byte, b'-' | b'_');
    let begin = kin.iter().position(|byte| !edge(byte)).unwrap_or(kin.len());
    let end = kin.iter().rposition(|byte| !edge(byte)).map_or(begin, |last| last + 1);
    let kin = &kin[begin..end];
    words.add(crc32(own, crc32(b"h", 0)));
    words.add(crc32(kin, 4));
    words.add(crc32(if link.host == parent_host { b"oTrue" } else { b"oFalse" }, 0));
    words.add(crc32(&shape, crc32(b"s", 0)));
    words.add(crc32(ending_of(path), crc32(b"e", 0)));
    let (under, shaped) = (crc32(&shape, page), crc32(&shape, 7));
    let groups = [shaped, under, crc32(kin, shaped), crc32(kin, under), crc32(own, under)];

    let path = &path[..path.len().min(MAX_TEXT)];
    let query = &query[..query.len().min(MAX_TEXT.saturating_sub(path.len() + 1))];
    words.add_all([cut(link.anchor)], 1)?;
    words.add_all([cut(link.context)], 2)?;
    words.add_all([path, query], 3)?;
    Some((words.kept.iter().flat_map(|word| word.to_ne_bytes()).collect(), groups))
}

/// Those of the classifier.
pub struct Weights {
    weights: Vec<f64>,
    squares: Vec<f64>,
}

impl Weights {
    #[expect(clippy::new_without_default)]
    pub fn new() -> Weights {
        let size = MASK as usize + 1;
        Weights { weights: vec![0.0; size], squares: vec![1.0; size] }
    }

    /// `start`, and the weights of the words one after the other.
    pub fn total(&self, words: &[u8], start: f64) -> f64 {
        numbers(words).fold(start, |sum, word| sum + self.weights[word])
    }

    pub fn step(&mut self, words: &[u8], error: f64, rate: f64) {
        for word in numbers(words) {
            self.squares[word] += error * error;
            self.weights[word] -= rate * error / self.squares[word].sqrt();
        }
    }
}

fn numbers(words: &[u8]) -> impl Iterator<Item = usize> + '_ {
    words.as_chunks().0.iter().map(|&word| (u32::from_ne_bytes(word) & MASK) as usize)
}

struct Words {
    kept: Vec<u32>,
    folded: Vec<u8>,
}

impl Words {
    fn add(&mut self, number: u32) {
        let number = number & MASK;
        if !self.kept.contains(&number) {
            self.kept.push(number);
        }
    }

    /// The first words of a few texts with a space between them; numbers and codes are all one word.
    fn add_all<const N: usize>(&mut self, texts: [&str; N], salt: u32) -> Option<()> {
        let mut folded = std::mem::take(&mut self.folded);
        folded.clear();
        for text in texts {
            fold(text, &mut folded)?;
        }
        let mut found = folded.split(|&byte| byte == b' ').filter(|word| !word.is_empty()).take(MAX_WORDS).peekable();
        if found.peek().is_none() {
            self.add(crc32(b"-", salt));
        }
        for word in found {
            self.add(crc32(if word.iter().any(u8::is_ascii_digit) { b"0" } else { word }, salt));
        }
        self.folded = folded;
        Some(())
    }
}

/// Its first characters.
fn cut(text: &str) -> &str {
    if text.len() <= MAX_TEXT { text } else { text.char_indices().nth(MAX_TEXT).map_or(text, |(end, _)| &text[..end]) }
}

/// A number from 0 to 9.
fn digit(number: f64) -> u8 {
    b'0' + number as u8 % 10
}

/// Small letters, and spaces between and around words.
fn fold(text: &str, folded: &mut Vec<u8>) -> Option<()> {
    folded.push(b' ');
    if text.is_ascii() {
        folded.extend(text.bytes().map(|byte| TABLE[byte as usize]));
    } else {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let mark = match (byte, &bytes[at + 1..]) {
                (0xcc, [0x80..=0x83 | 0x88 | 0xa7, ..]) => return None,
                (0xc2, [0xa0 | 0xa1 | 0xab | 0xb7 | 0xbb | 0xbf, ..]) => 2,
                (0xe2, [0x80, 0x89 | 0x93 | 0x94 | 0x98 | 0x99 | 0x9c..=0x9e | 0xa2 | 0xa6, ..]) => 3,
                _ => 0,
            };
            folded.push(if mark > 0 { b' ' } else { TABLE[byte as usize] });
            at += mark.max(1);
        }
    }
    folded.push(b' ');
    Some(())
}

/// Host, path and query of an address.
fn parts_of(url: &str) -> (&str, &str, &str) {
    let Some((_, rest)) = url.split_once("//") else { return ("", "", "") };
    let rest = rest.split('#').next().unwrap_or("");
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = before.split_at(before.find('/').unwrap_or(before.len()));
    (host, path, query)
}

fn ending_of(path: &str) -> &[u8] {
    let file = &path[path.rfind('/').map_or(0, |slash| slash + 1)..];
    file.rfind('.').map_or(b"", |dot| &file.as_bytes()[dot..file.len().min(dot + 7)])
}

/// An address without what differs between pages of one kind.
fn shape_of(path: &str, query: &str, shape: &mut Vec<u8>) {
    let last = path.bytes().filter(|&byte| byte == b'/').count().min(MAX_PARTS - 1);
    for (place, part) in path.split('/').take(MAX_PARTS).enumerate() {
        if place > 0 {
            shape.push(b'/');
        }
        let bytes = part.as_bytes();
        let parted = bytes.iter().filter(|byte| matches!(byte, b'-' | b'_')).count();
        let numbered = bytes.last().is_some_and(u8::is_ascii_digit);
        if bytes.len() > MAX_NAME || parted > 1 || (parted == 1 && place == last && numbered) {
            shape.push(b'~');
            if let Some(dot) = bytes.iter().rposition(|&byte| byte == b'.').filter(|dot| dot + 6 >= bytes.len()) {
                shape.extend_from_slice(&bytes[dot..]);
            }
        } else {
            without_numbers(bytes, b"0", shape);
        }
    }
    if query.is_empty() {
        return;
    }
    let mut names = [""; MAX_PARTS];
    let mut count = 0;
    for (name, pair) in names.iter_mut().zip(query.split('&')) {
        *name = pair.split('=').next().unwrap_or("");
        count += 1;
    }
    names[..count].sort_unstable_by(|a, b| small(a).cmp(small(b)));
    for (place, name) in names[..count].iter().enumerate() {
        shape.push(if place == 0 { b'?' } else { b'&' });
        shape.extend(small(name));
    }
}

fn small(text: &str) -> impl Iterator<Item = u8> + '_ {
    text.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// Letters and digits in a row that have a digit become `other`.
fn without_numbers(text: &[u8], other: &[u8], kept: &mut Vec<u8>) {
    for run in text.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()) {
        kept.extend_from_slice(if run.iter().any(u8::is_ascii_digit) { other } else { run });
    }
}

/// That of zlib, going on from another; four bytes at once.
fn crc32(data: &[u8], from: u32) -> u32 {
    let (fours, rest) = data.as_chunks();
    let crc = fours.iter().fold(!from, |crc, &four| {
        let [a, b, c, d] = (crc ^ u32::from_le_bytes(four)).to_le_bytes();
        CRC[3][a as usize] ^ CRC[2][b as usize] ^ CRC[1][c as usize] ^ CRC[0][d as usize]
    });
    !rest.iter().fold(crc, |crc, &byte| CRC[0][(crc as u8 ^ byte) as usize] ^ crc >> 8)
}

/// What a byte becomes with 0, 1, 2 or 3 zeros after it.
const CRC: [[u32; 256]; 4] = {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 32 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ crc >> 1 } else { crc >> 1 };
            bit += 1;
            if bit % 8 == 0 {
                tables[bit / 8 - 1][byte] = crc;
            }
        }
        byte += 1;
    }
    tables
};

const TABLE: [u8; 256] = {
    let mut table = [b' '; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            one if one.is_ascii() => {
                if one.is_ascii_alphanumeric() {
                    one.to_ascii_lowercase()
                } else {
                    b' '
                }
            }
            one @ 0x80..0x9f => one + 0x20, // the second byte of À to Þ: that of à to þ
            one => one,
        };
        byte += 1;
    }
    table
};
