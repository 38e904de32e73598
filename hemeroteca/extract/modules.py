"""JavaScript: what a module imports by name, `import … from "./x.js"`, `export … from`, `import "./x.js"`.

Scripts are not parsed: each place where a quoted address follows `from` or `import` is looked at, with the little
before it, so the work grows with the length of the script only. What scripts load while they run (`import(…)`) is not
found.
"""

import re
from collections.abc import Callable, Iterator

from hemeroteca.extract import text
from hemeroteca.extract.document import Document
from hemeroteca.extract.readers import Content, register

TYPES = (
    "text/javascript", "application/javascript", "application/x-javascript", "text/ecmascript",
    "application/ecmascript",
)  # fmt: skip
MAX_LOOKED_AT = 5000  # places in one script
MAX_CLAUSE = 4000  # characters between `import` and `from`: the names that are imported

_PLACE = re.compile(r"(?<![\w$.])(from|import)\s*+[\"']((?:\.{0,2}/|https?://)[^\"'`\\\s<>]{0,4000}+)[\"']")
_BEGIN = re.compile(r"(?<![\w$.])(?:import|export)(?![\w$])")
_CLAUSE = re.compile(r"[\w$\s{},*]*+")
_QUOTED_NAME = re.compile(r"\"[^\"\n]{0,100}\"|'[^'\n]{0,100}'")
_COMMENT = re.compile(r"/\*(?>(?:[^*]|\*(?!/))*)\*/|//[^\n]*+")


class ModuleReader:
    def sniff(self, content: Content) -> str:
        return "script" if content.media_type in TYPES else ""

    def read(self, content: Content, document: Document) -> None:
        body = content.body
        if len(body) > content.limits.plain_bytes:
            body = body[: content.limits.plain_bytes]
            document.note("script-cut")
        if b"import" in body or b"export" in body:
            found = imported(body.decode("utf-8", "replace"), document.note)
            text.add_links(document, found, "requisite", content.limits)


def imported(script: str, note: Callable[[str], None]) -> Iterator[str]:
    """The addresses of the modules it imports, as written, those that need no map to be understood. `note`: what was
    cut."""
    for number, place in enumerate(_PLACE.finditer(script)):
        if number == MAX_LOOKED_AT:
            note("links-cut")
            return
        begin = place.start()
        if place[1] == "from":
            before = _statement(script, begin)
            if before < 0:
                continue
            begin = before
        line = script[max(script.rfind("\n", 0, begin), begin - 200) + 1 : begin].lstrip()
        if not line.startswith(("//", "/*", "* ")):
            yield place[2]


def _statement(script: str, end: int) -> int:
    """Where the `import` or `export` begins that this `from` belongs to; -1: it belongs to none."""
    start = max(0, end - MAX_CLAUSE)
    begins = list(_BEGIN.finditer(script, start, end))
    if not begins:
        return -1
    last = begins[-1]
    clause = _QUOTED_NAME.sub("", _COMMENT.sub(" ", script[last.end() : end]))
    return last.start() if clause.strip() and _CLAUSE.fullmatch(clause) else -1


register(ModuleReader(), priority=20)
