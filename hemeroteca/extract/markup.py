"""Making HTML safe and ready for the parser: one look at the raw bytes before any tree is built.

A standard HTML parser has no bounds of its own: 20 kB can grow to a million elements (unclosed `<b i=1><b i=2>…` are
repeated in every following paragraph), and deep nesting or thousands of attributes cost quadratic time. `prepare`
cuts or defuses such input. It also puts a tab before each tag that begins or ends a block (and makes all other tabs
spaces), so that the text of the whole tree, taken in one call, falls into lines.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hemeroteca.extract.document import Limits
from hemeroteca.extract.words import words

BREAK = "\t"

# Below these sizes the worst possible input still costs less than half a second and 200 MB, so nobody looks closer.
FEW_TAGS = 1500  # 750 unclosed elements in 750 paragraphs: half a million nodes
SHALLOW_TAGS = 20_000
SHORT_BYTES = 128 << 10
MAX_NODES = 500_000
MAX_ATTRIBUTES = 200

_BLOCKS = words(
    "p li td th tr dt dd dl ul ol hr br h1 h2 h3 h4 h5 h6 div dir dialog pre section article nav header hgroup footer "
    "form fieldset figure figcaption aside main blockquote option address details summary center caption table tbody "
    "tfoot thead body html button select legend textarea noscript search menu"
)
_FORMATTING = words("b big code em font i s small strike strong tt u")
_INTERESTING = words(
    "area img image script style link meta base iframe frame source video audio track embed object input use time "
    "nav header footer aside main article h1 h2 h3 noscript"
)


class Prepared:
    """HTML that is safe to parse, and which element names may occur in it."""

    __slots__ = ("_seen", "data")

    def __init__(self, data: bytes, seen: NDArray[np.bool_]) -> None:
        self.data = data
        self._seen = seen

    def names(self) -> list[str]:
        """Those of the interesting element names that may occur; saves searching the tree for the others."""
        return [name for name, code in _INTERESTING_CODES if self._seen[code]]


def prepare(data: bytes, limits: Limits, note: Callable[[str], None]) -> Prepared:
    """Cut and defuse UTF-8 `data`, mark its blocks. Each measure taken is noted."""
    if len(data) > limits.html_bytes:
        data = data[: limits.html_bytes].decode("utf-8", "ignore").encode()
        note("html-cut")
    if data.count(b"<") > limits.html_tags:
        data = data[: np.flatnonzero(np.frombuffer(data, np.uint8) == 60)[limits.html_tags]]
        note("tags-cut")
    scan = _Scan(data)
    if len(scan.data) > SHORT_BYTES and _attribute_bomb(scan):
        scan = _Scan(_rebuilt(scan.data))
        note("attributes-cut")
    if len(scan.tags) > SHALLOW_TAGS:
        scan = _not_deeper(scan, limits.depth, note)
    if len(scan.tags) > FEW_TAGS and _formatting_bomb(scan):
        scan = _Scan(_FORMATTING_TAG.sub(b" ", scan.data))
        note("formatting-dropped")

    seen = np.zeros(1 << 15, np.bool_)
    seen[scan.codes] = True
    marked = np.insert(scan.bytes, scan.tags[_IS_BLOCK[scan.codes]], ord(BREAK))
    return Prepared(marked.tobytes(), seen)


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
_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(/?[a-zA-Z][^\s/><\"']{0,60}+)((?:[^>\"'=]++|=\s*+\"[^\"]*+\"|=\s*+'[^']*+'|[=\"'])*+)(?:>|\Z)",
    re.S,
)
_ATTRIBUTE = re.compile(rb"([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'=<>`]++)))?")


def _attribute_bomb(scan: _Scan) -> bool:
    """Could a tag have thousands of attributes? Sure when the answer is no.

    Such a tag is a long stretch without `>`, or one broken only by quoted `>`.
    """
    ends = np.flatnonzero(scan.bytes == 62)
    if len(ends) == 0 or np.diff(ends, prepend=0, append=len(scan.data)).max() > 2048:
        for match in _LONG_TAG.finditer(scan.data):
            bare = _QUOTED.sub(b" ", match[0])
            if len(bare.replace(b"/", b" ").replace(b'"', b" ").replace(b"'", b" ").split()) > MAX_ATTRIBUTES:
                return True
    if np.count_nonzero(_IS_ROOT[scan.codes]) > 100:  # each adds its attributes to those of the first
        return True
    return next(islice(_HIDDEN_END.finditer(scan.data), 40, None), None) is not None


def _rebuilt(data: bytes) -> bytes:
    """The same tags written anew with few, quoted attributes; nothing else in the result can be taken for a tag."""
    out: list[bytes] = []
    last = 0
    once: set[bytes] = set()
    for match in _TAG.finditer(data):
        out.append(data[last : match.start()].replace(b"<", b"&lt;"))
        last = match.end()
        if match[1] is None:
            continue
        name = match[1].lower()
        if name in (b"html", b"body"):
            if name in once:
                continue
            once.add(name)
        out.append(b"<" + match[1])
        for count, attribute in enumerate(_ATTRIBUTE.finditer(match[2])):
            if count == MAX_ATTRIBUTES:
                break
            value = attribute[2] or attribute[3] or attribute[4] or b""
            out.append(b' %s="%s"' % (attribute[1], value.replace(b'"', b"&quot;").replace(b"<", b"&lt;")))
        out.append(b">")
    out.append(data[last:].replace(b"<", b"&lt;"))
    return b"".join(out)


# Depth: many tags make the parser climb through all open elements.

_NAME = re.compile(rb"<(/?)([a-z][^\s/>]*+)")
_SCRIPT = re.compile(rb"(<script(?=[\s/>])[^>]*+>)(?:[^<]++|<(?!/script))*+", re.I)
_VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr p".split())
_CLOSES_NEIGHBOUR = frozenset(b"li dd dt tr td th option".split())
_SCOPES = frozenset(b"applet caption html table td th marquee object template button select svg math".split())
_CLOSES_SCOPE = _SCOPES | frozenset(b"tr tbody thead tfoot".split())


def _not_deeper(scan: _Scan, depth: int, note: Callable[[str], None]) -> _Scan:
    """Cut where more than `depth` elements would be open at once."""
    if _too_deep(scan.data, depth) is None:
        return scan
    data = _SCRIPT.sub(rb"\1", scan.data)  # `a<b` in a script opens nothing
    number = _too_deep(data, depth)
    if number is None:
        return _Scan(data)
    note("dom-too-deep")
    match = next(islice(_NAME.finditer(data), number, None))
    return _Scan(data[: match.start()])


def _too_deep(data: bytes, depth: int) -> int | None:
    """The number of the tag at which the open elements, never counted too low, exceed `depth`."""
    stack: list[bytes] = []
    for number, (end, name) in enumerate(_NAME.findall(data.lower())):
        if name in _VOID:
            continue  # `p` too: a block inside closes it
        if not end:
            if name in _CLOSES_NEIGHBOUR and stack and stack[-1] == name:
                continue
            stack.append(name)
            if len(stack) > depth:
                return number
        elif stack and stack[-1] == name:
            stack.pop()
        else:
            for above in range(len(stack) - 1, max(-1, len(stack) - 50), -1):
                if stack[above] == name:
                    del stack[above:]
                    break
                if stack[above] in _SCOPES and name not in _CLOSES_SCOPE:
                    break
    return None


# Formatting: what is still open is opened again in each following block.

_FORMATTING_LENGTHS = np.zeros(1 << 15, np.uint8)
for _name in _FORMATTING:
    _FORMATTING_LENGTHS[_codes_of(_name)] = len(_name)
_FORMATTING_NAMES = frozenset(name.encode() for name in _FORMATTING)
_FORMATTING_TAG = re.compile(rb"</?(?:%s)(?=[\s/>])[^>]*+>?" % b"|".join(_FORMATTING_NAMES), re.I)
_WORD = re.compile(rb"[^\s/>]*+")
_FRAMES = words("table td th caption applet object marquee template svg math foreignobject desc title button select")
_IS_FRAME = _table(_FRAMES)


def _formatting_bomb(scan: _Scan) -> bool:
    """Could reopened formatting elements exceed what is allowed? Sure when the answer is no."""
    # Of elements with the same name and attributes at most three are reopened, so bare ones make up to 36.
    lengths = _FORMATTING_LENGTHS[scan.codes]
    bare = scan.bytes[np.minimum(scan.names + lengths, len(scan.bytes) - 1)] == 62
    dressed = np.count_nonzero((lengths > 0) & ~bare & (scan.names == scan.tags + 1))
    if (3 * len(_FORMATTING) + dressed) * len(scan.tags) <= MAX_NODES:
        return False

    events = np.flatnonzero((lengths > 0) | _IS_FRAME[scan.codes])
    open_now = reopened = last = 0
    frames: list[tuple[bytes, dict[bytes, int]]] = [(b"", {})]
    for number, at, length, end in zip(
        events.tolist(),
        scan.names[events].tolist(),
        lengths[events].tolist(),
        (scan.names != scan.tags + 1)[events].tolist(),
        strict=True,
    ):
        if open_now > 2:
            reopened += open_now * (number - last)
            if reopened > MAX_NODES:
                return True
        last = number
        name = _WORD.match(scan.data, at)[0].lower()  # type: ignore[index]
        if length and name in _FORMATTING_NAMES:
            counts = frames[-1][1]
            if not end:
                counts[name] = counts.get(name, 0) + 1
                open_now += 1
            elif counts.get(name):
                counts[name] -= 1
                open_now -= 1
        elif not end:
            frames.append((name, {}))
        elif frames[-1][0] == name:
            frames.pop()
    return reopened + open_now * (len(scan.tags) - last) > MAX_NODES
