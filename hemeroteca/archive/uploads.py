"""Files of captures that people send over the network: received in parts, whole they become an import.

A part is written at its place and made durable before it is counted, so a broken connection costs one part: whoever
sends asks how much has come and goes on there. Nothing of a file is read here; the import does that, bounded.
"""

import fcntl
import hashlib
import os
import re
import shutil
from pathlib import Path

from django.conf import settings

from hemeroteca.accounts import Actor, require
from hemeroteca.accounts.permissions import can
from hemeroteca.archive.models import IncomingFile
from hemeroteca.clock import now_ms
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.jobs import queries as jobs
from hemeroteca.jobs import services as job_services
from hemeroteca.jobs.models import Job

PART_BYTES = 768 << 10  # of one request: less than proxies take by default (nginx: 1 MiB)
MAX_UNFINISHED = 40
MAX_OF_ONE = 10  # unfinished ones of one person
MAX_NAME = 200  # bytes of a file name
KEPT_MS = 7 * 86_400_000  # after which a file that nobody goes on with is forgotten
ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz", ".wacz")


def begin(actor: Actor, name: str, size: int, digest: str = "") -> IncomingFile:
    """Announce a file. The same one again (name, size and digest) goes on where it stopped. `digest`: its SHA-256, if
    known."""
    require(actor, "archive.import")
    clean = _file_name(name)
    if not clean.lower().endswith(ENDINGS):
        raise Invalid(f"{name[:100]!r} is not a file of captures by its name; it ends with {', '.join(ENDINGS)}")
    if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise Invalid("a digest is the SHA-256 of the file, 64 hexadecimal digits")
    longest = settings.CONFIG.upload_bytes
    if not 1 <= size <= longest:
        raise Invalid(
            f"{clean} has {size:,} bytes; from 1 to {longest:,} are taken (setting `upload_bytes`). Larger files are "
            "imported on the server: `hemeroteca archive import FILE`"
        )
    _tidy()
    waiting = IncomingFile.objects.filter(job=0)
    mine = waiting.filter(actor=actor.name, owner=actor.user)
    known = mine.filter(name=clean, size=size, digest=digest).order_by("pk").first()
    if known is not None and _is_there(known):
        if known.received == known.size:  # whoever received the last part was killed before the import was ordered
            _finish(actor, known)
        return known
    if mine.count() >= MAX_OF_ONE or waiting.count() >= MAX_UNFINISHED:
        raise Conflict(
            f"{mine.count()} uploads of yours are under way, {waiting.count()} in all; finish or cancel one first"
        )
    _check_room(size + sum(one.size - one.received for one in waiting), size)
    now = now_ms()
    row = IncomingFile.objects.create(
        name=clean, size=size, digest=digest, owner=actor.user, actor=actor.name, begun_ms=now, touched_ms=now
    )
    folder = _folder() / str(row.pk)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    path_of(row).touch(mode=0o600)
    return row


def add(actor: Actor, number: int, offset: int, part: bytes) -> IncomingFile:
    """The part of a file that begins at `offset`, which must be how much has come. The last one orders the import."""
    row = find(actor, number)
    if row.job:
        raise Conflict(f"{row.name} is whole already: job {row.job} imports it")
    if not part or len(part) > PART_BYTES:
        raise Invalid(f"a part has 1 to {PART_BYTES:,} bytes, not {len(part):,}")
    _check_room(len(part), len(part))
    if not _is_there(row):
        raise _gone(number)
    with path_of(row).open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # two that send the same part come one after the other
        try:
            row.refresh_from_db()
        except IncomingFile.DoesNotExist:  # cancelled, or found with another digest, just now
            raise _gone(number)
        if row.job:
            raise Conflict(f"{row.name} is whole already: job {row.job} imports it")
        if offset != row.received:
            raise Conflict(f"{row.received:,} bytes of {row.name} have come; go on there", code="wrong-offset")
        if offset + len(part) > row.size:
            raise Invalid(f"{row.name} was announced with {row.size:,} bytes; this part would make it longer")
        file.seek(offset)
        file.write(part)
        file.flush()
        os.fdatasync(file.fileno())
        row.received, row.touched_ms = offset + len(part), now_ms()
        if not IncomingFile.objects.filter(pk=number).update(received=row.received, touched_ms=row.touched_ms):
            raise _gone(number)
        if row.received == row.size:
            _finish(actor, row)
    return row


def find(actor: Actor, number: int) -> IncomingFile:
    """One's own; administrators see those of others."""
    require(actor, "archive.import")
    row = IncomingFile.objects.filter(pk=number).first()
    if row is None or not (can(actor, "job.cancel") or (row.owner is not None and row.owner == actor.user)):
        raise _gone(number)
    return row


def listed(actor: Actor, limit: int = 50) -> list[IncomingFile]:
    require(actor, "archive.import")
    found = IncomingFile.objects.order_by("-pk")
    return list((found if can(actor, "job.cancel") else found.filter(owner=actor.user))[:limit])


def cancel(actor: Actor, number: int) -> None:
    """Forget a file that is not whole, or whose import has ended."""
    row = find(actor, number)
    if row.job and not _has_ended(row):
        raise Conflict(f"job {row.job} imports {row.name}; cancel that first")
    _forget(row)


def path_of(row: IncomingFile) -> Path:
    return _folder() / str(row.pk) / row.name


def taken(path: Path) -> None:
    """An import has read a file: if it came this way, it need not be kept."""
    if path.parent.parent == _folder() and path.parent.name.isdigit():
        shutil.rmtree(path.parent, ignore_errors=True)


def _file_name(name: str) -> str:
    """The last part of what somebody calls a file, as any disk takes it; its end stays."""
    clean = re.sub(r"[^\w.-]+", "-", Path(name.replace("\\", "/")).name)
    return clean.encode()[-MAX_NAME:].decode(errors="ignore").strip("-.")


def _is_there(row: IncomingFile) -> bool:
    """Whether what has come of a file still lies in the folder, which a restored backup does not have; else its row is
    forgotten too, and it is sent from its beginning."""
    try:
        whole = path_of(row).stat().st_size >= row.received
    except OSError:
        whole = False
    if not whole:
        _forget(row)
    return whole


def _gone(number: int) -> NotFound:
    return NotFound(f"there is no upload {number} of yours; announce the file again")


def _finish(actor: Actor, row: IncomingFile) -> None:
    if row.digest:
        with path_of(row).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != row.digest:
            _forget(row)
            raise Invalid(f"{row.name} came with another digest ({found}) than was announced; send it again")
    row.job = job_services.submit(actor, "archive.import", {"files": [str(path_of(row))]}).pk
    row.save(update_fields=["job"])


def _check_room(needed: int, size: int) -> None:
    """While it is imported the file lies there twice."""
    free = shutil.disk_usage(settings.INSTANCE.data).free
    if free - needed - size < settings.CONFIG.min_free_bytes:
        raise Conflict(
            f"the disk has {free >> 20:,} MiB free, too little to receive and import {(needed + size) >> 20:,} MiB; "
            "make room (`hemeroteca archive prune`, `archive offload`) and try again",
            code="disk-full",
        )


def _tidy() -> None:
    """Files that nobody goes on with, and those whose import ended long ago."""
    for row in IncomingFile.objects.filter(touched_ms__lt=now_ms() - KEPT_MS):
        if not row.job or _has_ended(row):
            _forget(row)


def _has_ended(row: IncomingFile) -> bool:
    job = Job.objects.filter(pk=row.job).first()
    return job is None or job.state in jobs.ENDED


def _forget(row: IncomingFile) -> None:
    row_folder = _folder() / str(row.pk)
    row.delete()
    shutil.rmtree(row_folder, ignore_errors=True)


def _folder() -> Path:
    return Path(settings.INSTANCE.data) / "incoming"
