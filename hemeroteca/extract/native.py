"""The compiled fast path for plainly written HTML; absent where it was not built, and nothing is missing then.

`read` gives what the page says, or None: the page is not plain (or there is no library), and `html` reads it by
itself. Built by `hatch_build.py` or `python -m hemeroteca.extract.native` with nothing but `rustc`.
"""

import ctypes
import os
from typing import Any

import msgspec

from hemeroteca.extract.document import Leads, Limits, Link, Place
from hemeroteca.extract.native.build import LIBRARY, version

OFF = "HEMEROTECA_NATIVE"  # set to 0: pages are read without it

READ_ONLY = 0x100  # PyBUF_READ
DATE, AUTHOR, LINKED_DATA = range(3)
CSS, SRCSET, REFRESH = "css", "srcset", "refresh"  # links of these kinds are still to be read: `Read.pending`


class Read(msgspec.Struct, array_like=True, gc=False):
    """What was read, in the order in which `page.rs` writes it."""

    doubtful: bool  # so long that it must be asked whether it is a bomb
    pending: bool
    title: str
    description: str
    headings: str
    text: str
    main: str | None  # None: the same as `text`
    links: list[Link]
    canonical: str | None
    base: str | None
    noindex: bool
    nofollow: bool
    noarchive: bool
    language: str  # as declared
    facts: list[tuple[int, str]]
    social_title: str  # of og:title
    cut: bool  # the text was longer than the limit
    leads: Leads | None


def _load() -> Any:
    """The library; None where it is absent, of another version, or not wanted."""
    if os.environ.get(OFF) == "0" or not LIBRARY.exists():
        return None
    try:
        library = ctypes.CDLL(str(LIBRARY))
        library.hemeroteca_version.restype = ctypes.c_char_p
        if library.hemeroteca_version() != version().encode():
            return None
        library.hemeroteca_read.restype = ctypes.c_ssize_t
        library.hemeroteca_read.argtypes = [
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.c_char_p,
            ctypes.c_size_t,
            ctypes.c_int64,
            ctypes.c_int64,
        ]
        library.hemeroteca_simhash.restype = ctypes.c_uint64
        library.hemeroteca_simhash.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_bool]
    except (OSError, AttributeError):
        return None
    return library


_library = _load()
_read = _library and _library.hemeroteca_read
_simhash = _library and _library.hemeroteca_simhash
_decode = msgspec.msgpack.Decoder(Read).decode
_view = ctypes.pythonapi.PyMemoryView_FromMemory  # nothing is copied before it is decoded
_view.restype = ctypes.py_object
_view.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_NOWHERE = Place(b"", 0, 0)
_limits: tuple[Limits | None, Any] = (None, None)


def available() -> bool:
    return _read is not None


def read(data: bytes, limits: Limits, place: Place | None = None) -> Read | None:
    """Read UTF-8 `data`; None: it is not plain. `place`: its links are resolved from there."""
    if _read is None:
        return None
    directory, host, page = place or _NOWHERE
    answer = ctypes.c_void_p()
    length = _read(data, len(data), _given(limits), answer, directory, len(directory), host, page)
    return _decode(_view(answer, length, READ_ONLY)) if length >= 0 else None


def simhash(text: bytes, digits: bool = True) -> int | None:
    """The fingerprint of a text (`search.document.simhash`); None: there is no library."""
    return _simhash(text, len(text), digits) if _simhash is not None else None


def refusal(data: bytes, limits: Limits) -> int:
    """Why it is not plain (`Reason` in `source.rs`), or 0; for those who teach the fast path more."""
    return max(0, -_read(data, len(data), _given(limits), ctypes.c_void_p(), b"", 0, 0, 0)) if _read is not None else 0


def _given(limits: Limits) -> Any:
    """The limits as an array, made once for each."""
    global _limits
    if _limits[0] is not limits:
        numbers = (
            limits.html_bytes,
            limits.html_tags,
            limits.text_chars,
            limits.line_chars,
            limits.description_chars,
            limits.headings_chars,
            limits.anchor_chars,
            limits.href_chars,
            limits.links,
            limits.css_bytes,
            limits.depth,
        )
        _limits = limits, (ctypes.c_uint64 * len(numbers))(*numbers)
    return _limits[1]
