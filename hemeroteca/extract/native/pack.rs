//! Writing msgpack.

pub fn text(out: &mut Vec<u8>, value: &str) {
    let length = value.len();
    match length {
        0..=31 => out.push(0xa0 | length as u8),
        32..=255 => out.extend([0xd9, length as u8]),
        256..=65535 => {
            out.push(0xda);
            out.extend((length as u16).to_be_bytes());
        }
        _ => {
            out.push(0xdb);
            out.extend((length as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(value.as_bytes());
}

pub fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    out.push(0xc6);
    out.extend((value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

pub fn list(out: &mut Vec<u8>, length: usize) {
    out.push(0xdd);
    out.extend((length as u32).to_be_bytes());
}

pub fn flag(out: &mut Vec<u8>, value: bool) {
    out.push(if value { 0xc3 } else { 0xc2 });
}

pub fn nothing(out: &mut Vec<u8>) {
    out.push(0xc0);
}

/// A list of fewer than 16 values, which follow.
pub fn short_list(out: &mut Vec<u8>, length: u8) {
    out.push(0x90 | (length & 15));
}
