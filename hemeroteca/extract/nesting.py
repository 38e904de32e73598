"""A quick and sure look at long pages: is every tag plainly written and closed in order?

Then the parser builds just the tree one sees, and the close look (`rebuild`) is not needed. Anything unusual, an
unquoted attribute or a `<` inside a script or a comment, gives False: the page is not bad, only not plain.
"""

import re

_ATTRIBUTES = rb"(?:\s++[\w:.-]++(?:\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'|[^\s\"'<>=`]++))?+)*+\s*+"
_TEXT_ONLY = (b"script", b"style", b"title", b"textarea")  # no `<` inside but that of their end tag
_UNUSUAL = rb"(?!(?:script|style|title|textarea|iframe|noembed|noframes|xmp|plaintext|svg|math|template|select)\b)"
_STRICT = re.compile(
    rb"(?:[^<]++|<(?:"
    + rb"/[a-z][a-z0-9]*+\s*+>|"
    + b"".join(name + _ATTRIBUTES + rb">[^<]*+</" + name + rb"\s*+>|" for name in _TEXT_ONLY)
    + _UNUSUAL
    + rb"[a-z][a-z0-9]*+"
    + _ATTRIBUTES
    + rb"/?+>"
    + rb"|!--(?:[^<>-]++|-(?!->))*+-->|!doctype[^<>]*+>))*+",
    re.IGNORECASE,
)
_NAME = re.compile(rb"<(/?)([a-zA-Z][a-zA-Z0-9]*+)")
_VOID = frozenset(b"area base br col embed hr img input link meta param source track wbr".split())


# Their start ends an open paragraph, and their end closes one that was left open inside.
_BLOCKS = frozenset(
    b"address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form "
    b"h1 h2 h3 h4 h5 h6 header hr li main menu nav ol p pre section table ul".split()
)


def plainly_nested(data: bytes, depth: int) -> bool:
    """Whether no more than `depth` elements are open at once, beyond doubt."""
    if _STRICT.fullmatch(data) is None:
        return False
    stack: list[bytes] = [b""]
    for end, name in _NAME.findall(data):
        name = name.lower()
        if name in _VOID:
            continue
        if stack[-1] == b"p" and name in _BLOCKS and not (end and name == b"p"):
            stack.pop()
        if not end:
            stack.append(name)
            if len(stack) > depth:
                return False
        elif stack.pop() != name:
            return False
    return True
