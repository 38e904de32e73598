"""A quick and sure look at long pages: is every tag plainly written and closed in order?

Then the parser builds just the tree one sees, and the close look (`bombs`) is not needed. Anything unusual, an
unquoted attribute or a `<` inside a script or a comment, gives False: the page is not bad, only not plain.

Numpy does it, so a megabyte takes a few milliseconds: the places of `<`, `>`, `"` and `=` say all there is to know.
"""

import re

import numpy as np
from numpy.typing import NDArray

from hemeroteca.extract.document import names

MAX_TAG = 2048  # bytes: no room for attributes enough to be slow

_VOID = names("area base br col embed hr img input link meta param source track wbr")
_TEXT_ONLY = names("script style title textarea")  # no `<` inside but that of their end tag
_UNUSUAL = names("iframe noembed noframes xmp plaintext svg math template select frameset listing image")
# May be left open: the next of its kind, or the end of what is around it, ends it. There is one of each at most inside
# each other element. (Not `dd` too: `<li><dd><li><dd>` goes on for ever.)
_LEFT_OPEN = names("p li tr td th thead tbody tfoot")
_FORMATTING = names("a b big code em font i nobr s small strike strong tt u")  # reopened where a block cut them short
_INLINE = names("span label abbr cite dfn kbd q samp sub sup time var bdi bdo data mark ins del wbr br img input")
_ENDS_NAME = np.zeros(256, np.bool_)
_ENDS_NAME[[*b" \t\n\f\r/>"]] = True
_MARKS = bytes(1 if byte in b"<>\"'`=" else 0 for byte in range(256))
_BEFORE_SIGN = np.zeros(256, np.bool_)
_BEFORE_SIGN[[*b"abcdefghijklmnopqrstuvwxyz0123456789-_:."]] = True
_LETTER = np.zeros(256, np.bool_)
_LETTER[[*b"abcdefghijklmnopqrstuvwxyz"]] = True
_NAME = re.compile("[a-z][a-z0-9-]*")
# (Atomic, not possessive: with a look ahead inside, Python before 3.11.5 matches nothing.)
_DECLARATION = re.compile(rb"<!--(?>(?:[^>-]|-(?!->))*)-->|<!doctype[^>]*+>")
_OTHER_VALUE = re.compile(rb"[^\s\"'=<>`]++(?=[\s>])|'[^\"'=<>`]*+'(?=[\s/>])")
MAX_OTHER_VALUES = 2000
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)  # keep so many bytes of eight

_ROOTS = names("html body")  # each adds its attributes to those of the first
MAX_ROOTS = 20

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


def plainly_nested(data: bytes, depth: int) -> bool:
    """Whether no more than `depth` elements are open at once and none is ever opened again, beyond doubt."""
    if b"\0" in data:
        return False
    data = data.lower()
    raw = np.frombuffer(data + b"         ", np.uint8)  # room to look behind the last tag
    marks = np.flatnonzero(np.frombuffer(data.translate(_MARKS), np.bool_))
    kinds = raw[marks]
    brackets = np.flatnonzero((kinds == ord("<")) | (kinds == ord(">")))
    opens = kinds[brackets] == ord("<")
    if opens[-1:].any():  # cut in the middle of a tag, which the parser drops
        brackets, opens = brackets[:-1], opens[:-1]
    if not opens.any():
        return True
    if (opens[:-1] & opens[1:]).any() or opens[-1]:
        return False
    places = np.flatnonzero(opens)
    starts, ends = brackets[places], brackets[places + 1]  # a further `>` is text
    tags, tag_ends = marks[starts], marks[ends]
    if (tag_ends - tags).max() > MAX_TAG:
        return False
    is_tag = _are_tags(data, raw, tags, tag_ends)
    if is_tag is None:
        return False
    plain = _plainly_written(data, raw, marks, starts[is_tag], ends[is_tag])
    return plain and _closed_in_order(data, raw, tags[is_tag], depth)


def _are_tags(data: bytes, raw: Bytes, tags: Places, ends: Places) -> Flags | None:
    """Which are tags, not comments; None when there is something else, or a comment goes on beyond its first `>`."""
    second = raw[tags + 1]
    declarations = second == ord("!")
    for number in np.flatnonzero(declarations).tolist():
        match = _DECLARATION.match(data, tags[number])
        if match is None or match.end() != ends[number] + 1:
            return None
    is_tag = _LETTER[second] | ((second == ord("/")) & _LETTER[raw[tags + 2]])
    return is_tag if (is_tag | declarations).all() else None


def _plainly_written(data: bytes, raw: Bytes, marks: Places, starts: Places, ends: Places) -> bool:
    """Attributes only as name="value" and the like, so that the first `>` ends a tag. `starts`, `ends`: in `marks`."""
    steps = np.zeros(len(marks), np.int8)
    steps[starts], steps[ends] = 1, -1
    inside = np.cumsum(steps, dtype=np.int8).view(np.bool_)
    kinds = raw[marks]
    quotes = inside & (kinds == ord('"'))
    count = np.cumsum(quotes)
    if (count[ends] & 1).any():
        return False
    outside_values = inside & ((count - quotes) & 1 == 0)
    if (raw[marks[quotes & outside_values] - 1] != ord("=")).any():
        return False
    signs = marks[outside_values & (kinds == ord("="))]
    if not _BEFORE_SIGN[raw[signs - 1]].all():
        return False
    others = signs[raw[signs + 1] != ord('"')] + 1
    if len(others) > MAX_OTHER_VALUES or not all(_OTHER_VALUE.match(data, at) for at in others.tolist()):
        return False
    apostrophes = outside_values & ((kinds == ord("'")) | (kinds == ord("`")))
    return bool(np.count_nonzero(apostrophes) == 2 * np.count_nonzero(raw[others] == ord("'")))


def _closed_in_order(data: bytes, raw: Bytes, tags: Places, depth: int) -> bool:
    closing = raw[tags + 1] == ord("/")
    names = tags + 1 + closing
    windows = np.ndarray(shape=(len(raw) - 8,), dtype="<u8", buffer=raw, strides=(1,))[names]
    letters = windows.view(np.uint8).reshape(-1, 8)
    ending = _ENDS_NAME[letters]
    lengths = np.where(ending.any(axis=1), ending.argmax(axis=1), 8)
    long = np.flatnonzero((lengths == 8) & ~_ENDS_NAME[raw[names + 8]])
    if not {data[at : at + 11] for at in names[long].tolist()} <= _LONG_NAMES:
        return False
    codes = windows & _MASKS[lengths]
    codes[long] |= np.uint64(1 << 63)  # `blockquo` is another name
    known, numbers = np.unique(codes, return_inverse=True)
    kinds = [int(code).to_bytes(8, "little").rstrip(b"\0").decode("latin-1") for code in known.tolist()]
    if any(kind in _UNUSUAL or (kind[-1] < "\x80" and not _NAME.fullmatch(kind)) for kind in kinds):
        return False

    def those(kept: frozenset[str]) -> Flags:
        return np.array([kind in kept for kind in kinds], np.bool_)[numbers]

    if np.count_nonzero(those(_ROOTS)) > MAX_ROOTS:
        return False
    texts = np.flatnonzero(those(_TEXT_ONLY) & ~closing)
    if len(texts) and (
        texts[-1] + 1 == len(tags) or not (closing[texts + 1] & (numbers[texts + 1] == numbers[texts])).all()
    ):
        return False
    counted = np.flatnonzero(~those(_LEFT_OPEN | _VOID))
    if not len(counted):
        return True
    closes = closing[counted]
    open_after = np.cumsum(1 - 2 * closes.astype(np.int32))
    if open_after.min() < 0 or 6 * int(open_after.max()) + 6 > depth:  # with a list item, a paragraph, a cell in each
        return False
    order = np.argsort((open_after + closes).astype(np.int16), kind="stable")
    pairs = np.flatnonzero(closes[order])  # at each level, what an end tag closes stands just before it
    opened, closed = counted[order[pairs - 1]], counted[order[pairs]]
    if (numbers[opened] != numbers[closed]).any():
        return False
    formatting = those(_FORMATTING)
    around = formatting[opened]
    blocks = np.cumsum(~those(_FORMATTING | _INLINE))
    unclosed = formatting & ~closing
    unclosed[opened[around]] = False
    if (blocks[unclosed] != blocks[-1]).any():
        return False
    return bool((blocks[opened[around]] == blocks[closed[around]]).all())


_LONG_NAMES = frozenset((b"blockquote>", b"blockquote ", b"figcaption>", b"figcaption "))
