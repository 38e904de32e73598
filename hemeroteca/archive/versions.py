"""Which captures are versions: those that differ from the one before."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from django.conf import settings

from hemeroteca.archive import queries, services
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.warc import WarcReadError, payload_digest
from hemeroteca.warc.keys import DOM

_EMPTY = payload_digest(b"")


def renumber_versions(keys: Iterable[str], folder: Path | None = None) -> None:
    """Mark as versions, among the captures filed under these keys, those that differ from the one before.

    What a browser made of a page decides where there is such a thing: the shell of a page may stay the same for years.
    Of redirects without a body it is where they lead, which stands in the WARC files of `folder`.
    """
    folder = folder or settings.INSTANCE.warc_dir
    for key in dict.fromkeys(key.removeprefix(DOM) for key in keys):
        made = (
            {(row.url, row.captured_ms): row.digest for row in queries.captures_under(DOM + key)} if ")" in key else {}
        )
        shown = {(url.removeprefix(DOM), moment): digest for (url, moment), digest in made.items()}
        _renumber(key, shown, folder)
        if made:
            _renumber(DOM + key, {}, folder)


def _renumber(key: str, shown: Mapping[tuple[str, int], str], folder: Path) -> None:
    last: dict[str, str] = {}
    led: dict[str, CaptureRow] = {}  # the last redirect without a body, by address
    known: dict[int, str] = {}  # where redirects lead
    wrong: list[tuple[bool, int]] = []
    for row in queries.captures_under(key):
        digest = shown.get((row.url, row.captured_ms), row.digest)
        waits = row.kind == "revisit" and row.refers_to is None  # nobody knows whether it brought news
        if digest == _EMPTY and row.kind == "response":
            digest = f"{digest} {row.status}"
            version = row.version or last.get(row.url) != digest
            if not version and row.status // 100 == 3 and (before := led.get(row.url)) is not None:
                version = _leads(row, folder, known) != _leads(before, folder, known)
            led[row.url] = row
        else:
            version = last.get(row.url) != digest and not waits
        if not waits:
            last[row.url] = digest
        if version != row.version:
            wrong.append((version, row.id))
    services.set_versions(wrong)


def _leads(row: CaptureRow, folder: Path, known: dict[int, str]) -> str:
    """Where a redirect leads; empty when that cannot be read."""
    if row.id not in known:
        try:
            known[row.id] = row.location(folder).read().header("location")
        except WarcReadError:
            known[row.id] = ""
    return known[row.id]
