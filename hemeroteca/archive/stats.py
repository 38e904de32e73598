"""What the archive holds, in numbers."""

import time
from collections import Counter

import msgspec
from django.db import OperationalError, connection

from hemeroteca.archive.models import AddressCount
from hemeroteca.frontier.models import Page
from hemeroteca.warc.timestamps import timestamp

DAY_MS = 86_400_000
RECENT_DAYS = 30


class Growth(msgspec.Struct, frozen=True):
    """What comes in the next days if it goes on as in the last ones."""

    days: int
    pages: int  # met and captured for the first time
    captures: int
    bytes: int  # of their records, as they will lie in the files
    observed_days: int  # the days of which this is told


class Stats(msgspec.Struct):
    captures: int = 0
    versions: int = 0
    revisits: int = 0
    addresses: int = 0
    first_ms: int = 0  # capture; 0: there is none
    last_ms: int = 0
    received_bytes: int = 0  # bodies as they were received, each visit counted
    record_bytes: int = 0  # records of captures as they lie in the files
    repeated_bytes: int = 0  # bodies that did not have to be stored again
    files: int = 0
    file_bytes: int = 0
    media_types: dict[str, int] = {}
    statuses: dict[str, int] = {}
    years: dict[str, int] = {}
    growth: list[Growth] = []  # for 30 and 365 days; empty when nothing came of late


def stats(now_ms: int | None = None) -> Stats:
    """From counters kept with every capture; only the addresses that came since the last time are looked at."""
    found = Stats()
    media: Counter[str] = Counter()
    statuses: Counter[int] = Counter()
    years: Counter[str] = Counter()
    first, last = 1 << 62, 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT day, status, mime, kind, version, captures, body_bytes, record_bytes, first_ms, last_ms "
            "FROM capture_tally"
        )
        for day, status, mime, kind, version, captures, body, record, since, until in cursor.fetchall():
            found.captures += captures
            found.versions += captures if version else 0
            found.received_bytes += body
            found.record_bytes += record
            if kind == "revisit":
                found.revisits += captures
                found.repeated_bytes += body
            media[mime or "(none)"] += captures
            statuses[status] += captures
            years[timestamp(day * DAY_MS)[:4]] += captures
            first, last = min(first, since), max(last, until)
        cursor.execute("SELECT count(*), coalesce(sum(size), 0) FROM warc_file")
        found.files, found.file_bytes = (int(value) for value in cursor.fetchone())
    if found.captures:
        found.first_ms, found.last_ms = first, last
    found.addresses = _addresses()
    found.media_types = dict(sorted(media.items(), key=lambda item: (-item[1], item[0]))[:50])
    found.statuses = {str(status): count for status, count in sorted(statuses.items())}
    found.years = dict(sorted(years.items()))
    found.growth = growth(now_ms)
    return found


def daily(days: int = 90, now_ms: int | None = None) -> list[tuple[int, int, int]]:
    """Day in milliseconds, captures and bytes of their records, of the last days; the oldest first, none left out."""
    today = (now_ms or time.time_ns() // 1_000_000) // DAY_MS
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT day, sum(captures), sum(record_bytes) FROM capture_tally WHERE day > %s AND day <= %s GROUP BY day",
            [today - days, today],
        )
        found = {day: (int(captures), int(size)) for day, captures, size in cursor.fetchall()}
    return [(day * DAY_MS, *found.get(day, (0, 0))) for day in range(min(found), today + 1)] if found else []


def growth(now_ms: int | None = None) -> list[Growth]:
    """What 30 and 365 days will bring, by the days since the first capture among the last thirty.

    A day without captures counts. Empty when nothing came of late.
    """
    today = (now_ms or time.time_ns() // 1_000_000) // DAY_MS
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(day), coalesce(sum(captures), 0), coalesce(sum(record_bytes), 0) FROM capture_tally "
            "WHERE day > %s AND day <= %s",
            [today - RECENT_DAYS, today],
        )
        first, captures, size = cursor.fetchone()
    if first is None:
        return []
    pages = Page.objects.filter(versions__gt=0, found_ms__gte=first * DAY_MS).count()
    days = today - int(first) + 1
    return [
        Growth(ahead, pages * ahead // days, int(captures) * ahead // days, int(size) * ahead // days, days)
        for ahead in (30, 365)
    ]


def _addresses() -> int:
    """Different addresses: those counted before, and the new ones among the captures since."""
    known = AddressCount.objects.first() or AddressCount(upto=0, addresses=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(max(id), 0) FROM capture")
        (newest,) = cursor.fetchone()
        if newest == known.upto:
            return known.addresses
        if newest - known.upto > known.upto // 4:  # most are new: one walk along the index is shorter
            cursor.execute("SELECT count(*) FROM (SELECT DISTINCT urlkey FROM capture WHERE id <= %s) AS k", [newest])
            known.addresses = int(cursor.fetchone()[0])
        else:
            cursor.execute(
                "SELECT count(*) FROM (SELECT DISTINCT urlkey FROM capture AS late WHERE id > %s AND id <= %s AND NOT "
                "EXISTS (SELECT 1 FROM capture WHERE capture.urlkey = late.urlkey AND capture.id <= %s)) AS k",
                [known.upto, newest, known.upto],
            )
            known.addresses += int(cursor.fetchone()[0])
    known.upto = newest
    try:
        known.save()
    except OperationalError:
        pass  # an engine is writing: next time it is counted again
    return known.addresses
