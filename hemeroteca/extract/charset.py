"""Which character encoding a body is really in: what it says, and what its bytes allow.

Order: byte order mark, then what the bytes prove (UTF-8 with several multi-byte characters is UTF-8, whatever was
declared), then the Content-Type header, then the document's own declaration, then statistics (uchardet).
"""

import codecs
import re
from functools import lru_cache

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: it begins with the same bytes
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})", re.I)
_IN_DOCUMENT = re.compile(
    rb"<\?xml[^>]{0,200}?\sencoding\s*=\s*[\"']([\w.:+-]{1,40})"
    rb"|<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:+-]{1,40})"
    rb"|^\s*@charset\s+\"([\w.:+-]{1,40})\"",
    re.I,
)
PRESCAN = 2048  # the standard looks at 1024; comments and long headers push the tag further down
PROOF = 3  # multi-byte characters that settle that valid UTF-8 is meant


def to_text(body: bytes, content_type: str) -> tuple[str, str, str]:
    """(text, charset, note). Bytes that make no sense become U+FFFD; the note tells of a false declaration."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace"), name, ""

    match = _HEADER.search(content_type)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return _not_utf8(body, known(match[1] if match else _declared_inside(body)), error)
    if match is None and len(body) - len(text) >= PROOF:
        return text, "utf-8", ""
    declared = known(match[1] if match else _declared_inside(body))
    if declared in ("", "utf-8"):
        return text, "utf-8", ""
    if declared.startswith(("utf-16", "utf-32")):
        if b"\0" in body[:PRESCAN]:
            return body.decode(declared, "replace"), declared, ""
        return text, "utf-8", f"charset-lie:{declared}"
    if body.isascii():
        if b"\x1b" in body and declared.startswith("iso-2022"):
            return body.decode(declared, "replace"), declared, ""
        return text, declared, ""  # the same text either way
    if len(body) - len(text) >= PROOF:
        return text, "utf-8", f"charset-lie:{declared}"
    return body.decode(declared, "replace"), declared, ""


@lru_cache(1000)
def known(label: str) -> str:
    """The encoding a label means on the web (WHATWG: `latin1` is windows-1252), or empty."""
    if not label:
        return ""
    label = label.lower()
    if label.startswith(("utf-16", "utf-32")):
        try:
            return codecs.lookup(label).name
        except LookupError:
            return ""
    name = map_encoding_to_html5(label, fallback_utf8=False)
    try:
        return codecs.lookup(name).name if name else ""
    except LookupError:
        return ""


def _declared_inside(body: bytes) -> str:
    match = _IN_DOCUMENT.search(body[:PRESCAN])
    if not match:
        return ""
    label = (match[1] or match[2] or match[3]).decode("ascii", "ignore")
    # The declaration was readable as ASCII, so it cannot be true that the body is UTF-16.
    return "utf-8" if label.lower().startswith("utf-16") else label


def _not_utf8(body: bytes, declared: str, error: UnicodeDecodeError) -> tuple[str, str, str]:
    if declared and declared != "utf-8":
        if not declared.startswith(("utf-16", "utf-32")) or b"\0" in body[:PRESCAN]:
            try:
                return body.decode(declared), declared, ""
            except UnicodeDecodeError:
                pass
    else:
        # UTF-8 with a few broken characters, or cut in the middle of one: not worth a doubt.
        text = body.decode("utf-8", "replace")
        bad = text.count("\ufffd")
        whole = len(body) - len(text)  # about one for each further byte of a sound character
        if bad * 4 <= whole or error.start >= len(body) - 4:
            return text, "utf-8", "" if error.start >= len(body) - 4 else "charset-errors"
    try:
        guess = codecs.lookup(detect_encoding(body, max_len=32768) or "windows-1252").name
    except LookupError:
        guess = "cp1252"
    if guess in ("utf-8", "ascii"):
        guess = declared if declared and declared != "utf-8" else "cp1252"
    note = f"charset-lie:{declared}" if declared and declared != guess else ""
    return body.decode(guess, "replace"), guess, note
