//! What a page says, by its words: `fingerprints` of ingest/fingerprints.py and `is_stuffed` of
//! search/index/document_fields.py, in one pass each.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use foldhash::fast::FixedState;

/// Of a text without the addresses in it and the numbers of `own`, and of the same without any digit; `shown`: lines
/// that follow either.
pub fn fingerprints(text: &str, shown: &[u8], own: &HashSet<String>) -> (u64, u64) {
    let (mut exact, mut worded) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut from = 0;
    for slash in memchr::memchr_iter(b'/', text.as_bytes()) {
        if slash >= from
            && let Some(address) = address_at(text, slash)
        {
            say(&text[from..address.start], own, &mut exact, &mut worded);
            from = address.end;
        }
    }
    say(&text[from..], own, &mut exact, &mut worded);
    for said in [&mut exact, &mut worded] {
        said.extend_from_slice(shown);
    }
    (hash(&exact), hash(&worded))
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

fn say(text: &str, own: &HashSet<String>, exact: &mut Vec<u8>, worded: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
        let (words, number) = rest.split_at(at);
        let length = number.iter().position(|sign| !sign.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(length);
        exact.extend_from_slice(words);
        worded.extend_from_slice(words);
        if !std::str::from_utf8(number).is_ok_and(|number| own.contains(number)) {
            exact.extend_from_slice(number);
        }
        rest = after;
    }
    exact.extend_from_slice(rest);
    worded.extend_from_slice(rest);
}

/// Whether one word makes up `share` of a text, or all different ones no more than `distinct` of `most` or fewer.
pub fn is_stuffed(text: &str, share: f64, distinct: f64, most: usize) -> bool {
    let (times, words) = if text.is_ascii() {
        counted(text.as_bytes().split(|&sign| is_space(char::from(sign))))
    } else {
        counted(text.split(is_space).map(str::as_bytes))
    };
    let Some(&often) = times.values().max() else {
        return false;
    };
    often as f64 >= share * words as f64 || times.len() as f64 <= distinct * words.min(most) as f64
}

/// How often each word comes, and how many words there are.
fn counted<'t>(words: impl Iterator<Item = &'t [u8]>) -> (HashMap<&'t [u8], usize, FixedState>, usize) {
    let mut times = HashMap::with_capacity_and_hasher(1024, FixedState::default());
    let mut all = 0;
    for word in words.filter(|word| !word.is_empty()) {
        *times.entry(word).or_default() += 1;
        all += 1;
    }
    (times, all)
}

/// What is white space to Python.
fn is_space(sign: char) -> bool {
    sign.is_whitespace() || ('\x1c'..='\x1f').contains(&sign)
}

fn hash(said: &[u8]) -> u64 {
    u64::from_le_bytes(Blake2b::<U8>::digest(said).into())
}
