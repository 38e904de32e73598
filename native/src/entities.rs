//! Named character references, all of the standard's.

use std::sync::LazyLock;

use entities::ENTITIES;
use foldhash::HashMap;

static NAMED: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let complete = |written: &'static str| written.strip_prefix('&')?.strip_suffix(';');
    ENTITIES.iter().filter_map(|entity| Some((complete(entity.entity)?, entity.characters))).collect()
});

/// Those that mean a character without a semicolon, too.
static BARE: LazyLock<Vec<&str>> =
    LazyLock::new(|| ENTITIES.iter().map(|entity| &entity.entity[1..]).filter(|name| !name.ends_with(';')).collect());

/// What `name;` stands for.
pub fn named(name: &str) -> Option<&'static str> {
    match name {
        "nbsp" => Some("\u{a0}"),
        "lt" => Some("<"),
        "gt" => Some(">"),
        "amp" => Some("&"),
        _ => NAMED.get(name).copied(),
    }
}

/// The length of a name without a semicolon that `text` begins with: of any one, not of the longest.
pub fn bare(text: &str) -> Option<usize> {
    BARE.iter().find(|name| text.starts_with(**name)).map(|name| name.len())
}
