"""A whole copy of the data folder while the engine writes to it.

The database is copied first, by SQLite's own online backup; WARC files only grow, so what the copied rows point at is
in the files copied after it. The search index is left out: the copy makes its own from the archive at its first start.
So is the key, unless it is asked for: passwords of sites lie sealed with it in the database.
"""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
from django.db import connection

from hemeroteca.errors import Refused
from hemeroteca.instance.folder import Instance


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
        _copy_database(copied)
        files = [path for path in sorted(instance.warc_dir.rglob("*")) if path.is_file()]
        files += [instance.data / "secret.key"] if with_key else []
        for number, source in enumerate(files, 1):
            progress(number, len(files) + 1, source.name)
            _copy_file(source, target / source.relative_to(instance.data))
    except OSError as error:
        raise BackupError(f"the copy in {target} is not whole ({error}); make room and try again in a new folder")
    for path in target.rglob("*"):
        if path.is_file():
            report.files += 1
            report.bytes += path.stat().st_size
    return report


def _copy_database(copied: Instance) -> None:
    if connection.vendor != "sqlite":
        raise BackupError("the database is PostgreSQL; copy it with pg_dump, then the folder `warc` with any tool")
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
