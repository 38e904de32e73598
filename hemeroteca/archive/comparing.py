"""Two captures compared as their site's rules say: for the command line, the API and the console alike."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from hemeroteca import change, urls
from hemeroteca.archive import lookup, noise, queries, rendered
from hemeroteca.archive.values import CaptureRow
from hemeroteca.frontier import services as sites
from hemeroteca.ingest.costly import Stored
from hemeroteca.warc import DOM_TYPE, reader


class Pair(NamedTuple):
    """Two captures ready to be compared and shown."""

    old: change.Snapshot
    new: change.Snapshot
    rules: change.ChangeRules
    change: change.Change


def compare(folder: Path, old: CaptureRow, new: CaptureRow, rules: change.ChangeRules | None = None) -> Pair:
    """`rules`: instead of those of the site. Raises `WarcReadError` when the archive cannot give the bytes."""
    given = rules or rules_of(new.url)
    before, after = stored(folder, old).snapshot(), stored(folder, new).snapshot()
    known = change.NoisePlaces(noisy(new.url))
    return Pair(before, after, given, change.compare(before, after, given, known or None))


def noisy(url: str) -> list[str]:
    """Parts of the pages of its site that were learned to differ at every visit."""
    return noise.load(_host(url)).noisy()


def rules_of(url: str) -> change.ChangeRules:
    """What a person set for the site of an address."""
    comparison = sites.settings_of(_host(url)).comparison()
    return change.ChangeRules(**msgspec.structs.asdict(comparison))


def stored(folder: Path, row: CaptureRow) -> Stored:
    """Where a capture lies: what a browser made of it, where one opened it, and what was received."""
    shown = _shown(row)
    dom, picture = rendered.dom_of(shown), rendered.screenshot_of(shown)
    holder = row if dom is not None else _holder(row)
    return Stored(
        row.url,
        holder.status if row.status == 304 else row.status,
        holder.location(folder),
        holder.mime,
        dom.location(folder) if dom is not None else None,
        picture.location(folder) if picture is not None else None,
    )


def content(folder: Path, row: CaptureRow) -> tuple[bytes, str]:
    """What is read of a capture, and its media type: as in `snapshot`, without the picture."""
    if dom := rendered.dom(folder, _shown(row)):
        return dom, DOM_TYPE
    return _received(folder, _holder(row))


def _holder(row: CaptureRow) -> CaptureRow:
    holder = queries.by_record(row.refers_to) if row.refers_to else row
    if holder is None:
        raise reader.WarcReadError(f"the payload of {row.url} is not in the archive; `hemeroteca archive verify`")
    return holder


def _received(folder: Path, holder: CaptureRow) -> tuple[bytes, str]:
    record = holder.location(folder).read()
    return record.content()[0], record.header("content-type") or holder.mime


def _shown(row: CaptureRow) -> CaptureRow:
    """The capture that has what a browser made: this one, or the version it repeats (of captures before 0111)."""
    if row.version or rendered.dom_of(row) is not None:
        return row
    return lookup.version_shown(row) or row


def _host(url: str) -> str:
    try:
        return urls.host(url)
    except urls.UrlError:
        return ""
