"""PDF text, read in a process of its own.

A PDF library is a large body of C++ fed with strangers' files. The child has hard limits on memory and processor time;
when it dies the document says so and the crawl goes on.
"""

import re
import subprocess
import sys
from pathlib import Path

import msgspec

from hemeroteca.extract import dates, language, text
from hemeroteca.extract.document import Document
from hemeroteca.extract.readers import Content, register

_CHILD = str(Path(__file__).with_name("pdf_child.py"))
# what programs write when nobody gave a title or an author
_NOBODY_S = re.compile(
    r"\(?(?:untitled(?: document)?|unspecified|unknown|anonymous|sin t[ií]tulo|sem t[ií]tulo|sans titre|senza titolo"
    r"|ohne titel|unbenannt|an[oó]nimo|document\d*|documento\d*)\)?",
    re.IGNORECASE,
)
_BY_PRINTING = re.compile(r"Microsoft (?:Word|PowerPoint|Excel) - (.+?)(?:\.(?:docx?|pptx?|xlsx?|rtf))?", re.IGNORECASE)
_CREATED = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-]\d\d)'?(\d\d)?)?")


class _Fact(msgspec.Struct):
    """One line of the child."""

    title: str = ""
    author: str = ""
    created: str = ""
    text: str = ""
    links: list[str] = []
    note: str = ""


class PdfReader:
    """Text, title, author, date and links of a PDF."""

    def sniff(self, content: Content) -> str:
        if content.start.startswith(b"%PDF-"):
            return "pdf"
        return "pdf" if content.media_type == "application/pdf" and b"%PDF-" in content.start else ""

    def read(self, content: Content, document: Document) -> None:
        body, limits = content.body, content.limits
        if len(body) > limits.pdf_bytes:
            document.note("pdf-too-long")
            return
        limit = (limits.pdf_pages, limits.pdf_seconds, limits.text_chars, limits.links, limits.pdf_memory)
        texts: list[str] = []
        addresses: list[str] = []
        for line in _lines(body, [str(number) for number in limit], limits.pdf_seconds * 5, document):
            try:
                fact = msgspec.json.decode(line, type=_Fact)
            except msgspec.DecodeError:
                break
            document.title = document.title or _given(fact.title)[: limits.line_chars]
            document.author = document.author or _given(fact.author)[: limits.line_chars]
            document.published = document.published or _created(fact.created)
            texts.append(fact.text)
            addresses += fact.links
            if fact.note:
                document.note(fact.note)
        document.text = document.main = "\n".join(map(_tidy, texts)).strip()[: limits.text_chars]
        if not document.text and not document.notes:
            document.note("pdf-no-text")  # a scan, or nothing at all
        if not document.title:
            document.title = document.text[:200].partition("\n")[0]
        addresses += text.addresses(document.text)
        text.add_links(document, (a for a in addresses if a.startswith(("http://", "https://"))), "page", limits)
        document.language = language.detect(document.main, content.language)


def _lines(body: bytes, arguments: list[str], patience: int, document: Document) -> list[bytes]:
    command = [sys.executable, "-I", _CHILD, *arguments]
    try:
        child = subprocess.run(command, input=body, capture_output=True, timeout=patience, check=False)
        output = child.stdout
        if child.returncode:
            document.note("pdf-timeout" if child.returncode in (-9, -24) else "pdf-failed")
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        document.note("pdf-timeout")
    except OSError:
        output = b""
        document.note("pdf-failed")
    return output.splitlines()


def _tidy(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\ufffe\n", "").replace("\ufffe", "").replace("\0", "")


def _given(line: str) -> str:
    """A title or an author as somebody gave it; empty where only the program spoke."""
    line = " ".join(line.split())
    printed = _BY_PRINTING.fullmatch(line)
    line = printed[1] if printed else line
    return "" if _NOBODY_S.fullmatch(line) else line


def _created(text: str) -> int:
    """PDF's own way to write a date: D:20240131120000+01'00'."""
    match = _CREATED.match(text)
    if not match:
        return 0
    year, month, day, hour, minute, second, zone, zone_minutes = (part or "" for part in match.groups())
    moment = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}"
    return dates.to_ms(moment + (f"{zone}:{zone_minutes or '00'}" if zone else "Z"))


register(PdfReader(), priority=50)
