//! BLAKE2b (RFC 7693) with a digest of eight bytes and no key: how addresses and hosts become numbers (`urls.key`).

const IV: [u64; 8] = [
    0x6a09e667f3bcc908,
    0xbb67ae8584caa73b,
    0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1,
    0x510e527fade682d1,
    0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b,
    0x5be0cd19137e2179,
];
const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const ROUNDS: usize = 12;
const BLOCK: usize = 128;
const DIGEST_BYTES: u64 = 8;

/// The digest as a signed number, low byte first.
pub fn key(data: &[u8]) -> i64 {
    let mut state = IV;
    state[0] ^= 0x0101_0000 ^ DIGEST_BYTES;
    let mut rest = data;
    let mut count = 0_u64;
    while rest.len() > BLOCK {
        let (block, after) = rest.split_at(BLOCK);
        count += BLOCK as u64;
        compress(&mut state, block, count, false);
        rest = after;
    }
    let mut last = [0_u8; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    compress(&mut state, &last, count + rest.len() as u64, true);
    state[0] as i64
}

fn compress(state: &mut [u64; 8], block: &[u8], count: u64, last: bool) {
    let mut words = [0_u64; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
    }
    let mut v = [0_u64; 16];
    v[..8].copy_from_slice(state);
    v[8..].copy_from_slice(&IV);
    v[12] ^= count;
    if last {
        v[14] = !v[14];
    }
    for round in 0..ROUNDS {
        let order = &SIGMA[round % SIGMA.len()];
        mix(&mut v, [0, 4, 8, 12], words[order[0]], words[order[1]]);
        mix(&mut v, [1, 5, 9, 13], words[order[2]], words[order[3]]);
        mix(&mut v, [2, 6, 10, 14], words[order[4]], words[order[5]]);
        mix(&mut v, [3, 7, 11, 15], words[order[6]], words[order[7]]);
        mix(&mut v, [0, 5, 10, 15], words[order[8]], words[order[9]]);
        mix(&mut v, [1, 6, 11, 12], words[order[10]], words[order[11]]);
        mix(&mut v, [2, 7, 8, 13], words[order[12]], words[order[13]]);
        mix(&mut v, [3, 4, 9, 14], words[order[14]], words[order[15]]);
    }
    for (place, word) in state.iter_mut().enumerate() {
        *word ^= v[place] ^ v[place + 8];
    }
}

#[inline(always)]
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(x);
    v[d] = (v[d] ^ v[a]).rotate_right(32);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(24);
    v[a] = v[a].wrapping_add(v[b]).wrapping_add(y);
    v[d] = (v[d] ^ v[a]).rotate_right(16);
    v[c] = v[c].wrapping_add(v[d]);
    v[b] = (v[b] ^ v[c]).rotate_right(63);
}
