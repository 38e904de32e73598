//! Where plainly written links lead: the keys of their canonical addresses, put together as text.
//!
//! The same as `urls.links._Directory._plain` for links without escapes whose query has no parameter that `canon` might
//! drop; for any other the answer is None, and Python resolves the links of that page.

use blake2::digest::consts::U8;
use blake2::{Blake2b, Digest};

const MAX_HREF: usize = 500; // links._MAX_REMEMBERED

/// How addresses and hosts become numbers: `urls.key`.
pub fn key(data: &[u8]) -> i64 {
    i64::from_le_bytes(Blake2b::<U8>::digest(data).into())
}

/// The page whose links they are, as Python tells it.
pub struct Place<'a> {
    pub directory: &'a str, // canonical, ends with a slash
    pub host: i64,          // the key of its host
    pub page: i64,          // its own key
}

#[derive(Clone, Copy)]
pub struct Target {
    pub key: i64,
    pub host: i64,
}

pub struct Resolver<'a> {
    place: &'a Place<'a>,
    root: usize, // length of `scheme://host/`
    url: Vec<u8>,
    last_host: (Vec<u8>, i64),
}

impl<'a> Resolver<'a> {
    pub fn new(place: &'a Place<'a>) -> Option<Resolver<'a>> {
        let directory = place.directory;
        let host = directory.find("://")? + 3;
        let root = host + directory[host..].find('/')? + 1;
        directory.ends_with('/').then(|| Resolver { place, root, url: Vec::new(), last_host: (Vec::new(), 0) })
    }

    pub fn resolve(&mut self, href: &str) -> Option<Target> {
        if href.len() > MAX_HREF || href.is_empty() {
            return None;
        }
        let directory = self.place.directory.as_bytes();
        let href = href.as_bytes();
        let (href, query) = match href.iter().position(|&byte| byte == b'?') {
            Some(mark) => (&href[..mark], Some(&href[mark + 1..])),
            None => (href, None),
        };
        self.url.clear();
        let mut host = self.place.host;
        let path = if href.starts_with(b"http") {
            let site = site(href)?;
            host = self.host(&href[site.start..site.end]);
            self.url.extend_from_slice(&href[..site.end]);
            self.url.push(b'/');
            href.get(site.end + 1..).unwrap_or(b"")
        } else if let Some(path) = href.strip_prefix(b"/") {
            self.url.extend_from_slice(&directory[..self.root]);
            path
        } else {
            let mut path = href;
            let mut end = directory.len();
            while let Some(rest) = path.strip_prefix(b"../") {
                path = rest;
                end = directory[..end - 1].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
                end = end.max(self.root);
            }
            if path.len() == href.len() {
                if path.is_empty() || path.contains(&b':') {
                    return None;
                }
                path = path.strip_prefix(b"./").unwrap_or(path);
            }
            self.url.extend_from_slice(&directory[..end]);
            path
        };
        if !is_plain(path) {
            return None;
        }
        self.url.extend_from_slice(path);
        if let Some(query) = query {
            if !is_plain_query(query) {
                return None;
            }
            self.url.push(b'?');
            self.url.extend_from_slice(query);
        }
        Some(Target { key: key(&self.url), host })
    }

    fn host(&mut self, name: &[u8]) -> i64 {
        if self.last_host.0 != name {
            self.last_host = (name.to_vec(), key(name));
        }
        self.last_host.1
    }
}

/// Where the host stands in an address whose host parsing would not change: `links._PLAIN_SITE`.
fn site(href: &[u8]) -> Option<std::ops::Range<usize>> {
    let start = if href.starts_with(b"http://") {
        7
    } else if href.starts_with(b"https://") {
        8
    } else {
        return None;
    };
    let end = href[start..].iter().position(|&byte| byte == b'/').map_or(href.len(), |length| start + length);
    let mut labels = href[start..end].split(|&byte| byte == b'.').rev();
    let top = labels.next()?;
    if top.len() < 2 || !top.iter().all(u8::is_ascii_lowercase) {
        return None;
    }
    let mut below = 0;
    for label in labels {
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-');
        if label.is_empty() || label.starts_with(b"xn--") || !label.iter().all(plain) {
            return None;
        }
        below += 1;
    }
    (below > 0).then_some(start..end)
}

/// `links._PLAIN_PATH`, without escapes and dot segments.
fn is_plain(path: &[u8]) -> bool {
    let mut before = b'/';
    for (at, &byte) in path.iter().enumerate() {
        match byte {
            b'.' if before == b'/' => return false,
            b'/' if at == 0 => return false,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => {}
            b'_' | b'~' | b'.' | b'+' | b',' | b'@' | b'!' | b'*' | b'\'' | b'(' | b')' | b'=' | b'&' | b'$' | b':'
            | b'/' | b'-' => {}
            _ => return false,
        }
        before = byte;
    }
    true
}

/// Names of parameters that nobody keeps a session or a campaign in; shorter ones are no names of such, but for `sid`.
const KEPT: [&[u8]; 16] = [
    b"action", b"cat", b"date", b"lang", b"month", b"name", b"order", b"page", b"query", b"search", b"sort", b"start",
    b"title", b"type", b"view", b"year",
];

/// `links._PLAIN_QUERY`, without escapes, and all of it is kept by `canon.clean_query`.
fn is_plain_query(query: &[u8]) -> bool {
    query.split(|&byte| byte == b'&').all(|parameter| {
        let end = parameter.iter().position(|&byte| byte == b'=').unwrap_or(parameter.len());
        let name = &parameter[..end];
        let short = matches!(name.len(), 1..=3) && !name.eq_ignore_ascii_case(b"sid");
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.~!$()*+,;=:@/?-".contains(byte);
        (short && name.iter().all(u8::is_ascii_alphanumeric) || KEPT.contains(&name)) && parameter.iter().all(plain)
    })
}
