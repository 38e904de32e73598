//! The fingerprint of a text: `simhash` of search/document.py, word by word instead of array by array.

use crate::text::{apart, gaps};

const FEW_WORDS: usize = 8;
const MANY_WORDS: usize = 512;
const CASELESS: u64 = 0x5f5f_5f5f_5f5f_5f5f;

const LOOKED_AT: usize = 100_000; // search.document.LOOKED_AT

/// The first so many characters that are no digits.
pub fn without_digits(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    apart(text, &mut kept, |_| ());
    if kept.len() > LOOKED_AT {
        let begins = |byte: &u8| byte & 0xc0 != 0x80;
        if let Some((end, _)) = kept.iter().enumerate().filter(|(_, byte)| begins(byte)).nth(LOOKED_AT) {
            kept.truncate(end);
        }
    }
    kept
}

pub fn simhash(text: &[u8]) -> u64 {
    let mut words = Vec::with_capacity(text.len() / 4);
    gaps(text, |at| words.push((window(text, at + 1) & CASELESS).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    if words.len() < FEW_WORDS {
        return 0;
    }
    if words.len() > MANY_WORDS {
        words.retain(|word| word >> 62 == 0); // the same quarter of its words on every capture
    }
    // A number for each of the 64 bits, written downwards: the first plane holds the ones, the second the twos …
    let mut planes = [0_u64; 20];
    for word in &words {
        let mut mixed = (word ^ word >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 29;
        for plane in &mut planes {
            let carried = *plane & mixed;
            *plane ^= mixed;
            mixed = carried;
            if mixed == 0 {
                break;
            }
        }
    }
    let half = words.len() / 2;
    let mut hash = 0_u64;
    for bit in 0..64 {
        let votes = planes.iter().rev().fold(0, |votes, plane| votes << 1 | (plane >> bit & 1) as usize);
        hash |= u64::from(votes > half) << bit;
    }
    hash.max(1)
}

/// Eight bytes from a place on; beyond the end there are spaces.
fn window(text: &[u8], at: usize) -> u64 {
    let rest = &text[at..];
    if let Some(&eight) = rest.first_chunk() {
        return u64::from_le_bytes(eight);
    }
    let mut bytes = [b' '; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(bytes)
}
