//! Reads plainly written HTML: the same `Document` that `extract/html.py` makes, without a tree.
//!
//! One pass over the bytes keeps the stack of open elements that an HTML parser would keep. Whatever would need more of
//! the standard's algorithm than that (formatting that is reopened, content moved out of tables, foreign content …), or
//! would reach a limit, gives "not plain", and Python reads the page. Python's reading is the meaning; this is a shortcut.
//! No crate is as fast: `tl` needs two thirds of the time for its tree alone, which is not the standard's.
//!
//! Besides, in the same manner: fingerprints of texts, what a focused crawl sees of pages and links, and the texts in
//! answers of wikis.

mod address;
mod attributes;
mod bombs;
mod entities;
mod focus;
mod likeness;
mod page;
mod passages;
#[cfg(feature = "python")]
mod python;
mod source;
mod styles;
mod tags;
mod targets;
mod text;
mod wording;

pub use focus::{Link, Terms, Weights, features};
pub use likeness::{simhash, without_digits};
pub use page::{Limits, mark, read};
pub use passages::{Passage, cut, unescape};
pub use source::Reason;
pub use targets::Place;
pub use wording::{fingerprints, is_stuffed};
