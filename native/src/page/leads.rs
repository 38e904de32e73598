//! What the links of a page mean to a crawl: keys for its frontier, edges for the link graph (`candidates.edges_of`), and
//! what of them belongs to the fingerprints of the page (`ingest.fingerprints`).

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use serde::Serialize;

use super::*;
use crate::targets::{Resolver, Target};

const MAX_EDGES: usize = 150; // candidates.EDGES
const MAX_TEXT: usize = 80;

const FURNITURE: [&[u8]; 7] = [b"css", b"js", b"mjs", b"ico", b"woff", b"woff2", b"ttf"]; // fingerprints._FURNITURE

/// As `document.Leads`.
#[derive(Serialize)]
pub(super) struct Leads {
    #[serde(with = "serde_bytes")]
    keys: Vec<u8>,
    #[serde(with = "serde_bytes")]
    edges: Vec<u8>,
    #[serde(with = "serde_bytes")]
    hosts: Vec<u8>,
    #[serde(with = "serde_bytes")]
    places: Vec<u8>,
    #[serde(with = "serde_bytes")]
    marks: Vec<u8>,
    #[serde(with = "serde_bytes")]
    pages: Vec<u8>,
    shown: String,
    named: String,
}

impl Page<'_> {
    /// None where a link is not plain.
    pub(super) fn leads(&self, place: &Place) -> Option<Leads> {
        if self.pending || self.base.is_some() {
            return None;
        }
        let mut resolver = Resolver::new(place)?;
        let targets: Vec<Target> = self.links.iter().map(|link| resolver.resolve(&link.href)).collect::<Option<_>>()?;
        let mut keys = Vec::with_capacity(targets.len() * 8);
        let (mut main, mut rest) = (Vec::new(), Vec::new());
        let (mut places, mut marks) = (Vec::new(), Vec::new());
        let mut pages = Vec::with_capacity(targets.len());
        let (mut shown, mut named) = (String::new(), String::new());
        for (number, (link, target)) in self.links.iter().zip(&targets).enumerate() {
            keys.extend(target.key.to_ne_bytes());
            pages.push(u8::from(link.kind == PAGE));
            if matches!(link.kind, REQUISITE | FRAME) && !is_furniture(link.href.as_bytes()) {
                shown.push('\n');
                shown.push_str(&link.href);
            } else if link.kind == PAGE && !link.text.contains('/') {
                named.push('\n');
                named.push_str(&link.text);
            }
            if link.kind != PAGE || link.nofollow || target.key == place.page {
                continue;
            }
            if link.region == MAIN { &mut main } else { &mut rest }.push(target);
            // More bytes than characters: only short texts are counted.
            if link.text.len() > 1 && link.text.len() <= 4 * MAX_TEXT {
                let length = text::characters(link.text.as_bytes());
                if length > 1 && length <= MAX_TEXT {
                    places.extend((number as u32).to_ne_bytes());
                    marks.extend(mark(target.key, &link.text).to_ne_bytes());
                }
            }
        }
        let (edges, hosts) = edges(main, rest);
        Some(Leads { keys, edges, hosts, places, marks, pages, shown, named })
    }
}

/// A key for a link with this text.
pub fn mark(target: i64, text: &str) -> i64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(text.as_bytes());
    target ^ hasher.finish().cast_signed()
}

/// Whether a plain address has a file extension of what is loaded and not shown.
fn is_furniture(href: &[u8]) -> bool {
    memchr::memchr_iter(b'.', href).any(|dot| {
        let rest = &href[dot + 1..];
        let end = rest.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || byte == b'_')).unwrap_or(rest.len());
        FURNITURE.iter().any(|extension| rest[..end].eq_ignore_ascii_case(extension))
    })
}

/// The first so many pages a page leads to, those of its own text before the others, and their hosts.
fn edges(main: Vec<&Target>, rest: Vec<&Target>) -> (Vec<u8>, Vec<u8>) {
    let mut known: HashSet<i64> = HashSet::default();
    let (mut edges, mut hosts) = (Vec::with_capacity(8 * MAX_EDGES), Vec::with_capacity(8 * MAX_EDGES));
    for target in main.into_iter().chain(rest) {
        if known.len() == MAX_EDGES {
            break;
        }
        if known.insert(target.key) {
            edges.extend(target.key.to_ne_bytes());
            hosts.extend(target.host.to_ne_bytes());
        }
    }
    (edges, hosts)
}
