"""WACZ written and read: a ZIP file with WARC files, their index and a list of pages; it opens in ReplayWeb.page."""

import hashlib
import heapq
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from hemeroteca import __version__, extract
from hemeroteca.archive import cdx, content, zipnum
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.drafts import draft, workshop
from hemeroteca.archive.export import POSTED, Exported, Progress, write_warc
from hemeroteca.archive.selection import Selection
from hemeroteca.warc import Problem, WarcReadError, captures, keys
from hemeroteca.warc.exchanges import Exchange
from hemeroteca.warc.store import StoreUnreachableError, reading_ahead
from hemeroteca.warc.timestamps import iso

VERSION = "1.1.1"
_MAX_LIST = 16 << 20
_UNSUSPECTED, _MAX_PACKED = 256 << 20, 200  # bytes that any entry may unpack to; else so many times its packed size


def write(
    folder: Path,
    selection: Selection,
    target: Path,
    now_ms: int,
    title: str = "",
    progress: Progress | None = None,
) -> Exported:
    """A WACZ: the WARC, its index, the pages with their titles and texts (to be searched), and digests of all of it."""
    done = Exported()
    with (
        workshop(target) as work,
        draft(target) as file,
        zipfile.ZipFile(file, "w", allowZip64=True) as archive,
        reading_ahead(folder) as ahead,
    ):
        data, index, pages = (work / name for name in ("data.warc.gz", "index.cdx", "pages.jsonl"))
        with data.open("w+b") as records, index.open("w", encoding="utf-8") as lines, pages.open("w") as listed:
            listed.write(json.dumps(_PAGE_LIST) + "\n")
            last = ""
            for row, line in write_warc(records, folder, selection, data.name, now_ms, done, ahead, dressed=True):
                rest = {name: line[name] for name in (*cdx.FIELDS[2:], *POSTED) if name in line}
                lines.write(f"{line['urlkey']} {line['timestamp']} {json.dumps(rest)}\n")
                # of an export that begins in the middle of a version, that version too
                if (row.version or row.urlkey != last) and _is_page(row, line):
                    listed.write(json.dumps(_page(folder, row)) + "\n")
                last = row.urlkey
                if progress:
                    progress(done.captures)
        resources = [_add(archive, data, "archive/data.warc.gz", zipfile.ZIP_STORED)]
        for part, compression in _indexes(index):
            resources.append(_add(archive, part, f"indexes/{part.name}", compression))
        resources.append(_add(archive, pages, "pages/pages.jsonl", zipfile.ZIP_DEFLATED))
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "software": f"Hemeroteca {__version__}",
            "created": iso(now_ms),
            "title": title or target.stem,
            "metadata": {"title": title or target.stem},  # where ReplayWeb.page looks for it
            "resources": resources,
        }
        text = json.dumps(package, indent=2).encode()
        archive.writestr("datapackage.json", text, zipfile.ZIP_DEFLATED)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        archive.writestr("datapackage-digest.json", json.dumps(digest), zipfile.ZIP_DEFLATED)
    return done


_LINES = 500_000
_PAGES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")
_PAGE_LIST = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True}


def _is_page(row: CaptureRow, line: cdx.Line) -> bool:
    if row.urlkey.endswith(")/robots.txt") or keys.MARK in row.urlkey:
        return False
    return (row.mime or line["mime"]) in _PAGES and line["status"] == "200"


def _page(folder: Path, row: CaptureRow) -> dict[str, str]:
    page = {"id": str(row.record_id), "url": row.url, "ts": iso(row.captured_ms), "title": row.url}
    try:
        copy = content.readable(folder, row)
    except StoreUnreachableError:
        raise
    except WarcReadError:
        return page
    document = extract.read(copy.body, copy.content_type, row.url)
    return page | {"title": document.title or row.url, "text": document.text}


def _indexes(lines: Path) -> list[tuple[Path, int]]:
    """The files of an index and how they are packed in the ZIP: one with all its lines, of many a file of blocks."""
    if lines.stat().st_size <= zipnum.PLAIN_BYTES:
        with lines.open("rb") as source:
            found = sorted(source)
        lines.write_bytes(b"".join(found))
        return [(lines, zipfile.ZIP_DEFLATED)]
    data, listed = lines.with_name(zipnum.DATA), lines.with_name(zipnum.LIST)
    with lines.open("rb") as source, data.open("wb") as blocks, listed.open("wb") as places, ExitStack() as stack:
        zipnum.write(_sorted(zipnum.keyed(source), lines, stack), blocks, places)
    return [(data, zipfile.ZIP_STORED), (listed, zipfile.ZIP_DEFLATED)]


def _sorted(lines: Iterable[bytes], path: Path, stack: ExitStack) -> Iterator[bytes]:
    """Lines in the order of their bytes, whatever their number: sorted in parts beside `path`, then merged."""
    rest = iter(lines)
    parts: list[Path] = []
    while part := list(islice(rest, _LINES)):
        parts.append(path.with_name(f"{path.name}.{len(parts)}"))
        parts[-1].write_bytes(b"".join(sorted(part)))
    return heapq.merge(*(stack.enter_context(part.open("rb")) for part in parts))


def _add(archive: zipfile.ZipFile, path: Path, name: str, compression: int) -> dict[str, str | int]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    archive.write(path, name, compression)
    return {"name": name.rpartition("/")[2], "path": name, "hash": f"sha256:{digest}", "bytes": path.stat().st_size}


def read(path: Path, name: str, spool: Path, max_payload: int, deep: bool = True) -> Iterator[Exchange | Problem]:
    """`deep`: a WACZ of several (`multi-wacz-package`) holds others, which hold none."""
    try:
        with zipfile.ZipFile(path) as archive:
            stated = _stated_digests(archive)
            entries = [entry for entry in archive.infolist() if _is_warc(entry.filename)]
            inner = [entry for entry in archive.infolist() if entry.filename.lower().endswith(".wacz")]
            if not entries and not inner:
                yield Problem(name, 0, "the ZIP file holds no archive/*.warc.gz; it is not a WACZ", True)
            for missing in sorted(filter(_is_read, stated.keys() - {entry.filename for entry in entries + inner})):
                yield Problem(name, 0, f"{missing[:200]} is named in datapackage.json and is not in the file", True)
            if inner and not deep:
                yield Problem(name, 0, f"{inner[0].filename[:200]} lies in a WACZ in a WACZ and is not read", True)
                inner = []
            for entry in entries + inner:
                yield from _read_entry(archive, entry, name, stated.get(entry.filename, ""), spool, max_payload)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield Problem(name, 0, f"the WACZ cannot be read to its end ({error})", True)


def listed(path: Path) -> list[tuple[str, str, str]] | None:
    """Names, places and digests of the files of a `multi-wacz-package`; None when it is something else."""
    with path.open("rb") as file:
        text = file.read(_MAX_LIST + 1)
    try:
        data = json.loads(text.decode("utf-8-sig"))
        if len(text) > _MAX_LIST or data["profile"] not in ("multi-wacz-package", "wacz-package"):
            return None
        return [
            (str(item.get("name", "")), str(item.get("path", "")), str(item.get("hash", "")))
            for item in data["resources"]
        ]
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def read_listed(
    path: Path, found: list[tuple[str, str, str]], spool: Path, max_payload: int
) -> Iterator[Exchange | Problem]:
    """The files such a list names, as far as they lie beside it; nothing is fetched and no other folder is opened."""
    for name, place, stated in found:
        known = [PurePosixPath(urlsplit(text).path).name for text in (place, name)]
        file = next((path.parent / one for one in known if one and (path.parent / one).is_file()), None)
        if file is None:
            reason = f"{(place or name)[:200]} is named here and does not lie beside this file; put it there"
            yield Problem(path.name, 0, reason, True)
            continue
        label = f"{path.name}/{file.name}"
        if stated and stated.removeprefix("sha256:") != _digest_of(file):
            yield Problem(label, 0, f"the file is not the one that {path.name} describes (digest)", False)
        yield from read(file, label, spool, max_payload)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, outer: str, stated: str, spool: Path, max_payload: int
) -> Iterator[Exchange | Problem]:
    name = f"{outer}/{PurePosixPath(entry.filename).name}"
    with tempfile.NamedTemporaryFile(dir=spool, prefix="import-") as copy:
        hasher = hashlib.sha256()
        try:
            with archive.open(entry) as source:
                while data := source.read(1 << 20):
                    hasher.update(data)
                    copy.write(data)
                    if copy.tell() > max(_UNSUSPECTED, entry.compress_size * _MAX_PACKED):
                        raise zipfile.BadZipFile(f"it unpacks to more than {_MAX_PACKED} times its size")
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            yield Problem(name, 0, f"the entry is damaged ({error}); what could be unpacked was read", True)
        else:
            if stated and stated != f"sha256:{hasher.hexdigest()}":
                yield Problem(name, 0, "the entry is not the one that datapackage.json describes (digest)", False)
        copy.flush()
        if entry.filename.lower().endswith(".wacz"):
            yield from read(Path(copy.name), name, spool, max_payload, deep=False)
        else:
            yield from captures(Path(copy.name), spool, max_payload, name)


def _stated_digests(archive: zipfile.ZipFile) -> dict[str, str]:
    try:
        with archive.open("datapackage.json") as file:
            data = json.load(io.BytesIO(file.read(16 << 20)))
        return {str(item["path"]): str(item.get("hash", "")) for item in data["resources"]}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}


def _is_warc(name: str) -> bool:
    """By its end: they belong into the folder `archive`, some tools put them elsewhere."""
    return name.lower().endswith((".warc.gz", ".warc.zst", ".warc", ".arc.gz", ".arc"))


def _is_read(name: str) -> bool:
    return _is_warc(name) or name.lower().endswith(".wacz")
