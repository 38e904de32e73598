"""What the lake holds of an article: enough to tell new from known from changed."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import msgspec

from hemeroteca.lake.revisions import EVENTS, REVISIONS, TEXTS, Revision
from hemeroteca.wiki import commits
from hemeroteca.wiki.models import Article, Wiki


class Known(msgspec.Struct):
    """What the lake holds of an article: enough to tell new from known from changed."""

    fingerprints: dict[int, int] = {}
    times: dict[int, int] = {}  # ms
    texts: set[str] = set()
    events: set[int] = set()
    sha1s: dict[int, str | None] = {}  # by number, while a history is walked
    notes: list[tuple[str, int]] = []  # user and time (ms) of revisions that change nothing: a move, a protection

    def look(self, walked: Iterable[tuple[int, int | None, str | None, str | None, int]]) -> None:
        """Find the notes. Parents come before their children."""
        sha1s = self.sha1s
        for revid, parentid, sha1, user, at in walked:
            if sha1 and user and sha1s.get(parentid or 0) == sha1:
                self.notes.append((user, at))
            sha1s[revid] = sha1


def load_known(wiki: Wiki, article: Article, files: Any) -> Known:
    """Numbers and fingerprints of an article's revisions, sha1s of its texts, numbers of its events."""
    known = Known()
    if not article.version:
        return known
    manifest = commits.part(wiki, article.pageid)
    columns = ["revid", "fingerprint", "version", "timestamp"]
    if not article.complete:  # its history is walked on from here
        columns += ["parentid", "sha1", "user"]
    rows: dict[int, tuple[int, int]] = {}
    walked: list[dict[str, Any]] = []
    for name in (*manifest.bases.get(REVISIONS, ()), *manifest.updates.get(REVISIONS, ())):
        for row in _rows(files, name, article.pageid, columns):
            known.times[row["revid"]] = _milliseconds(row["timestamp"])
            if not article.complete:
                walked.append(row)
            if row["version"] >= rows.get(row["revid"], (0, -1))[1]:
                rows[row["revid"]] = (row["fingerprint"], row["version"])
    known.fingerprints = {revid: fingerprint for revid, (fingerprint, _) in rows.items()}
    walked.sort(key=itemgetter("timestamp", "revid"))
    known.look((row["revid"], row["parentid"], row["sha1"], row["user"], known.times[row["revid"]]) for row in walked)
    known.texts = _texts(files, manifest, article.pageid)
    for name in manifest.bases.get(EVENTS, ()):
        known.events.update(row["logid"] for row in _rows(files, name, article.pageid, ["logid"]))
    return known


def stored_texts(wiki: Wiki, article: Article, files: Any) -> set[str]:
    """sha1s of the texts that are kept of an article."""
    return _texts(files, commits.part(wiki, article.pageid), article.pageid) if article.version else set()


def _texts(files: Any, manifest: Any, pageid: int) -> set[str]:
    names = manifest.bases.get(TEXTS, ())
    return {row["sha1"] for name in names for row in _rows(files, name, pageid, ["sha1"])}


def stored(wiki: Wiki, article: Article, files: Any, revids: set[int] | None = None) -> list[Revision]:
    """Revisions of an article as they are kept now: those named, or all."""
    from hemeroteca.lake.revisions import schema

    if revids is not None and not revids:
        return []
    manifest = commits.part(wiki, article.pageid)
    columns = [name for name in schema(REVISIONS).names if name != "fingerprint"]
    found: dict[int, Revision] = {}
    for name in (*manifest.bases.get(REVISIONS, ()), *manifest.updates.get(REVISIONS, ())):
        for row in _rows(files, name, article.pageid, columns):
            if revids is not None and row["revid"] not in revids:
                continue
            for time in ("timestamp", "extraction_date"):
                row[time] = _milliseconds(row[time])
            made = Revision(**row)
            if made.revid not in found or found[made.revid].version <= made.version:
                found[made.revid] = made
    return list(found.values())


def _rows(files: Any, name: str, pageid: int, columns: Iterable[str]) -> list[dict[str, Any]]:
    from hemeroteca.lake import parquet

    return parquet.of_page(files.local(name), pageid, list(columns))


def _milliseconds(moment: Any) -> int:
    from datetime import UTC

    return round(moment.replace(tzinfo=UTC).timestamp() * 1000)
