"""The close look at HTML that might be a bomb: written anew, measured, cut.

`rebuilt` writes every tag again with few, quoted attributes and escapes every other `<`; nothing in its result can be
taken for a tag that was not meant as one. That is what makes the measurements safe: they simulate a parser only
roughly, but never count too low, and attributes, comments and scripts have no way left to mislead them.
"""

import re

from hemeroteca.extract.document import names

FORMATTING = names("b big code em font i s small strike strong tt u")


def _bytes(text: str) -> frozenset[bytes]:
    return frozenset(text.encode().split())


_TAG = re.compile(
    rb"<!--.*?(?:-->|\Z)"
    rb"|<(/?[a-zA-Z][^\s/><\"']{0,60}+)((?:[^>\"'=]++|=\s*+\"[^\"]*+\"|=\s*+'[^']*+'|[=\"'])*+)(?:>|\Z)",
    re.S,
)
_ATTRIBUTE = re.compile(rb"([^\s\"'<>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'=<>`]++)))?")
_SIMPLE = re.compile(rb"(?:\s++[a-zA-Z][\w:.-]*+(?:=\"[^\"<>]*+\")?){0,20}+\s*+/?")
# A page of nothing but tags that can be read in one way only is its own rebuilt form. (No group is captured: in a
# possessive repetition Python 3.11 gets their places wrong.)
_CLEAN_ATTRIBUTES = rb"(?:\s++[a-zA-Z][\w:.-]*+(?:=\"[^\"<>]*+\"|='[^'<>]*+'|=[^\s\"'=<>`]++)?){0,20}+\s*+/?+"
_RAW_NAMES = (b"script", b"style", b"textarea", b"title", b"iframe", b"noembed", b"noframes", b"xmp")
_CLEAN = (  # compiled when the first doubtful page is met
    rb"(?>(?:[^<]++"  # atomic: see `nesting`
    rb"|</?(?!(?:plaintext|%s)[\s/>])[a-zA-Z][\w:-]*+%s>"
    rb"|%s"
    rb"|<!--(?>(?:[^<>-]++|-(?!->))*)-->"
    rb"|<!doctype[^<>\"']*+>)*)"
    % (
        b"|".join(_RAW_NAMES),
        _CLEAN_ATTRIBUTES,
        b"|".join(rb"<%s(?=[\s/>])%s>[^<]*+</%s\s*+>" % (name, _CLEAN_ATTRIBUTES, name) for name in _RAW_NAMES),
    )
)
_ROOT = re.compile(rb"<(?:html|body)(?=[\s/>])", re.I)
_RAW = frozenset((*_RAW_NAMES, b"plaintext"))  # text inside, no elements


def rebuilt(data: bytes, max_attributes: int) -> tuple[bytes, bool]:
    """(the page written anew, whether attributes were left out)."""
    if re.fullmatch(_CLEAN, data, re.I) and len(_ROOT.findall(data)) < 100:
        return data, False
    out: list[bytes] = []
    last = 0
    dropped = False
    roots: set[bytes] = set()
    lowered = data.lower()
    while (match := _TAG.search(data, last)) is not None:
        out.append(data[last : match.start()].replace(b"<", b"&lt;"))
        last = match.end()
        if match[1] is None:
            continue  # a comment
        name = match[1].lower()
        if name in (b"html", b"body"):  # each adds its attributes to those of the first
            if name in roots:
                continue
            roots.add(name)
        if _SIMPLE.fullmatch(match[2]):
            out.append(b"<%s%s>" % (match[1], match[2]))
        else:
            out.append(b"<" + match[1])
            for count, attribute in enumerate(_ATTRIBUTE.finditer(match[2])):
                if count == max_attributes:
                    dropped = True
                    break
                value = attribute[2] or attribute[3] or attribute[4] or b""
                out.append(b' %s="%s"' % (attribute[1], value.replace(b'"', b"&quot;").replace(b"<", b"&lt;")))
            out.append(b">")
        if name in _RAW:
            end = lowered.find(b"</" + name, last)
            end = len(data) if end < 0 else end
            out.append(data[last:end].replace(b"<", b"&lt;"))
            last = end
    out.append(data[last:].replace(b"<", b"&lt;"))
    return b"".join(out), dropped


_NAME = re.compile(rb"<(/?)([a-z][^\s/>]*+)")
# `p` is closed by any block; html, body and head by nothing.
_NEVER_INSIDE = _bytes("area base br col embed hr img input link meta param source track wbr p html body head")
_CLOSES_NEIGHBOUR = _bytes("li dd dt tr td th option")
_SCOPES = _bytes("applet caption html table td th marquee object template button select svg math foreignobject desc")
_TABLE = _bytes("table tbody thead tfoot tr td th caption")
_SPECIAL = (
    _bytes(
        "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer "
        "form frameset h1 h2 h3 h4 h5 h6 header hgroup iframe li listing main menu nav noembed noframes noscript ol "
        "pre script search section style summary textarea title ul xmp tbody thead tfoot tr"
    )
    | _SCOPES
)
REACH = 50  # open elements looked at for the one an end tag closes


def too_deep_at(data: bytes, depth: int) -> int | None:
    """Where more than `depth` elements would be open."""
    stack: list[bytes] = []
    for match in _NAME.finditer(data.lower()):
        end, name = match.groups()
        if name in _NEVER_INSIDE:
            continue
        if not end:
            if name in _CLOSES_NEIGHBOUR and stack and stack[-1] == name:
                continue
            stack.append(name)
            if len(stack) > depth:
                return match.start()
        elif stack and stack[-1] == name:
            stack.pop()
        else:
            _close(stack, name)
    return None


def _close(stack: list[bytes], name: bytes) -> None:
    for place in range(len(stack) - 1, max(-1, len(stack) - REACH), -1):
        element = stack[place]
        if element == name:
            if name == b"form":
                del stack[place]  # what lies in it stays open
            else:
                del stack[place:]
            return
        if element in _SPECIAL and name not in _SPECIAL:
            return
        if element in _SCOPES and not (name in _TABLE and element in _TABLE and element != b"table"):
            return


_FRAMES = _bytes("table td th caption applet object marquee template svg math foreignobject desc button select")
_FORMATTING_NAMES = frozenset(name.encode() for name in FORMATTING)
_FORMATTING_TAG = re.compile(rb"</?(?:%s)(?=[\s/>])[^>]*+>?" % b"|".join(sorted(_FORMATTING_NAMES)), re.I)
# An end tag gives up after eight rounds, one for each block opened since; then the element is reopened for ever.
MAX_ROUNDS = 7


def reopens_more_than(data: bytes, limit: int) -> bool:
    """Would reopened formatting elements be more than `limit`?"""
    open_now = reopened = 0
    frames: list[tuple[bytes, dict[bytes, list[int]]]] = [(b"", {})]
    for number, (end, name) in enumerate(_NAME.findall(data.lower())):
        if name in _FORMATTING_NAMES:
            opened = frames[-1][1].setdefault(name, [])
            if not end:
                opened.append(number)
                open_now += 1
            elif opened and number - opened.pop() <= MAX_ROUNDS + 1:
                open_now -= 1
            continue
        if open_now > 2:
            reopened += open_now
            if reopened > limit:
                return True
        if name in _FRAMES:
            if not end:
                frames.append((name, {}))
            elif frames[-1][0] == name:
                frames.pop()
    return False


def without_formatting(data: bytes) -> bytes:
    """All formatting tags replaced by spaces; by nothing, two halves could become a new tag."""
    return _FORMATTING_TAG.sub(b" ", data)
