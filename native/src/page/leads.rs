//! What the links of a page mean to a crawl: keys for its frontier, and edges for the link graph (`edges.edges_of`).

use serde::Serialize;

use super::*;
use crate::targets::{Resolver, Target};

const MAX_EDGES: usize = 150; // edges.EDGES
const MAX_TEXT: usize = 80;

/// Four lists of numbers, as bytes.
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
        let mut places = Vec::new();
        for (number, (link, target)) in self.links.iter().zip(&targets).enumerate() {
            keys.extend(target.key.to_ne_bytes());
            if link.kind != PAGE || link.nofollow || target.key == place.page {
                continue;
            }
            if link.region == MAIN { &mut main } else { &mut rest }.push(target);
            // More bytes than characters: only short texts are counted.
            if link.text.len() > 1 && link.text.len() <= 4 * MAX_TEXT {
                let length = text::characters(link.text.as_bytes());
                if length > 1 && length <= MAX_TEXT {
                    places.extend((number as u32).to_ne_bytes());
                }
            }
        }
        let (edges, hosts) = edges(main, rest);
        Some(Leads { keys, edges, hosts, places })
    }
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
