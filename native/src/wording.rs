//! What a page says, by its words: `fingerprints` of ingest/fingerprints.py and `is_stuffed` of
//! search/index/document_fields.py, in one pass each.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use foldhash::fast::FixedState;

use crate::text::{apart, gaps};

/// Of a text without the addresses in it, with its numbers but those of `own`, and of the same without any; `shown`:
/// lines that follow it.
pub fn fingerprints(text: &str, shown: &[u8], own: &HashSet<String>) -> (u64, u64) {
    let mut words = Vec::with_capacity(text.len() + shown.len());
    let mut numbers = Vec::new();
    let mut say = |text: &str| {
        apart(text.as_bytes(), &mut words, |number| {
            if !std::str::from_utf8(number).is_ok_and(|number| own.contains(number)) {
                numbers.push(b' ');
                numbers.extend_from_slice(number);
            }
        });
    };
    let mut from = 0;
    for slash in memchr::memchr_iter(b'/', text.as_bytes()) {
        if slash >= from
            && let Some(address) = address_at(text, slash)
        {
            say(&text[from..address.start]);
            from = address.end;
        }
    }
    say(&text[from..]);
    words.extend_from_slice(shown);
    let worded = hash(&words);
    (hash(&[worded.to_string().as_bytes(), &numbers].concat()), worded)
}

/// The word with its first slash there, if it is an address: `/path`, `http://host`.
fn address_at(text: &str, slash: usize) -> Option<Range<usize>> {
    let before = &text[..slash];
    let scheme = ["https:", "http:", ""].into_iter().find(|scheme| before.ends_with(scheme))?;
    let start = slash - scheme.len();
    let lead = if scheme.is_empty() { 1 } else { scheme.len() + 2 };
    if text[..start].chars().next_back().is_some_and(|sign| !is_space(sign))
        || (!scheme.is_empty() && !text[slash..].starts_with("//"))
    {
        return None;
    }
    let end = text[start..].find(is_space).map_or(text.len(), |length| start + length);
    (end - start > lead).then_some(start..end)
}

/// Whether one word makes up `share` of a text, or all different ones no more than `distinct` of `most` or fewer.
pub fn is_stuffed(text: &str, share: f64, distinct: f64, most: usize) -> bool {
    let judge = |all: usize, different: usize, often: usize| {
        all > 0 && (often as f64 >= share * all as f64 || different as f64 <= distinct * all.min(most) as f64)
    };
    // Words that share a heap make it larger and the heaps fewer: what is not stuffed by heaps is not by words.
    let mut heaps = [0_u32; 4096];
    let (mut all, mut used, mut often) = (0, 0, 0);
    words(text, |word| {
        let heap = &mut heaps[(mark(word).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize];
        *heap += 1;
        used += usize::from(*heap == 1);
        often = often.max(*heap);
        all += 1;
    });
    if !judge(all, used, often as usize) {
        return false;
    }
    let mut times: HashMap<&[u8], usize, FixedState> = HashMap::default();
    words(text, |word| *times.entry(word).or_default() += 1);
    judge(all, times.len(), times.values().copied().max().unwrap_or(0))
}

/// The first bytes of a word and its length.
fn mark(word: &[u8]) -> u64 {
    let mut first = [0; 8];
    let count = word.len().min(8);
    first[..count].copy_from_slice(&word[..count]);
    u64::from_le_bytes(first) ^ (word.len() as u64) << 56
}

fn words<'t>(text: &'t str, mut found: impl FnMut(&'t [u8])) {
    let bytes = text.as_bytes();
    if !text.is_ascii() {
        return text.split(is_space).filter(|word| !word.is_empty()).for_each(|word| found(word.as_bytes()));
    }
    let mut from = 0;
    gaps(bytes, |at| {
        if is_space(char::from(bytes[at])) {
            if from < at {
                found(&bytes[from..at]);
            }
            from = at + 1;
        }
    });
    if from < bytes.len() {
        found(&bytes[from..]);
    }
}

/// What is white space to Python.
fn is_space(sign: char) -> bool {
    sign.is_whitespace() || ('\x1c'..='\x1f').contains(&sign)
}

fn hash(said: &[u8]) -> u64 {
    u64::from_le_bytes(Blake2b::<U8>::digest(said).into())
}
