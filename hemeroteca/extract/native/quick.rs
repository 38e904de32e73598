//! Hashing for tables of this library: a fraction of the standard's cost on short keys. Its secrets are drawn once per
//! process, and every word passes a full multiplication with them: a page cannot choose addresses that collide.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

#[derive(Clone, Copy)]
pub struct Quick(u64, u64);

impl Default for Quick {
    fn default() -> Quick {
        static SECRETS: OnceLock<Quick> = OnceLock::new();
        *SECRETS.get_or_init(|| {
            let state = RandomState::new();
            Quick(state.hash_one(1), state.hash_one(2) | 1)
        })
    }
}

impl BuildHasher for Quick {
    type Hasher = QuickHasher;

    fn build_hasher(&self) -> QuickHasher {
        QuickHasher { sum: self.0, secret: self.1 }
    }
}

pub struct QuickHasher {
    sum: u64,
    secret: u64,
}

impl QuickHasher {
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.sum ^ word) * u128::from(self.secret);
        self.sum = (product as u64) ^ (product >> 64) as u64 ^ self.sum.rotate_left(32);
    }
}

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let mut filled = [0; 8];
            filled.copy_from_slice(word);
            self.mix(u64::from_le_bytes(filled));
        }
        let rest = words.remainder();
        let mut filled = [0; 8];
        filled[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(filled) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    fn write_i64(&mut self, number: i64) {
        self.mix(number as u64);
    }

    fn finish(&self) -> u64 {
        let product = u128::from(self.sum) * u128::from(self.secret);
        (product as u64) ^ (product >> 64) as u64
    }
}
