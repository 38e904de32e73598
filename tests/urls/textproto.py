"""Reads the robots.txt cases of Google's specification tests: just enough of the text form of protocol buffers."""

import re
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(r'\s+|#[^\n]*|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[A-Za-z_]+)|[\[\]{}:,]')
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)


@dataclass(frozen=True)
class Case:
    file: str
    robots: bytes
    url: str
    agent: str
    allowed: bool

    @property
    def name(self) -> str:
        return f"{self.file}: {self.robots!r} {self.agent} {self.url}"


def read(path: Path) -> list[Case]:
    """All cases of a file: every field with a text or a word as value, in order; an outcome ends a case."""
    cases = []
    fields: dict[str, bytes] = {}
    name = ""
    for match in _TOKEN.finditer(path.read_text()):
        if match["text"]:
            # Texts that follow each other are one, as in C.
            fields[name] = fields.get(name, b"") + _bytes(match["text"])
        elif match["word"] in ("ALLOWED", "DISALLOWED"):
            allowed = match["word"] == "ALLOWED"
            cases.append(
                Case(path.stem, fields["robotstxt"], fields["testurl"].decode(), fields["useragent"].decode(), allowed)
            )
        elif match["word"]:
            name = match["word"]
            fields.pop(name, None)
    return cases


def _bytes(literal: str) -> bytes:
    named = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
    return _ESCAPE.sub(
        lambda match: bytes.fromhex(match[1].decode()) if match[1] else named.get(match[2], match[2]),
        literal[1:-1].encode(),
    )
