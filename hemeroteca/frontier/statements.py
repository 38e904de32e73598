"""The frontier's SQL, batched, in words that SQLite and PostgreSQL both understand.

The engine is the only caller, inside its own transaction (one a second at most). Everything else reads through the ORM.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec
from django.db import connection

from hemeroteca.frontier.lease import Written
from hemeroteca.frontier.visit import Visit
from hemeroteca.urls.candidate import Candidate

ROWS = 200  # of one statement

_NEW_PAGES = """
INSERT INTO page (key, url, host_id, found_ms, visited_ms, changed_ms, status, etag, last_modified, digest, versions)
VALUES {} ON CONFLICT (key) DO NOTHING RETURNING key, id, host_id
"""
_NEW_PAGE = "(%s, %s, %s, %s, 0, 0, 0, '', '', '', 0)"

_NEW_VISIT = """
INSERT INTO visit (crawl_id, page_id, host_id, state, score, due_ms, depth, redirects, role, attempts, followed,
                   reason)
VALUES (%s, %s, %s, 0, %s, %s, %s, %s, %s, 0, FALSE, '')
ON CONFLICT (crawl_id, page_id) DO UPDATE SET
    state = 0, score = excluded.score, due_ms = excluded.due_ms, depth = excluded.depth,
    redirects = excluded.redirects, role = excluded.role, attempts = 0, reason = ''
WHERE visit.state <> 0
"""

_HOLD_VISIT = """
INSERT INTO visit (crawl_id, page_id, host_id, state, score, due_ms, depth, redirects, role, attempts, followed,
                   reason)
VALUES (%s, %s, %s, 4, %s, %s, %s, %s, %s, 0, FALSE, %s)
ON CONFLICT (crawl_id, page_id) DO NOTHING
"""

_ENDED = "UPDATE visit SET state = %s, due_ms = %s, attempts = %s, reason = %s, followed = %s WHERE id = %s"

_BROUGHT = """
UPDATE page SET visited_ms = %s, changed_ms = COALESCE(NULLIF(%s, 0), changed_ms), status = %s, etag = %s,
                last_modified = %s, digest = %s, versions = %s
WHERE id = %s
"""

_QUEUE = """
SELECT visit.id, page_id, key, url, visit.host_id, crawl_id, score, depth, redirects, role, attempts, visited_ms,
       status, etag, last_modified, digest, versions, followed
FROM visit JOIN page ON page.id = page_id
WHERE crawl_id = %s AND visit.host_id = %s AND state = 0 AND due_ms <= %s
ORDER BY score DESC, visit.id
LIMIT %s
"""


class Wish(msgspec.Struct, gc=False):
    """A candidate about to be queued."""

    candidate: Candidate
    host: int
    score: float


def host_ids(names: Iterable[str]) -> dict[str, int]:
    """Ids of hosts by name; unknown ones are created."""
    wanted = sorted(set(names))
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO host (name, delay_ms, next_ms, failures, pages, note, settings) "
            "VALUES (%s, 0, 0, 0, 0, '', '{}') ON CONFLICT (name) DO NOTHING",
            [(name,) for name in wanted],
        )
        found: dict[str, int] = {}
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join(["%s"] * len(part))
            cursor.execute(f"SELECT name, id FROM host WHERE name IN ({marks})", part)  # noqa: S608 only marks
            found.update(cursor.fetchall())
    return found


def add(wishes: Sequence[Wish], now_ms: int) -> tuple[Counter[int], Counter[int]]:
    """Queue visits, of pages that are made known by it; how many were queued, by crawl, and how many pages are new,
    by host. A visit that its crawl has queued already stays as it is."""
    queued: Counter[int] = Counter()
    if not wishes:
        return queued, Counter()
    ordered = sorted(wishes, key=lambda wish: wish.candidate.key)  # neighbours in the unique index are written together
    with connection.cursor() as cursor:
        pages, new = _add_pages(cursor, ordered, now_ms)
        for crawl in {wish.candidate.crawl for wish in ordered}:
            rows = [
                (crawl, pages[c.key], wish.host, wish.score, c.due_ms, c.depth, c.redirects, c.role)
                for wish in ordered
                if (c := wish.candidate).crawl == crawl and not c.held
            ]
            if rows:
                cursor.executemany(_NEW_VISIT, rows)
                queued[crawl] = cursor.rowcount
        if held := [wish for wish in ordered if wish.candidate.held]:
            cursor.executemany(
                _HOLD_VISIT,
                [
                    (c.crawl, pages[c.key], w.host, w.score, c.due_ms, c.depth, c.redirects, c.role, c.held[:500])
                    for w in held
                    if (c := w.candidate)
                ],
            )
    return queued, new


def _add_pages(cursor, ordered: Sequence[Wish], now_ms: int) -> tuple[dict[int, int], Counter[int]]:  # type: ignore[no-untyped-def]
    """Page ids by key, and how many pages are new by host."""
    pages: dict[int, int] = {}
    new: Counter[int] = Counter()
    for start in range(0, len(ordered), ROWS):
        part = ordered[start : start + ROWS]
        values = [value for w in part for value in (w.candidate.key, w.candidate.url, w.host, now_ms)]
        cursor.execute(_NEW_PAGES.format(", ".join([_NEW_PAGE] * len(part))), values)
        for key, page, host in cursor.fetchall():
            pages[key] = page
            new[host] += 1
        if known := [w.candidate.key for w in part if w.candidate.key not in pages]:
            marks = ", ".join(["%s"] * len(known))
            cursor.execute(f"SELECT key, id FROM page WHERE key IN ({marks})", known)  # noqa: S608 only marks
            pages.update(cursor.fetchall())
    return pages, new


def known_keys(keys: Sequence[int]) -> set[int]:
    """Those of these keys that are pages already."""
    known: set[int] = set()
    with connection.cursor() as cursor:
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ", ".join(["%s"] * len(part))
            cursor.execute(f"SELECT key FROM page WHERE key IN ({marks})", part)  # noqa: S608 only marks
            known.update(chain.from_iterable(cursor.fetchall()))
    return known


def write_endings(ended: Sequence[Written]) -> None:
    """Write what became of visits, and what they brought of their pages."""
    if not ended:
        return
    visits, pages = [], []
    for one in ended:
        visits.append((one.state.value, one.due_ms, one.attempts, one.reason[:500], one.visit.followed, one.visit.id))
        if (brought := one.outcome) is not None:
            changed_ms = brought.visited_ms if brought.changed else 0
            pages.append(
                (
                    brought.visited_ms,
                    changed_ms,
                    brought.status,
                    brought.etag,
                    brought.last_modified,
                    brought.digest,
                    brought.versions,
                    one.visit.page,
                )
            )
    with connection.cursor() as cursor:
        cursor.executemany(_ENDED, visits)
        if pages:
            cursor.executemany(_BROUGHT, pages)


def queued(crawl: int, host: int, now_ms: int, limit: int) -> list[Visit]:
    """The best visits of a host that are due."""
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, (crawl, host, now_ms, limit))
        return [Visit(*row) for row in cursor.fetchall()]


def next_due(crawl: int, host: int) -> int | None:
    """When the earliest visit of a host that must wait is due; None when nothing is queued."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT MIN(due_ms) FROM visit WHERE crawl_id = %s AND host_id = %s AND state = 0", (crawl, host)
        )
        return cursor.fetchone()[0]


def turn_back(lost_ms: int, now_ms: int) -> None:
    """The clock was set back by `lost_ms`: visits that must wait wait as long as they were meant to."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE visit SET due_ms = due_ms - %s WHERE state = 0 AND due_ms > %s", (lost_ms, now_ms + lost_ms)
        )


def next_host(crawl: int, after: int) -> tuple[int, float] | None:
    """The next host, by id, with queued visits, and the score of the best: one seek in the queue's index, however long
    the queue is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT host_id, score FROM visit WHERE crawl_id = %s AND state = 0 AND host_id > %s "
            "ORDER BY host_id, score DESC LIMIT 1",
            (crawl, after),
        )
        return cursor.fetchone()


def give_up_host(
    crawl: int, host: int, reason: str, out: set[int], tell: bool, origin: str = ""
) -> tuple[int, list[tuple[int, str, int]]]:
    """Fail every queued visit of a host, or of one origin of it, but those of pages that are out; how many, and, if
    they are to be told, key, URL and role of each."""
    start = f"{origin}/" if origin else ""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT visit.id, page_id, url FROM visit JOIN page ON page.id = page_id "
            "WHERE crawl_id = %s AND visit.host_id = %s AND state = 0",
            (crawl, host),
        )
        failed = [(number, page) for number, page, url in cursor if page not in out and url.startswith(start)]
        cursor.executemany("UPDATE visit SET state = 2, reason = %s WHERE id = %s", [(reason, n) for n, _ in failed])
        told: list[tuple[int, str, int]] = []
        for at in range(0, len(failed) if tell else 0, 500):
            part = [number for number, _ in failed[at : at + 500]]
            marks = ", ".join(["%s"] * len(part))
            cursor.execute(
                "SELECT key, url, role FROM visit JOIN page ON page.id = page_id "  # noqa: S608 only marks
                f"WHERE visit.id IN ({marks})",
                part,
            )
            told += cursor.fetchall()
    return len(failed), told


def count_queued(crawl: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM visit WHERE crawl_id = %s AND state = 0", (crawl,))
        return cursor.fetchone()[0]


def seen_keys(crawl: int) -> "array[int]":
    """Keys of every page this crawl has met, read in blocks so that memory stays at 8 bytes a page."""
    keys = array("q")
    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM visit JOIN page ON page.id = page_id WHERE crawl_id = %s", (crawl,))
        while rows := cursor.fetchmany(10_000):
            keys.extend(chain.from_iterable(rows))
    return keys
