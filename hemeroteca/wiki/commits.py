"""Files into the lake: rows gathered, written to files, and made true by one transaction. The only writer of both.

The order that makes a kill harmless: files are written, whole, without a name; their names are noted, and each gets its
own, durably; one transaction makes them live, moves the articles on (a new one is written then), and raises the version
of the manifest. A file whose row never became live is swept away later, and so is one whose writer was killed before it
had a name. Two writers of one article: each commit names the version of the article it began with, so the second one's
rows are thrown away and it goes on from what the first one kept.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Sum

from hemeroteca.clock import now_ms
from hemeroteca.errors import Unavailable
from hemeroteca.lake import manifest as lake_manifest
from hemeroteca.lake.files import LakeFiles
from hemeroteca.lake.manifest import Manifest
from hemeroteca.lake.revisions import EARLIER, EVENTS, REVISIONS, TEXTS, Event, Revision, Text, bucket
from hemeroteca.warc.store import StoreError
from hemeroteca.wiki.models import Article, LakeFile, LakeVersion, Wiki

if TYPE_CHECKING:
    from hemeroteca.lake.parquet import TextWriter

MAX_ROWS = 20_000  # held before they are written
MAX_TEXT_BYTES = 48 << 20  # the same of texts
MAX_WRITTEN_BYTES = 256 << 20  # of texts that are in their file already, and read again after a kill
DRAFT_MS = 24 * 3_600_000  # after which a draft's writer counts as gone
DROPPED_MS = 15 * 60_000  # for readers that began before a file was replaced
FILES_IN_PART = 8  # of one table, wiki and bucket, before they are made into one
MAX_COMPACTED_BYTES = 256 << 20  # a file of this size is left as it is


class ArticleChange(msgspec.Struct):
    """What is to be kept of one article, and what its row becomes."""

    article: Article  # one without a number comes into being with its first commit
    version: int  # of the article when this was read
    revisions: list[Revision] = []  # new ones
    changed: list[Revision] = []  # known ones the wiki tells differently now
    earlier: list[Revision] = []  # what those were
    texts: list[Text] = []
    events: list[Event] = []
    fields: dict[str, Any] = {}  # of the article's row
    brought: int = 0  # texts that are in their file already


class Draft(msgspec.Struct, frozen=True):
    """A file that is written and has no name yet."""

    table: str
    bucket: int
    updates: bool  # its rows replace those of other files
    rows: int
    bytes: int
    path: Path


class _Move(msgspec.Struct):
    """What a commit makes of an article's row."""

    article: Article
    version: int  # that it must have
    fields: dict[str, Any] = {}
    added: int = 0  # revisions


class Overtaken(Exception):  # noqa: N818 - a state, not an error
    """Another writer kept something of these articles meanwhile; what was read must be compared anew."""

    def __init__(self, pages: Sequence[int], changes: Sequence[ArticleChange] = ()) -> None:
        super().__init__(f"pages {', '.join(map(str, pages))} were written by another worker")
        self.pages = tuple(pages)  # of the wiki, by their number there
        self.changes = changes  # what was thrown away


class Buffer:
    """Changes of several articles of one wiki, written together so that files do not become tiny."""

    def __init__(self, wiki: Wiki, files: LakeFiles | None = None) -> None:
        self._wiki = wiki
        self._files = files or lake_files()
        self._changes: list[ArticleChange] = []
        self._texts: dict[int, TextWriter] = {}  # by bucket
        self._last: TextWriter | None = None  # that got texts
        self._spare: list[memoryview] = []  # pages
        self._rows = self._held = self._written = 0

    def add(self, change: ArticleChange, mixed: bool = False) -> None:
        """Take a change. Its texts go to their file at once, unless articles come `mixed` and must be sorted first."""
        self._rows += len(change.revisions) + len(change.changed) + len(change.events) + 1
        if mixed:
            self._held += sum(len(text.text) for text in change.texts)
        elif change.texts:
            for page, texts in groupby(change.texts, attrgetter("pageid")):
                self._written += sum(map(self._writer(bucket(page)).add, texts))
            change = msgspec.structs.replace(change, texts=[], brought=len(change.texts))
        self._changes.append(change)

    @property
    def full(self) -> bool:
        return self._rows >= MAX_ROWS or self._held >= MAX_TEXT_BYTES or self._written >= MAX_WRITTEN_BYTES

    @property
    def empty(self) -> bool:
        return not self._changes

    def write(self) -> None:
        """Keep everything gathered. Raises Overtaken with the articles whose part was thrown away."""
        lost: list[ArticleChange] = []
        writers, self._texts, self._last = self._texts, {}, None
        texts = [
            Draft(table=TEXTS, bucket=number, updates=False, rows=writer.rows, bytes=writer.close(), path=writer.target)
            for number, writer in writers.items()
        ]
        while self._changes:
            try:
                commit(self._wiki, self._changes, self._files, texts)
                break
            except Overtaken as overtaken:
                lost += [change for change in self._changes if change.article.pageid in overtaken.pages]
                self._changes = [change for change in self._changes if change.article.pageid not in overtaken.pages]
                texts = self._texts_without(overtaken.pages, texts)
        self._changes, self._rows, self._held, self._written = [], 0, 0, 0
        if lost:
            raise Overtaken(list(dict.fromkeys(change.article.pageid for change in lost)), lost)

    def _writer(self, number: int) -> TextWriter:
        from hemeroteca.lake.parquet import TextWriter

        if number not in self._texts:
            self._texts[number] = TextWriter(self._files.draft(), self._spare)
        writer = self._texts[number]
        if self._last is not None and self._last is not writer:
            self._last.settle()
        self._last = writer
        return writer

    def _texts_without(self, pages: Sequence[int], texts: Sequence[Draft]) -> list[Draft]:
        """The same files without the texts of some articles: whoever was quicker has kept those."""
        from hemeroteca.lake import parquet

        kept = []
        for text in texts:
            path = self._files.draft()
            rows, size = parquet.without(TEXTS, text.path, pages, path)
            text.path.unlink()
            if rows:
                kept.append(msgspec.structs.replace(text, rows=rows, bytes=size, path=path))
            else:
                path.unlink()
        return kept


def commit(wiki: Wiki, changes: Sequence[ArticleChange], files: LakeFiles, texts: Sequence[Draft] = ()) -> None:
    """Keep these changes, all of them or none. `texts`: files of their texts; drafts again after Overtaken."""
    moves: dict[int, _Move] = {}
    for change in changes:
        move = moves.setdefault(change.article.pageid, _Move(change.article, change.version))
        if change.version != move.version:
            raise ValueError("changes of one article in one commit begin with the same version")
        move.fields |= change.fields
        move.added += len(change.revisions)
    made = _give_names(wiki.pk, [*texts, *_write_rows(changes, files)], files)
    new = [move.article for move in moves.values() if move.article.pk is None and not move.version]
    try:
        with transaction.atomic():
            _lock(raises=bool(made))
            if new:
                Article.objects.bulk_create(new, ignore_conflicts=True)
            with connection.cursor() as cursor:
                late = [page for page, move in moves.items() if not _move_on(cursor, move)]
            if late:
                raise Overtaken(late)
            if made:
                _go_live(made)
    except Overtaken:
        for file, text in zip(made, texts, strict=False):
            files.withdraw(file.name, text.path)
        _discard(made, files)
        raise


def lake_files() -> LakeFiles:
    try:
        return LakeFiles(settings.INSTANCE.lake_dir, settings.CONFIG.lake_store)
    except StoreError as error:
        raise Unavailable(str(error).replace("archive_store", "lake_store"))


def manifest() -> Manifest:
    """Which files count now, and the articles beside them."""
    with transaction.atomic():
        version = current_version()
        bases: dict[str, list[str]] = defaultdict(list)
        updates: dict[str, list[str]] = defaultdict(list)
        live = LakeFile.objects.filter(state=LakeFile.State.LIVE).order_by("name")
        for table, name, replaces in live.values_list("table", "name", "updates"):
            (updates if replaces else bases)[table].append(name)
        articles = tuple(_as_seen(article) for article in Article.objects.select_related("wiki").order_by("pk"))
    return Manifest(
        version,
        {table: tuple(names) for table, names in bases.items()},
        {table: tuple(names) for table, names in updates.items()},
        articles,
    )


def part(wiki: Wiki, pageid: int) -> Manifest:
    """The files that may hold rows of one article; enough to ask about it."""
    live = LakeFile.objects.filter(state=LakeFile.State.LIVE, wiki=wiki, bucket=bucket(pageid)).order_by("name")
    bases: dict[str, list[str]] = defaultdict(list)
    updates: dict[str, list[str]] = defaultdict(list)
    for table, name, replaces in live.values_list("table", "name", "updates"):
        (updates if replaces else bases)[table].append(name)
    return Manifest(0, {k: tuple(v) for k, v in bases.items()}, {k: tuple(v) for k, v in updates.items()})


def current_version() -> int:
    return LakeVersion.objects.values_list("number", flat=True).first() or 0


def compact(files: LakeFiles, progress: Any = None, files_in_part: int = FILES_IN_PART) -> int:
    """Make one file of many where a part has many or holds updates; how many files went. Others may write meanwhile."""
    from hemeroteca.lake import parquet

    sweep(files)
    gone = 0
    live = LakeFile.objects.filter(state=LakeFile.State.LIVE, bytes__lt=MAX_COMPACTED_BYTES)
    parts = list(
        live.values("table", "wiki", "bucket")
        .annotate(files=Count("pk"), size=Sum("bytes"))
        .order_by("table", "bucket")
    )
    for place, found in enumerate(parts):
        if progress is not None:
            progress(place, len(parts), f"{found['table']}, bucket {found['bucket']}")
        members = list(
            live.filter(table=found["table"], wiki=found["wiki"], bucket=found["bucket"]).order_by("changed_ms", "pk")
        )
        updated = any(member.updates for member in members)
        if len(members) < (2 if updated else files_in_part):
            continue
        if updated:  # an update replaces a row of any file of its part, however large
            members = list(
                LakeFile.objects.filter(
                    state=LakeFile.State.LIVE, table=found["table"], wiki=found["wiki"], bucket=found["bucket"]
                ).order_by("changed_ms", "pk")
            )
        draft = files.draft()
        bases = [files.local(member.name) for member in members if not member.updates]
        updates = [files.local(member.name) for member in members if member.updates]
        rows, size = parquet.merge(found["table"], bases, updates, draft)
        merged = _give_names(
            found["wiki"],
            [Draft(table=found["table"], bucket=found["bucket"], updates=False, rows=rows, bytes=size, path=draft)],
            files,
        )
        with transaction.atomic():
            _lock(raises=True)
            replaced = LakeFile.objects.filter(pk__in=[member.pk for member in members], state=LakeFile.State.LIVE)
            if replaced.update(state=LakeFile.State.DROPPED, changed_ms=now_ms()) == len(members):
                _go_live(merged)
                gone += len(members) - 1
                continue
            transaction.set_rollback(True)
        _discard(merged, files)  # somebody else compacted it
    return gone


def sweep(files: LakeFiles) -> int:
    """Delete what a killed writer left behind, and replaced files that nobody reads any more."""
    now = now_ms()
    old = list(LakeFile.objects.filter(state=LakeFile.State.DRAFT, changed_ms__lt=now - DRAFT_MS))
    old += LakeFile.objects.filter(state=LakeFile.State.DROPPED, changed_ms__lt=now - DROPPED_MS)
    _discard(old, files)
    files.sweep(DRAFT_MS / 1000)
    return len(old)


def _write_rows(changes: Sequence[ArticleChange], files: LakeFiles) -> list[Draft]:
    parts: Mapping[tuple[str, int, bool], list[Any]] = defaultdict(list)
    for change in changes:
        for row in (*change.revisions, *change.changed):
            row.version = change.version + 1
        for table, rows, replaces in (
            (REVISIONS, change.revisions, False),
            (REVISIONS, change.changed, True),
            (EARLIER, change.earlier, False),
            (TEXTS, change.texts, False),
            (EVENTS, change.events, False),
        ):
            for page, found in groupby(rows, attrgetter("pageid")):
                parts[table, bucket(page), replaces] += found
    if not parts:
        return []
    from hemeroteca.lake import parquet

    drafts = []
    for (table, number, replaces), rows in parts.items():
        path = files.draft()
        drafts.append(
            Draft(
                table=table,
                bucket=number,
                updates=replaces,
                rows=len(rows),
                bytes=parquet.write(table, rows, path),
                path=path,
            )
        )
    return drafts


def _give_names(wiki: int, drafts: Sequence[Draft], files: LakeFiles) -> list[LakeFile]:
    """Note the names of finished files, then put each in its place, whole and durable. They are not live yet."""
    made = [
        LakeFile(
            table=draft.table, wiki_id=wiki, bucket=draft.bucket, updates=draft.updates, rows=draft.rows,
            bytes=draft.bytes, changed_ms=now_ms(),
            # without `wiki=`: engines would take that for a column of theirs
            name=f"{draft.table}/{wiki}/{draft.bucket:02d}/{uuid.uuid4().hex}.parquet",
        )
        for draft in drafts
    ]  # fmt: skip
    LakeFile.objects.bulk_create(made)
    for file, draft in zip(made, drafts, strict=True):
        files.put(draft.path, file.name)
    return made


def _lock(raises: bool) -> None:
    """Commits go one by one: the manifest has one version, which is raised where its files change."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO lake_version (id, number) VALUES (1, %s)"
            " ON CONFLICT (id) DO UPDATE SET number = lake_version.number + excluded.number",
            [int(raises)],
        )


def _move_on(cursor: Any, move: _Move) -> bool:
    """Write an article's row; False: it is no longer at the version its writer read, and not ours to change.

    Written out, as Django needs longer to put such a statement together than the database to execute it.
    """
    columns = {field.name: field for field in Article._meta.concrete_fields}
    values = [columns[name].get_db_prep_save(value, connection) for name, value in move.fields.items()]
    assignments = "".join(f"{columns[name].column} = %s, " for name in move.fields)
    cursor.execute(
        f"UPDATE wiki_article SET {assignments}version = version + 1, revisions = revisions + %s"  # noqa: S608 - columns
        " WHERE wiki_id = %s AND pageid = %s AND version = %s",
        [*values, move.added, move.article.wiki_id, move.article.pageid, move.version],
    )
    return bool(cursor.rowcount)


def _go_live(made: Sequence[LakeFile]) -> None:
    LakeFile.objects.filter(pk__in=[file.pk for file in made]).update(state=LakeFile.State.LIVE, changed_ms=now_ms())


def _discard(made: Sequence[LakeFile], files: LakeFiles) -> None:
    for file in made:
        files.delete(file.name)
    LakeFile.objects.filter(pk__in=[file.pk for file in made]).exclude(state=LakeFile.State.LIVE).delete()


def _as_seen(article: Article) -> Any:
    return lake_manifest.LakeArticle(
        wiki=article.wiki.name,
        locale=article.wiki.locale,
        ns=article.ns,
        pageid=article.pageid,
        title=article.title,
        first_extraction_date=article.first_extraction_ms,
        last_extraction_date=article.last_extraction_ms,
        last_revision_extracted=article.last_revision,
        renamed=bool(article.former_titles),
        deleted=article.deleted,
        limited=article.limited,
        categories=tuple(article.categories),
    )
