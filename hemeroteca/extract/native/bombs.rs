//! Whether `markup.py` could take a page for a bomb. Sure when the answer is no; otherwise Python looks.

const FEW_TAGS: usize = 1500;
const SHALLOW_TAGS: usize = 20_000;
const SHORT_BYTES: usize = 128 << 10;
const MOST_NODES: usize = 500_000;
const LONGEST_TAG: usize = 2048;
const MOST_ROOTS: usize = 100;
const MOST_HIDDEN_ENDS: usize = 40;

pub fn doubtful(data: &[u8], tags: usize) -> bool {
    tags > SHALLOW_TAGS
        || (tags > FEW_TAGS && most_reopened(data) > MOST_NODES)
        || (data.len() > SHORT_BYTES && may_have_many_attributes(data))
}

fn ends_name(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r' | b'/' | b'>')
}

/// The places just behind each `<` or `</`, and whether it was `<`.
fn names(data: &[u8]) -> impl Iterator<Item = (usize, bool)> + '_ {
    data.iter().enumerate().filter(|&(_, &byte)| byte == b'<').map(|(at, _)| {
        let end = data.get(at + 1) == Some(&b'/');
        (at + 1 + usize::from(end), !end)
    })
}

/// `markup._most_reopened` in its first, coarser form.
fn most_reopened(data: &[u8]) -> usize {
    let byte = |at: usize| data.get(at).copied().unwrap_or(b' ');
    let (mut others, mut dressed, mut carried) = (0, 0, 0);
    let mut kinds = Vec::new();
    for (at, start) in names(data) {
        let letters = [byte(at), byte(at + 1), byte(at + 2)].map(|byte| byte.to_ascii_lowercase());
        let length = match letters {
            [b'b' | b'i' | b's' | b'u', second, _] if ends_name(second) => 1,
            [b'e', b'm', third] | [b't', b't', third] if ends_name(third) => 2,
            [b'b', b'i', b'g'] => 3,
            [b'c', b'o', b'd'] | [b'f', b'o', b'n'] => 4,
            [b's', b'm', b'a'] => 5,
            [b's', b't', b'r'] => 6,
            _ => {
                others += 1;
                carried += dressed;
                continue;
            }
        };
        if start && byte(at + length) != b'>' {
            dressed += 1;
        }
        if !kinds.contains(&(letters[0], length)) {
            kinds.push((letters[0], length));
        }
    }
    3 * (kinds.len() + 1) * others + carried
}

/// `markup._may_have_many_attributes`, without its closer look.
fn may_have_many_attributes(data: &[u8]) -> bool {
    let (mut last, mut roots, mut hidden_ends) = (0, 0, 0);
    for (at, &byte) in data.iter().enumerate() {
        match byte {
            b'>' => {
                if at - last > LONGEST_TAG {
                    return true;
                }
                last = at;
            }
            b'<' => roots += usize::from(is_root(&data[at + 1..])),
            b'=' => hidden_ends += usize::from(hides_end(&data[at + 1..])),
            _ => {}
        }
    }
    data.len() - last > LONGEST_TAG || roots > MOST_ROOTS || hidden_ends > MOST_HIDDEN_ENDS
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
