"""How to cite a capture: in words, in Spanish or English, and as BibTeX."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from django.utils import translation
from django.utils.formats import date_format

from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.warc.timestamps import moment

WORDS = {
    "en": "{title}. {host}. Captured on {day} at {time} UTC. Hemeroteca. {permanent}. Original: {url}",
    "es": "{title}. {host}. Capturado el {day} a las {time} UTC. Hemeroteca. {permanent}. Original: {url}",
}
QUOTES = {"en": "“{}”", "es": "«{}»"}
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


class Citation(NamedTuple):
    text: str
    bibtex: str


def cite(row: CaptureRow, title: str, permanent: str, language: str) -> Citation:
    """`permanent` is the whole address of the capture; `language` is `es` or `en`."""
    captured = moment(row.captured_ms)
    name = " ".join((title or row.url).split())[:300]
    host = urlsplit(row.url).hostname or ""
    with translation.override(language):
        day = date_format(captured, "DATE_FORMAT") if captured else "?"
    time = f"{captured:%H:%M:%S}" if captured else "?"
    text = WORDS[language].format(
        title=QUOTES[language].format(name), host=host, day=day, time=time, permanent=permanent, url=row.url
    )
    fields = {
        "title": f"{{{_tex(name)}}}",
        "howpublished": rf"\url{{{_tex_url(permanent)}}}",
        "year": str(captured.year) if captured else "",
        "month": str(captured.month) if captured else "",
        "organization": _tex(host),
        "note": _tex(f"{'Capturado' if language == 'es' else 'Captured'} {captured:%Y-%m-%d} {time} UTC. ")
        + rf"Original: \url{{{_tex_url(row.url)}}}"
        if captured
        else "",
        "language": "spanish" if language == "es" else "english",
    }
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items() if value)
    return Citation(text, f"@misc{{hemeroteca-{str(row.record_id)[:13]},\n{lines}\n}}\n")


def _tex(text: str) -> str:
    return re.sub(r"[\\~^{}$&#_%]", lambda found: _SPECIAL.get(found[0], f"\\{found[0]}"), text)


def _tex_url(url: str) -> str:
    """Inside \\url only braces, the backslash and the percent sign would end or eat something."""
    return re.sub(r"[{}\\\s]", lambda found: f"%{ord(found[0]):02X}", url).replace("%", r"\%")
