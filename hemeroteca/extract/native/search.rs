//! Looking for single bytes eight at a time; most are near, so there is nothing to set up.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Where a byte first stands.
pub fn position(bytes: &[u8], wanted: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = word(bytes, at) {
        let found = equal(word, wanted);
        if found != 0 {
            return Some(at + first(found));
        }
        at += 8;
    }
    bytes[at..].iter().position(|&byte| byte == wanted).map(|rest| at + rest)
}

/// Where the next tag begins, and whether a `&` stands before it.
pub fn next_tag(bytes: &[u8]) -> (Option<usize>, bool) {
    let mut refers = false;
    let mut at = 0;
    while let Some(word) = word(bytes, at) {
        let tags = equal(word, b'<');
        let references = equal(word, b'&');
        if tags != 0 {
            // Beyond its first byte `equal` may be wrong, which is where nobody looks.
            let before = references != 0 && first(references) < first(tags);
            return (Some(at + first(tags)), refers | before);
        }
        refers |= references != 0;
        at += 8;
    }
    let tag = bytes[at..].iter().position(|&byte| {
        refers |= byte == b'&';
        byte == b'<'
    });
    (tag.map(|rest| at + rest), refers)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let mut filled = [0; 8];
    filled.copy_from_slice(bytes.get(at..at + 8)?);
    Some(u64::from_le_bytes(filled))
}

/// Not 0 where some byte is the wanted one; the lowest bit set belongs to the first such.
fn equal(word: u64, wanted: u8) -> u64 {
    let differing = word ^ ONES.wrapping_mul(u64::from(wanted));
    differing.wrapping_sub(ONES) & !differing & HIGHS
}

fn first(found: u64) -> usize {
    found.trailing_zeros() as usize / 8
}
