//! What the links of a page mean to a crawl: keys for its frontier, and edges for the link graph (`edges.edges_of`).

use super::*;
use crate::targets::{Resolver, Target};

const MOST_EDGES: usize = 150; // edges.EDGES
const LONGEST_TEXT: usize = 80;

impl Page<'_> {
    /// Writes four lists of numbers, as bytes, or nothing where a link is not plain.
    pub(super) fn pack_leads(&self, place: Option<&Place>, out: &mut Vec<u8>) {
        match place.and_then(|place| Some((place, self.targets(place)?))) {
            Some((place, targets)) => self.pack_targets(place, &targets, out),
            None => pack::nothing(out),
        }
    }

    fn targets(&self, place: &Place) -> Option<Vec<Target>> {
        if self.pending || self.base.is_some() {
            return None;
        }
        let mut resolver = Resolver::new(place)?;
        self.links.iter().map(|link| resolver.resolve(&link.href)).collect()
    }

    fn pack_targets(&self, place: &Place, targets: &[Target], out: &mut Vec<u8>) {
        let mut keys = Vec::with_capacity(targets.len() * 8);
        let (mut main, mut rest) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for (number, (link, target)) in self.links.iter().zip(targets).enumerate() {
            keys.extend(target.key.to_ne_bytes());
            if link.kind != PAGE || link.nofollow || target.key == place.page {
                continue;
            }
            if link.region == MAIN { &mut main } else { &mut rest }.push(target);
            // More bytes than characters: only short texts are counted.
            if link.text.len() > 1 && link.text.len() <= 4 * LONGEST_TEXT {
                let length = text::characters(link.text.as_bytes());
                if length > 1 && length <= LONGEST_TEXT {
                    places.extend((number as u32).to_ne_bytes());
                }
            }
        }
        let (edges, hosts) = edges(main, rest);
        pack::list(out, 4);
        for numbers in [&keys, &edges, &hosts, &places] {
            pack::bytes(out, numbers);
        }
    }
}

/// The first so many pages a page leads to, those of its own text before the others, and their hosts.
fn edges(main: Vec<&Target>, rest: Vec<&Target>) -> (Vec<u8>, Vec<u8>) {
    let mut known: HashSet<i64, Quick> = HashSet::with_capacity_and_hasher(MOST_EDGES, Quick::default());
    let (mut edges, mut hosts) = (Vec::with_capacity(8 * MOST_EDGES), Vec::with_capacity(8 * MOST_EDGES));
    for target in main.into_iter().chain(rest) {
        if known.len() == MOST_EDGES {
            break;
        }
        if known.insert(target.key) {
            edges.extend(target.key.to_ne_bytes());
            hosts.extend(target.host.to_ne_bytes());
        }
    }
    (edges, hosts)
}
