//! A fast path for plainly written HTML: the same `Document` that `html.py` makes, without a tree.
//!
//! One pass over the bytes keeps the stack of open elements that an HTML parser would keep. Whatever would need more of
//! the standard's algorithm than that (formatting that is reopened, content moved out of tables, foreign content …), or
//! would reach a limit, gives "not plain", and Python reads the page. Python's reading is the meaning; this is a shortcut.
//!
//! Only this file touches raw pointers.

mod address;
mod attributes;
mod blake2b;
mod bombs;
mod entities;
mod likeness;
mod nesting;
mod pack;
mod page;
mod quick;
mod search;
mod source;
mod tags;
mod targets;
mod text;

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Given by whoever compiles it: the hash of the sources. Python does not use a library of another version.
static VERSION: &str = concat!(env!("HEMEROTECA_NATIVE_VERSION"), "\0");
const PANICKED: isize = -100;
const KEPT_BUFFER: usize = 1 << 20;

thread_local! {
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[no_mangle]
pub extern "C" fn hemeroteca_version() -> *const u8 {
    VERSION.as_ptr()
}

/// Reads UTF-8 HTML. The result is the length of a msgpack array at `answer`, which stays until the next call in this
/// thread; or negative: not plain, and why (`source::Reason`).
///
/// `directory`: the canonical address of the folder the page lies in, of `directory_length` bytes, with `host`, the key of
/// its host, and `page`, the page's own; its links are then resolved as far as they are plain. Empty: they are not.
///
/// # Safety
/// `data` and `directory` point to as many bytes as is said, `limits` to as many numbers as `Limits` has, `answer` to one
/// pointer.
#[no_mangle]
pub unsafe extern "C" fn hemeroteca_read(
    data: *const u8,
    length: usize,
    limits: *const u64,
    answer: *mut *const u8,
    directory: *const u8,
    directory_length: usize,
    host: i64,
    page: i64,
) -> isize {
    if data.is_null() || limits.is_null() || answer.is_null() || directory.is_null() {
        return PANICKED;
    }
    let directory = std::str::from_utf8(std::slice::from_raw_parts(directory, directory_length)).unwrap_or("");
    let place = Some(targets::Place { directory, host, page }).filter(|place| !place.directory.is_empty());
    let data = std::slice::from_raw_parts(data, length);
    let limits = std::slice::from_raw_parts(limits, page::Limits::COUNT);
    catch_unwind(AssertUnwindSafe(|| {
        ANSWER.with(|buffer| {
            let Ok(mut buffer) = buffer.try_borrow_mut() else {
                return PANICKED;
            };
            if buffer.capacity() > KEPT_BUFFER {
                *buffer = Vec::new();
            }
            buffer.clear();
            match page::read(data, &page::Limits::new(limits), place.as_ref(), &mut buffer) {
                Ok(()) => {
                    *answer = buffer.as_ptr();
                    buffer.len() as isize
                }
                Err(reason) => -(reason as isize),
            }
        })
    }))
    .unwrap_or(PANICKED)
}

/// The fingerprint of a text; not of all of it where it is to be without its `digits`.
///
/// # Safety
/// `data` points to `length` bytes.
#[no_mangle]
pub unsafe extern "C" fn hemeroteca_simhash(data: *const u8, length: usize, digits: bool) -> u64 {
    if data.is_null() {
        return 0;
    }
    let data = std::slice::from_raw_parts(data, length);
    catch_unwind(|| if digits { likeness::simhash(data) } else { likeness::simhash(&likeness::without_digits(data)) })
        .unwrap_or(0)
}
