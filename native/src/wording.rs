//! What a page says, by its words: `fingerprints` of ingest/fingerprints.py and `is_stuffed` of
//! search/index/document_fields.py, in one pass each.

use std::collections::{HashMap, HashSet};

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};
use foldhash::fast::FixedState;

/// Of a text without the addresses in it and the numbers of `own`, and of the same without any digit; `shown`: lines
/// that follow either.
pub fn fingerprints(text: &str, shown: &[u8], own: &HashSet<String>) -> (u64, u64) {
    let (mut exact, mut worded) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for token in text.split_inclusive(is_space) {
        let word = token.trim_end_matches(is_space);
        let spoken = if is_address(word) { &token[word.len()..] } else { token };
        let mut rest = spoken.as_bytes();
        while let Some(at) = rest.iter().position(u8::is_ascii_digit) {
            let (words, from) = rest.split_at(at);
            let (number, after) = from.split_at(from.iter().position(|sign| !sign.is_ascii_digit()).unwrap_or(from.len()));
            exact.extend_from_slice(words);
            worded.extend_from_slice(words);
            if own.is_empty() || !std::str::from_utf8(number).is_ok_and(|number| own.contains(number)) {
                exact.extend_from_slice(number);
            }
            rest = after;
        }
        exact.extend_from_slice(rest);
        worded.extend_from_slice(rest);
    }
    for said in [&mut exact, &mut worded] {
        said.extend_from_slice(shown);
    }
    (hash(&exact), hash(&worded))
}

/// Whether one word makes up `share` of a text, or all different ones no more than `distinct` of `most` or fewer.
pub fn is_stuffed(text: &str, share: f64, distinct: f64, most: usize) -> bool {
    let mut times: HashMap<&str, usize, FixedState> = HashMap::default();
    let mut words = 0;
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        *times.entry(word).or_default() += 1;
        words += 1;
    }
    let Some(&often) = times.values().max() else {
        return false;
    };
    often as f64 >= share * words as f64 || times.len() as f64 <= distinct * words.min(most) as f64
}

/// What is white space to Python.
fn is_space(sign: char) -> bool {
    sign.is_whitespace() || ('\x1c'..='\x1f').contains(&sign)
}

fn is_address(word: &str) -> bool {
    ["/", "http://", "https://"].iter().any(|start| word.len() > start.len() && word.starts_with(start))
}

fn hash(said: &[u8]) -> u64 {
    u64::from_le_bytes(Blake2b::<U8>::digest(said).into())
}
