"""Erasure: captures taken out for good because somebody has the right to ask for it, with reason, report and audit.

Unlike pruning it takes versions. It takes all of a selection, or of one capture also those at its address that repeat
its payload, and what browsers made of them. A capture elsewhere that repeats an erased payload stays: it gets the
payload itself before the record that held it goes. Files are written anew (`prune.rewrite`), in the folder and in the
store. Copies outside (backups, exports, other archives) cannot be reached; the report says so.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction

from hemeroteca import warc
from hemeroteca.accounts import Actor, audit, require
from hemeroteca.archive import export, prune, queries, services
from hemeroteca.archive.capture_rows import CaptureRow
from hemeroteca.archive.models import AddressCount, Erasure, IndexedCapture
from hemeroteca.archive.selection import Selection
from hemeroteca.errors import Invalid, NotFound
from hemeroteca.frontier import takedowns
from hemeroteca.plain import storable
from hemeroteca.warc.keys import DOM, SCREENSHOT, index_key
from hemeroteca.warc.writer import WarcWriter

MIN_REASON = 3
MAX_LISTED = 10_000  # captures named in a report

Progress = Callable[[int, int | None, str], object]


@dataclass(frozen=True)
class ErasureScope:
    """What is to be erased: addresses as an export takes them, or one capture."""

    urls: tuple[str, ...] = ()
    match: str = "exact"
    since: str = ""
    until: str = ""
    capture: UUID | None = None


@dataclass
class Erased:
    captures: int = 0
    addresses: int = 0
    bytes: int = 0  # of their records
    files: int = 0  # written anew
    kept: int = 0  # captures elsewhere that repeated an erased payload and now hold it themselves


def ask(actor: Actor, wanted: ErasureScope, reason: str, keep_out: bool | None = None) -> Erasure:
    """Note who wants what erased and why; the job `archive.erase` does it.

    With `keep_out` the addresses are taken down too: nothing captures them again until somebody lifts it. By default
    that is so for whole addresses, not for one capture or a span of time.
    """
    require(actor, "archive.erase")
    if len(reason.strip()) < MIN_REASON:
        raise Invalid("an erasure needs a reason: who asked for it, and why; it stays in the audit")
    if wanted.capture is None and not wanted.urls:
        raise Invalid("say what to erase: an address, a beginning of addresses, or a capture")
    found = selected(wanted)
    if not any(True for _ in found):
        raise NotFound("there is no such capture in the archive; nothing is to be erased")
    with transaction.atomic():
        row = _noted(actor, wanted, reason)
        if keep_out if keep_out is not None else not (wanted.capture or wanted.since or wanted.until):
            _take_down(actor, wanted, reason, row.pk)
    return row


def _take_down(actor: Actor, wanted: ErasureScope, reason: str, number: int) -> None:
    if wanted.capture is not None:
        one = queries.by_record(wanted.capture)
        if one is not None:
            takedowns.take_down(actor, one.url, "exact", reason, number)
    for url in wanted.urls:
        takedowns.take_down(actor, url, wanted.match, reason, number)


def _noted(actor: Actor, wanted: ErasureScope, reason: str) -> Erasure:
    audit.note(actor, "erased", ", ".join(wanted.urls) or wanted.capture, reason.strip())
    return Erasure.objects.create(
        asked_ms=time.time_ns() // 1_000_000,
        actor=actor.name,
        reason=storable(reason).strip()[:2000],
        urls=[storable(url) for url in wanted.urls],
        match=wanted.match,
        since=wanted.since,
        until=wanted.until,
        capture=wanted.capture,
    )


def recent(actor: Actor, limit: int = 50) -> list[Erasure]:
    """The audit, newest first."""
    require(actor, "archive.erase")
    return list(Erasure.objects.order_by("-pk")[:limit])


def find(number: int) -> Erasure:
    row = Erasure.objects.filter(pk=number).first()
    if row is None:
        raise NotFound(f"there is no erasure {number}")
    return row


def wanted_of(row: Erasure) -> ErasureScope:
    return ErasureScope(tuple(row.urls), row.match, row.since, row.until, row.capture)


def selected(wanted: ErasureScope) -> Iterator[CaptureRow]:
    """The captures that go."""
    if wanted.capture is None:
        plain = all("*" not in url for url in wanted.urls)
        selection = Selection(wanted.urls, wanted.match if plain else "", wanted.since, wanted.until)
        selection.check()
        yield from selection.rows()
        return
    one = queries.by_record(wanted.capture)
    if one is None:
        return
    for row in list(queries.all_rows("urlkey = %s AND capture.digest = %s", [one.urlkey, one.digest])):
        yield row
        for prefix in (DOM, SCREENSHOT):
            key = index_key(prefix + row.url)
            yield from queries.rows("urlkey = %s AND captured_ms = %s", [key, row.captured_ms], "capture.id", 10)


def erase(folder: Path, row: Erasure, found: list[CaptureRow], progress: Progress) -> Erased:
    """Take these captures out of files and index. Only while no engine runs. May be done again after a kill."""
    done = Erased(captures=len(found), addresses=len({one.urlkey for one in found if not one.url.startswith("urn:")}))
    done.bytes = sum(one.length for one in found)
    prune.finish(folder)
    moved = _keep_payloads(folder, found)
    done.kept = len(moved)
    gone: dict[str, set[int]] = {}
    for one in found:
        gone.setdefault(one.warc_name, set()).add(one.id)
    written: dict[str, set[UUID]] = {}
    for one in moved:
        written.setdefault(one.warc_name, set()).add(one.record_id)
    names = sorted(gone.keys() | written.keys())
    done.files = len(names)
    for number, name in enumerate(names):
        progress(number, len(names), name)
        prune.rewrite(folder, name, gone.get(name, set()), written.get(name, set()))
    AddressCount.objects.all().delete()
    _report(row, done, found)
    return done


def _report(row: Erasure, done: Erased, found: list[CaptureRow]) -> None:
    """Added to what was done before an interruption."""
    row.captures += done.captures
    row.addresses += done.addresses
    row.bytes += done.bytes
    row.files += done.files
    row.records = [*row.records, *(str(one.record_id) for one in found)][:MAX_LISTED]
    row.done_ms = time.time_ns() // 1_000_000
    row.save()


def _keep_payloads(folder: Path, found: list[CaptureRow]) -> list[CaptureRow]:
    """Give captures that stay and repeat an erased payload that payload; the rows as they were before."""
    ids = {one.id for one in found}
    originals = {one.record_id: one for one in found if one.kind != "revisit"}
    staying: list[CaptureRow] = []
    for start in range(0, len(originals), 400):
        part = list(originals)[start : start + 400]
        marks = ", ".join(["%s"] * len(part))
        repeats = queries.all_rows(f"refers_to IN ({marks})", [services.db_uuid(name) for name in part])
        staying += [one for one in repeats if one.id not in ids]
    if not staying:
        return []
    staying.sort(key=lambda one: (str(one.refers_to), one.captured_ms, one.id))
    writer = WarcWriter(folder, max_bytes=1 << 62, max_seconds=float("inf"))
    changes: list[tuple[CaptureRow, str, int, int, str, int, UUID | None]] = []
    with writer.all_or_nothing():
        for name, group in groupby(staying, key=lambda one: one.refers_to):
            assert name is not None
            holder: warc.Original | None = None
            source = originals[name].location(folder).read()
            for one in group:
                again = export.exchange_again(folder, one, source, holder)
                with (
                    nullcontext(warc.records(again, body_size=one.body_size))
                    if holder
                    else export.with_payload(again, source)
                ) as records:
                    target, offset = writer.append(records.source)
                if (request := export.request_of(folder, one)) is not None:
                    writer.append(request[1])
                status = source.status if holder is None and one.status == 304 else one.status
                refers_to = holder.record_id if holder is not None else None
                changes.append((one, target, offset, records.main.length, records.main.kind, status, refers_to))
                holder = holder or warc.Original(one.record_id, one.url, one.captured_ms, one.digest)
        writer.sync()
    with transaction.atomic():
        numbers = services.acknowledge(writer.sizes())
        for one, target, offset, length, kind, status, refers_to in changes:
            with services.recounted([one.id]):
                IndexedCapture.objects.filter(pk=one.id).update(
                    warc_id=numbers[target], offset=offset, length=length, kind=kind, status=status, refers_to=refers_to
                )
    services.mark_closed(writer.close())
    return staying


def still_there(urlkeys: set[str]) -> set[str]:
    """Those of these addresses that have captures left."""
    left: set[str] = set()
    with connection.cursor() as cursor:
        for key in urlkeys:
            cursor.execute("SELECT 1 FROM capture WHERE urlkey = %s LIMIT 1", [key])
            if cursor.fetchone():
                left.add(key)
    return left
