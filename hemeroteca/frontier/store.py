"""The hot path's SQL, batched, in words that SQLite and PostgreSQL both understand.

The engine is the only caller, inside its own transaction (one a second at most). Everything else reads through the ORM.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from django.db import connection

from hemeroteca.frontier.models import Page
from hemeroteca.frontier.values import Outcome, Visit
from hemeroteca.urls.candidate import Candidate

QUEUED = int(Page.State.QUEUED)
FAILED = int(Page.State.FAILED)

_NEW_PAGE = """
INSERT INTO page (key, url, host_id, crawl_id, state, depth, redirects, role, priority, due_ms, attempts, found_ms,
                  visited_ms, changed_ms, status, reason, etag, last_modified, digest, versions)
VALUES (%s, %s, %s, %s, 0, %s, %s, %s, %s, %s, 0, %s, 0, 0, 0, '', '', '', '', 0)
ON CONFLICT (key) DO UPDATE SET
    crawl_id = excluded.crawl_id, state = 0, depth = excluded.depth, redirects = excluded.redirects,
    role = excluded.role, priority = excluded.priority, due_ms = excluded.due_ms, attempts = 0, reason = ''
WHERE (page.crawl_id <> excluded.crawl_id OR page.state <> 0)
  AND NOT (page.state = 0 AND page.crawl_id IN (SELECT id FROM crawl WHERE state = 'running'))
"""

_OUTCOME = """
UPDATE page SET state = %s, due_ms = %s, attempts = %s, visited_ms = COALESCE(NULLIF(%s, 0), visited_ms),
                changed_ms = COALESCE(NULLIF(%s, 0), changed_ms), status = %s, reason = %s,
                etag = %s, last_modified = %s, digest = %s, versions = %s
WHERE id = %s
"""

_QUEUE = """
SELECT id, key, url, host_id, crawl_id, depth, redirects, role, attempts, etag, last_modified, digest, versions
FROM page
WHERE crawl_id = %s AND host_id = %s AND state = 0 AND due_ms <= %s
ORDER BY priority DESC, id
LIMIT %s
"""


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


def add_pages(found: Sequence[Candidate], hosts: dict[str, int], now_ms: int) -> int:
    """Queue pages; returns how many were queued (a page another running crawl holds stays with that one)."""
    if not found:
        return 0
    rows = [
        (f.key, f.url, hosts[f.host], f.crawl, f.depth, f.redirects, f.role, f.priority, f.due_ms, now_ms)
        for f in sorted(found, key=lambda f: f.key)  # neighbours in the unique index are written together
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_NEW_PAGE, rows)
        return cursor.rowcount


def settle(outcomes: Sequence[Outcome]) -> None:
    """Write what became of pages."""
    if not outcomes:
        return
    rows = [
        (
            o.state,
            o.due_ms,
            o.attempts,
            o.visited_ms,
            o.changed_ms,
            o.status,
            o.reason[:500],
            o.etag,
            o.last_modified,
            o.digest,
            o.versions,
            o.page,
        )
        for o in outcomes
    ]
    with connection.cursor() as cursor:
        cursor.executemany(_OUTCOME, rows)


def queued(crawl: int, host: int, now_ms: int, limit: int) -> list[Visit]:
    """The best pages of a host that are due."""
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE, (crawl, host, now_ms, limit))
        return [Visit(*row) for row in cursor.fetchall()]


def next_due(crawl: int, host: int) -> int | None:
    """When the earliest page of a host that must wait is due; None when nothing is queued."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT MIN(due_ms) FROM page WHERE crawl_id = %s AND host_id = %s AND state = 0", (crawl, host))
        return cursor.fetchone()[0]


def turn_back(lost_ms: int, now_ms: int) -> None:
    """The clock was set back by `lost_ms`: pages that must wait wait as long as they were meant to."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE page SET due_ms = due_ms - %s WHERE state = 0 AND due_ms > %s", (lost_ms, now_ms + lost_ms)
        )


def next_host(crawl: int, after: int) -> int | None:
    """The next host, by id, with queued pages: one seek in the queue's index, however long the queue is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT host_id FROM page WHERE crawl_id = %s AND state = 0 AND host_id > %s ORDER BY host_id LIMIT 1",
            (crawl, after),
        )
        row = cursor.fetchone()
    return row[0] if row else None


def give_up_host(crawl: int, host: int, reason: str, leased: Iterable[int]) -> int:
    """Fail every queued page of a host but the leased ones; returns how many."""
    pages = Page.objects.filter(crawl_id=crawl, host_id=host, state=QUEUED).exclude(pk__in=list(leased))
    return pages.update(state=FAILED, reason=reason)


def count_queued(crawl: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM page WHERE crawl_id = %s AND state = 0", (crawl,))
        return cursor.fetchone()[0]


def seen_keys(crawl: int) -> np.ndarray:
    """Keys of every page this crawl has met, read in blocks so that memory stays at 8 bytes a page."""
    blocks = []
    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM page WHERE crawl_id = %s", (crawl,))
        while rows := cursor.fetchmany(10_000):
            blocks.append(np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows)))
    return np.concatenate(blocks) if blocks else np.empty(0, dtype=np.int64)
