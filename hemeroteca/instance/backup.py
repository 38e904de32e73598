"""A whole copy of the data folder while the engine writes to it.

The order makes it whole: links to the files of the search index first, then the database by SQLite's own online backup,
then all files. WARC files only grow, and files of the lake stay a while after others replaced them, so what the copied
rows point at is in the files copied after them; and an index that is a moment older than the rows catches up at the
copy's first start, as after a crash. Whatever a room keeps in the data folder is copied, but for what `LEFT_OUT` names.
The key is left out, unless it is asked for: passwords of sites lie sealed with it in the database.
"""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from django.db import connection

from hemeroteca.errors import CannotWrite, Refused
from hemeroteca.instance.folder import Instance

# What a copy does without: it belongs to processes that run, is made anew, or is copied in its own way.
LEFT_OUT = {
    "cache", "index", "logs", "spool", "engine.json", "planner.state", "processes.json", "serve.address", "secret.key",
}  # fmt: skip
_PASSING = (".draft", ".lock", ".new", ".said", ".wake")


class BackupError(Refused):
    """The copy could not be made; the message says why and what to do."""


class BackupReport(msgspec.Struct):
    files: int = 0
    bytes: int = 0


def copy(
    instance: Instance,
    target: Path,
    progress: Callable[[int, int, str], None] = lambda done, total, name: None,
    again: bool = False,
    with_key: bool = False,
) -> BackupReport:
    """`progress` gets the files copied, those in all, and the name of the next.

    `again`: what the target holds is a copy of ours that was not finished; it is made anew.
    """
    if target.exists() and any(target.iterdir()) and not again:
        raise BackupError(f"{target} is not empty; name a new folder")
    if instance.data in (target.absolute(), *target.absolute().parents):
        raise BackupError(f"{target} lies inside the data folder; name one outside it")
    copied = Instance(target)
    report = BackupReport()
    try:
        if again:
            shutil.rmtree(target)
        copied.create()
        progress(0, 1, copied.database_path.name)
        with tempfile.TemporaryDirectory(dir=instance.data, prefix="backup-") as folder:
            index = _linked_index(instance, Path(folder))
            _copy_database(copied)
            files = [*index, *_linked_rest(instance, Path(folder) / "rest")]
            files += _files(instance.warc_dir, instance.data)
            files += [(instance.data / "secret.key", Path("secret.key"))] if with_key else []
            for number, (source, place) in enumerate(files, 1):
                progress(number, len(files) + 1, place.name)
                _copy_file(source, target / place)
    except FileNotFoundError as error:
        if not target.is_dir():
            raise CannotWrite(target, error)
        raise BackupError(f"{error.filename} went while it was to be copied; try again in a new folder")
    except (OSError, sqlite3.OperationalError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise BackupError(f"the copy in {target} is not whole ({reason}); make room and try again in a new folder")
    for path in target.rglob("*"):
        if path.is_file():
            report.files += 1
            report.bytes += path.stat().st_size
    return report


def _files(folder: Path, data: Path) -> list[tuple[Path, Path]]:
    """Files below a folder, each with its place in the data folder."""
    return [(path, path.relative_to(data)) for path in sorted(folder.rglob("*")) if path.is_file()]


def _linked_rest(instance: Instance, links: Path) -> list[tuple[Path, Path]]:
    """Links to everything else the rooms keep, made in a moment, and the place of each: who compacts the lake meanwhile
    takes nothing away. Where files cannot be linked, the files themselves."""
    found = []
    for top in sorted(instance.data.iterdir()):
        passing = top.suffix in _PASSING or top.name.startswith((instance.database_path.name, "backup-"))
        if top.name in LEFT_OUT or top == instance.warc_dir or passing:
            continue
        below = _files(top, instance.data) if top.is_dir() else [(top, Path(top.name))] if top.is_file() else []
        found += [(path, place) for path, place in below if not any(part.startswith(".") for part in place.parts)]
    try:
        for path, place in found:
            (links / place).parent.mkdir(parents=True, exist_ok=True)
            os.link(path, links / place)
    except OSError as error:
        if error.errno in _NO_LINKS:
            return found
        raise
    return [(links / place, place) for _, place in found]


def _linked_index(instance: Instance, folder: Path) -> list[tuple[Path, Path]]:
    """Links to the index as it is at one moment, and the place of each; none where files cannot be linked: the copy
    then makes its own.

    The engine writes its files once and removes them when they are merged into others. Links, made in a moment, keep
    them until they are copied.
    """
    for number in range(MAX_TRIES):
        links = folder / str(number)
        try:
            if _linked(instance.index_dir, links):
                below = instance.index_dir.relative_to(instance.data)
                return [(source, below / place) for source, place in _files(links, links)]
        except FileNotFoundError:
            continue  # a file was merged into another just now
        except OSError as error:
            if error.errno in _NO_LINKS:
                return []
            raise
    return []


def _linked(source: Path, links: Path) -> bool:
    """Link every file; False when the index was committed meanwhile."""
    before = _commits(source)
    files = [path for path in source.rglob("*") if path.is_file() and path.suffix not in (".lock", ".draft", ".new")]
    for path in sorted(files, key=lambda path: path.name != NOTE):  # what it holds is noted after it holds it
        link = links / path.relative_to(source)
        link.parent.mkdir(parents=True, exist_ok=True)
        os.link(path, link)
    return _commits(source) == before


def _commits(source: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(source.rglob("meta.json"))]


MAX_TRIES = 20
NOTE = "archive.json"  # of the last capture an index holds (`engine.sinks.search_sink`)
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.EMLINK)


def _copy_database(copied: Instance) -> None:
    if connection.vendor != "sqlite":
        raise BackupError(
            "the database is PostgreSQL; copy it with pg_dump, then the folders `lake`, `thesauri` and `warc` "
            "with any tool"
        )
    connection.ensure_connection()
    destination = sqlite3.connect(copied.database_path)
    try:
        connection.connection.backup(destination)
    finally:
        destination.close()


def _copy_file(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy2(source, destination)
    except FileNotFoundError:  # the open file got its final name meanwhile
        final = source.with_name(source.name.removesuffix(".open"))
        shutil.copy2(final, destination.with_name(final.name))
