"""Making HTML safe and ready for the parser: one look at the raw bytes before any tree is built.

A standard HTML parser has no bounds of its own: 20 kB can grow to a million elements (unclosed `<b i=1><b i=2>…` are
repeated in every following paragraph), and deep nesting or thousands of attributes cost quadratic time. `prepare`
cuts or defuses such input. It also puts a tab before each tag that begins or ends a block (and makes all other tabs
spaces), so that the text of the whole tree, taken in one call, falls into lines.

Whoever needs it loads it then: plain pages do not (`native`), and numpy takes longer to load than a crawl to begin.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hemeroteca.extract import bombs, nesting
from hemeroteca.extract.document import BREAK, Limits, cut, names

# Below these sizes the worst possible input costs less than a second and 200 MB, so nobody looks closer.
FEW_TAGS = 1500  # 750 unclosed elements in 750 paragraphs: half a million nodes
SHALLOW_TAGS = 20_000
SHORT_BYTES = 128 << 10
MAX_NODES = 500_000
MAX_ATTRIBUTES = 200

_BLOCKS = names(
    "p li td th tr dt dd dl ul ol hr br h1 h2 h3 h4 h5 h6 div dir dialog pre section article nav header hgroup footer "
    "form fieldset figure figcaption aside main blockquote option address details summary center caption table tbody "
    "tfoot thead body html button select legend textarea noscript search menu"
)
_INTERESTING = names(
    "area img image script style link meta base iframe frame source video audio track embed object input use time "
    "nav header footer aside main article h1 h2 h3 noscript button select option label textarea"
)


_ATTRIBUTES = [
    ("[hidden]", b"hidden"),
    ("[role]", b"role"),
    ("[aria-hidden]", b"aria-hidden"),
    ("[style]", b"style"),
    ("[background]", b"background"),
]


class Prepared:
    """HTML that is safe to parse, and what may occur in it."""

    __slots__ = ("_scan", "data")

    def __init__(self, data: bytes, scan: "_Scan") -> None:
        self.data = data
        self._scan = scan

    def selector(self) -> str:
        """Of all elements of interest but anchors; each part that is left out saves a look at every element."""
        scan = self._scan
        seen = np.zeros(1 << 15, np.bool_)
        seen[scan.codes] = True
        parts = [name for name, code in _INTERESTING_CODES if seen[code]]
        lowered = self.data.lower()
        parts += [part for part, text in _ATTRIBUTES if text in lowered]
        return ",".join(parts) or "html"


def prepare(data: bytes, limits: Limits, note: Callable[[str], None]) -> Prepared:
    """Cut and defuse UTF-8 `data`, mark its blocks. Each measure taken is noted."""
    scan = _Scan(cut(data, limits, note))
    if _suspicious(scan, limits):
        scan = _defused(scan, limits, note)
    return Prepared(_marked(scan), scan)


def suspicious(data: bytes, limits: Limits) -> bool:
    """Would `prepare` defuse this? False: the parser sees it as it is."""
    return _suspicious(_Scan(data), limits)


def _suspicious(scan: "_Scan", limits: Limits) -> bool:
    """Could it be a bomb? A cheap test that is sure when the answer is no; few honest pages are taken for one."""
    tags = len(scan.tags)
    if tags > SHALLOW_TAGS or (tags > FEW_TAGS and _most_reopened(scan) > MAX_NODES):  # may be deep
        return not nesting.plainly_nested(scan.data, limits.depth)
    return len(scan.data) > SHORT_BYTES and _may_have_many_attributes(scan)


def _defused(scan: "_Scan", limits: Limits, note: Callable[[str], None]) -> "_Scan":
    """The same page written anew, so that what is checked is what the parser will see, then cut where it must be."""
    data, dropped = bombs.rebuilt(scan.data, MAX_ATTRIBUTES)
    if dropped:
        note("attributes-cut")
    deep = bombs.too_deep_at(data, limits.depth) if len(scan.tags) > SHALLOW_TAGS else None
    if deep is not None:
        data = data[:deep]
        note("dom-too-deep")
    if bombs.reopens_more_than(data, MAX_NODES):
        data = bombs.without_formatting(data)
        note("formatting-dropped")
    return _Scan(data)


def _marked(scan: "_Scan") -> bytes:
    """A tab before each tag of a block: in place of the white space there, or put in."""
    blocks = scan.tags[_IS_BLOCK[scan.codes]]
    spaced = scan.bytes[blocks - 1] <= 32
    data = scan.bytes.copy()
    data[blocks[spaced] - 1] = ord(BREAK)
    added = blocks[~spaced]
    kept = np.ones(len(data) + len(added), np.bool_)
    kept[added + np.arange(len(added))] = False
    marked = np.full(len(kept), ord(BREAK), np.uint8)
    marked[kept] = data
    return marked.tobytes()


class _Scan:
    """Where the tags are, and the first three letters of each one's name in 15 bits."""

    __slots__ = ("bytes", "codes", "data", "names", "tags")

    def __init__(self, data: bytes) -> None:
        if b"\t" in data:
            data = data.replace(b"\t", b" ")  # tabs are ours, see above
        self.data = data
        self.bytes = np.frombuffer(data + b"    ", np.uint8)  # room to look behind the last tag
        self.tags = np.flatnonzero(self.bytes == 60)
        self.names = self.tags + 1
        self.names += self.bytes[self.names] == 47  # end tags
        self.codes = (
            _FIRST[self.bytes[self.names]] | _SECOND[self.bytes[self.names + 1]] | _THIRD[self.bytes[self.names + 2]]
        )


def _alphabet() -> NDArray[np.uint16]:
    """Five bits for each byte: letters without case, the digits of h1 to h3, the end of a name, anything else."""
    table = np.full(256, 31, np.uint16)
    for letter in range(26):
        table[97 + letter] = table[65 + letter] = letter + 1
    for digit in range(1, 4):
        table[48 + digit] = 26 + digit
    for digit in range(4, 7):
        table[48 + digit] = 30
    for end in b" \t\n\f\r/>":
        table[end] = 0
    return table


def _codes_of(name: str) -> list[int]:
    letters = [int(_THIRD[ord(c)]) for c in name[:3]]
    if len(letters) == 1:
        return [letters[0] << 10 | third for third in range(32)]
    first, second, third = (*letters, 0)[:3]
    return [first << 10 | second << 5 | third]


_THIRD = _alphabet()
_SECOND = _THIRD << 5
_FIRST = _THIRD << 10


def _table(names: Iterable[str]) -> NDArray[np.bool_]:
    table = np.zeros(1 << 15, np.bool_)
    for name in names:
        table[_codes_of(name)] = True
    return table


_IS_BLOCK = _table(_BLOCKS)
_INTERESTING_CODES = [(name, _codes_of(name)[0]) for name in _INTERESTING]


# Attributes: each new one is compared with all before it in the same tag.

_IS_ROOT = _table(("html", "body"))
_LONG_TAG = re.compile(rb"<[a-zA-Z][^>]{2048,}+")
_QUOTED = re.compile(rb"[^\s\"'=/>]=\s*+(?:\"[^\"]*+\"|'[^']*+')")
_HIDDEN_END = re.compile(rb"=\s*+(?:\"[^\">]*+>|'[^'>]*+>)")


def _may_have_many_attributes(scan: _Scan) -> bool:
    """A tag with thousands of attributes is a long stretch without `>`, or one broken only by quoted `>`."""
    ends = np.flatnonzero(scan.bytes == 62)
    if len(ends) == 0 or np.diff(ends, prepend=0, append=len(scan.data)).max() > 2048:
        for match in _LONG_TAG.finditer(scan.data):
            bare = _QUOTED.sub(b" ", match[0])
            if len(bare.replace(b"/", b" ").replace(b'"', b" ").replace(b"'", b" ").split()) > MAX_ATTRIBUTES:
                return True
    if np.count_nonzero(_IS_ROOT[scan.codes]) > 100:  # each adds its attributes to those of the first
        return True
    return next(islice(_HIDDEN_END.finditer(scan.data), 40, None), None) is not None


# Formatting: what is still open is opened again in each following block, of equal elements three at most.

_FORMATTING_LENGTHS = np.zeros(1 << 15, np.uint8)
for _name in bombs.FORMATTING:
    _FORMATTING_LENGTHS[_codes_of(_name)] = len(_name)
_PLAIN_TAG = re.compile(rb"<[a-zA-Z]++(?:\s++[a-zA-Z][\w:.-]*+(?:=\"[^\"<>]*+\")?)*+\s*+>")


def _most_reopened(scan: _Scan) -> int:
    """How many elements the parser could add by reopening, at the very most."""
    lengths = _FORMATTING_LENGTHS[scan.codes]
    formatting = lengths > 0
    after_name = scan.bytes[np.minimum(scan.names + lengths, len(scan.bytes) - 1)]
    dressed = formatting & (after_name != 62) & (scan.names == scan.tags + 1)
    others = len(scan.tags) - int(np.count_nonzero(formatting))
    kinds = np.bincount((scan.codes[formatting] >> 10) * 16 + lengths[formatting])
    bare = int(np.count_nonzero(kinds)) + 1  # `strong` and `strike` look the same here
    most = 3 * bare * others + int(np.cumsum(dressed)[~formatting].sum())
    if most <= MAX_NODES:
        return most
    # Where a tag is written plainly its text tells which are equal.
    texts: set[bytes] = set()
    odd = 0
    for at in scan.tags[dressed].tolist():
        match = _PLAIN_TAG.match(scan.data, at)
        if match:
            texts.add(match[0])
        else:
            odd += 1
    return (3 * (bare + len(texts)) + odd) * others
