"""What can be asked: articles, revisions, count, avg, mode, metrics. SQL and pipelines are in `free_queries`.

Answers that cost something are cached by the version of the lake's manifest, which is also their ETag: nothing changes
until something is committed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from django.conf import settings
from django.db.models import QuerySet

from hemeroteca.accounts import Actor, require
from hemeroteca.errors import Invalid, NotFound, Unavailable
from hemeroteca.jobs import queries as jobs
from hemeroteca.warc import timestamps
from hemeroteca.wiki import answer_cache, commits, filters
from hemeroteca.wiki.filters import Filters
from hemeroteca.wiki.models import Article, Wiki
from hemeroteca.wiki.query_process import of_the_lake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hemeroteca.lake.query_engine import Lake

MODES = ("title", "pageid", "user", "userid", "date", "size")
MAX_PAGE_SIZE = 1000
MAX_COMPARED = 10
PAGING = ("page", "page_size", "sort", "cursor")
REVISION_SORTS = ("timestamp", "revid", "size", "user", "title", "pageid", "extraction_date")
ARTICLE_SORTS = (
    *("title", "pageid", "first_extraction_date", "last_extraction_date", "last_revision_extracted"),
    *("revisions", "last_edit"),
)
EXTRACTION_DATES = ("extraction_date", "first_extraction_date", "last_extraction_date")
COLLECTIONS = ("revisions", "articles", "texts", "events", "earlier")
_HOW_TO_KEEP = "`hemeroteca wiki extract` brings it, `hemeroteca wiki articles` lists what is kept"
STATES = {"queued": "PENDING", "running": "PROGRESS", "done": "SUCCESS", "failed": "FAILURE", "cancelled": "REVOKED"}


class ArticleFacts(msgspec.Struct):
    """An article, with the founding work's names."""

    id: int  # of its row here
    ns: int
    pageid: int
    title: str
    locale: str
    first_extraction_date: datetime | None
    last_extraction_date: datetime | None
    last_revision_extracted: int
    wiki: str
    revisions: int
    complete: bool  # all its revisions are kept
    limited: bool  # an extraction ended at its limit
    text: bool  # texts are kept too
    deleted: bool
    source: str
    policy: str
    due: datetime | None

    @property
    def last_extraction_ms(self) -> int:
        return _ms(self.last_extraction_date)

    @property
    def due_ms(self) -> int:
        return _ms(self.due)


class Mode(msgspec.Struct):
    mode: Any  # the first of them
    count: int
    modes: list[Any]  # all, where several are as frequent


def articles(actor: Actor, given: Mapping[str, Any]) -> tuple[list[ArticleFacts], int]:
    """Articles, and how many there are in all. `page`, `page_size`, `sort`, and filters of articles."""
    require(actor, "wiki.read")
    dates = ("first_extraction_date", "last_extraction_date")
    allowed = ("title", "contains", "pageid", "locale", "wiki", "ns", *dates, *PAGING)
    for name in given:
        if name not in allowed:
            raise Invalid(f"there is no parameter {name!r}; allowed are {', '.join(allowed)}")
    found: QuerySet[Article] = Article.objects.select_related("wiki")
    if given.get("title"):
        found = found.filter(title=str(given["title"]).replace("_", " "))
    if given.get("contains"):
        found = found.filter(title__icontains=str(given["contains"]).replace("_", " "))
    for name in ("pageid", "ns"):
        if given.get(name) not in (None, ""):
            found = found.filter(**{name: _whole(name, given[name])})
    if given.get("locale"):
        found = found.filter(wiki__locale=given["locale"])
    if given.get("wiki"):
        found = found.filter(wiki__name=given["wiki"])
    for name, column in (
        ("first_extraction_date", "first_extraction_ms"),
        ("last_extraction_date", "last_extraction_ms"),
    ):
        if given.get(name):
            start = filters.day(str(given[name]), name).replace(tzinfo=UTC).timestamp() * 1000
            found = found.filter(**{f"{column}__gte": start, f"{column}__lt": start + 86_400_000})
    columns = {
        "first_extraction_date": "first_extraction_ms",
        "last_extraction_date": "last_extraction_ms",
        "last_revision_extracted": "last_revision",
        "last_edit": "last_revision_ms",
    }
    name, down = _sort(given, ARTICLE_SORTS, "title")
    found = found.order_by(("-" if down else "") + columns.get(name, name), "pk")
    page, size = _paging(given)
    total = found.count()
    return [article_facts(article) for article in found[(page - 1) * size : page * size]], total


def article_facts(article: Article) -> ArticleFacts:
    return ArticleFacts(
        id=article.pk,
        ns=article.ns,
        pageid=article.pageid,
        title=article.title,
        locale=article.wiki.locale,
        first_extraction_date=_moment(article.first_extraction_ms),
        last_extraction_date=_moment(article.last_extraction_ms),
        last_revision_extracted=article.last_revision,
        wiki=article.wiki.name,
        revisions=article.revisions,
        complete=article.complete,
        limited=article.limited,
        text=article.text_complete,
        deleted=article.deleted,
        source=article.source,
        policy=article.policy,
        due=_moment(article.due_ms),
    )


def article(actor: Actor, number: int) -> ArticleFacts:
    """An article by the number of its row."""
    require(actor, "wiki.read")
    found = Article.objects.select_related("wiki").filter(pk=number).first() if number < 1 << 63 else None
    if found is None:
        raise NotFound(f"there is no article {number}; `hemeroteca wiki articles` lists them")
    return article_facts(found)


def wikis(actor: Actor) -> list[Wiki]:
    """Wikis of which articles are kept."""
    require(actor, "wiki.read")
    return list(Wiki.objects.filter(articles__isnull=False).distinct().order_by("name"))


def address_of(facts: ArticleFacts) -> str:
    """Where people read an article; empty for a wiki that is known from a dump only."""
    from urllib.parse import quote

    path = Wiki.objects.filter(name=facts.wiki).values_list("article_path", flat=True).first() or ""
    return path.replace("$1", quote(facts.title.replace(" ", "_"), safe="/:()!,;@")) if "$1" in path else ""


def is_followed(facts: ArticleFacts) -> bool:
    """Whether its wiki can be asked; not when a dump is all."""
    return Wiki.objects.filter(name=facts.wiki).exclude(api_url="", index_url="").exists()


def api_of(facts: ArticleFacts) -> str:
    """The address of its wiki's API, or of the wiki where that is closed. Raises Invalid where a dump is all."""
    wiki = Wiki.objects.get(name=facts.wiki)
    if not wiki.api_url and not wiki.index_url:
        raise Invalid(f"{wiki.name} is known from a dump only; import a newer one")
    return wiki.api_url or wiki.index_url


def find_article(actor: Actor, title: str, locale: str = "", wiki: str = "") -> Article:
    """One article by its title of today, or one it had."""
    require(actor, "wiki.read")
    found = Article.objects.select_related("wiki")
    if locale:
        found = found.filter(wiki__locale=locale)
    if wiki:
        found = found.filter(wiki__name=wiki)
    name = title.replace("_", " ").strip()
    hits = (
        list(found.filter(title=name)[:2])
        or [article for article in found.exclude(former_titles=[]) if name in article.former_titles]
        or list(found.filter(title=capital(name))[:2])
    )
    if not hits:
        raise NotFound(f"no article {name!r} is kept; {_HOW_TO_KEEP}")
    if len(hits) > 1:
        wikis = ", ".join(article.wiki.name for article in hits)
        raise Invalid(f"{name!r} is kept from several wikis ({wikis}); say which with --wiki")
    return hits[0]


def revisions(actor: Actor, given: Mapping[str, Any], text: bool = False) -> list[dict[str, Any]]:
    """Revisions as rows. `page` and `page_size`, or `cursor`; `sort` (a name, with a minus: descending)."""
    require(actor, "wiki.read")
    return _revisions(dict(given), text)


@of_the_lake
def _revisions(given: dict[str, Any], text: bool) -> list[dict[str, Any]]:
    import ibis

    found = filters.read({k: v for k, v in given.items() if k not in EXTRACTION_DATES}, also=(*PAGING, "text"))
    page, size = _paging(given)
    name, down = _sort(given, REVISION_SORTS, "timestamp")
    with opened() as lake:
        table = filters.apply(lake.revisions, named(found))
        table = _extracted_on(lake, table, given)
        order = [ibis.desc(key) if down else ibis.asc(key) for key in dict.fromkeys((name, "revid"))]
        if cursor := given.get("cursor"):
            table = _after(table, name, down, str(cursor))
            page = 1
        shown = table.drop("fingerprint", "version").order_by(order).limit(size, offset=(page - 1) * size)
        if text:
            texts = lake.texts.select(found_sha1="sha1", text="text").distinct(on="found_sha1")
            joined = shown.left_join(texts, shown.text_sha1 == texts.found_sha1).drop("found_sha1")
            shown = joined.order_by(order)
        return [_row(row) for row in lake.rows(shown)]


def cursor_of(row: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Where the next part of a list of revisions begins."""
    import base64

    name, _ = _sort(given, REVISION_SORTS, "timestamp")
    value = row[name]
    return base64.urlsafe_b64encode(msgspec.json.encode([value, row["revid"]])).decode().rstrip("=")


def every_revision(actor: Actor, given: Mapping[str, Any], text: bool = False) -> Iterator[dict[str, Any]]:
    """All revisions that are meant, in parts, for a stream of lines."""
    if given.get("page") or given.get("page_size") or given.get("cursor"):
        yield from revisions(actor, given, text)
        return
    cursor = ""
    while True:
        part = revisions(actor, {**given, "page_size": MAX_PAGE_SIZE, "cursor": cursor}, text)
        yield from part
        if len(part) < MAX_PAGE_SIZE:
            return
        cursor = cursor_of(part[-1], given)


def count(actor: Actor, given: Mapping[str, Any]) -> int:
    require(actor, "wiki.read")
    return _count(dict(given))


@of_the_lake
def _count(given: dict[str, Any]) -> int:
    found = named(filters.read(given))
    return int(cached(("count", found), lambda lake: lake.value(filters.apply(lake.revisions, found).count())))


def avg(actor: Actor, given: Mapping[str, Any]) -> float:
    """Revisions a day, from `datestart` to `dateend`, both of which are required and count."""
    require(actor, "wiki.read")
    found = filters.read(given)
    if not found.datestart or not found.dateend:
        raise Invalid("datestart and dateend are required: the average is per day between them, both included")
    start, end = filters.period(found)
    assert start is not None
    assert end is not None
    days = (end - start) / timedelta(days=1)
    return _count(dict(given)) / days


def mode(actor: Actor, attribute: str, given: Mapping[str, Any]) -> Mode:
    """The most frequent value; where several are, all of them."""
    require(actor, "wiki.read")
    if attribute not in MODES:
        raise Invalid(f"there is no mode of {attribute!r}; attribute is one of {', '.join(MODES)}")
    values, number = _modes(attribute, dict(given))
    return Mode(values[0] if values else None, number, values)


@of_the_lake
def _modes(attribute: str, given: dict[str, Any]) -> tuple[list[Any], int]:
    found = named(filters.read(given))

    def ask(lake: Lake) -> list[dict[str, Any]]:
        import ibis

        from hemeroteca.wiki import metrics

        table = filters.apply(lake.revisions, found)
        value = table.timestamp.date() if attribute == "date" else table[attribute]
        counted = table.filter(value.notnull()).group_by(value=value).aggregate(count=ibis._.count())
        return lake.rows(metrics.most(counted).order_by("value").limit(MAX_PAGE_SIZE))

    rows = cached(("mode", attribute, found), ask)
    values = [row["value"].isoformat() if attribute == "date" else row["value"] for row in rows]
    return values, rows[0]["count"] if rows else 0


def metrics_of(
    actor: Actor, given: Mapping[str, Any], names: tuple[str, ...] = (), engine: str = "duckdb"
) -> dict[str, Any]:
    """Metrics of the revisions that are meant: those named, or all. `reverts`, `authors`, `countries` among them."""
    require(actor, "wiki.read")
    return _metrics_of(dict(given), list(names), engine)


@of_the_lake
def _metrics_of(given: dict[str, Any], names: list[str], engine: str) -> dict[str, Any]:
    from hemeroteca.wiki import countries, metrics

    found = named(filters.read(given))
    every = (*metrics.METRICS, "reverts", "authors", "countries")
    atlas = settings.CONFIG.wiki_countries
    for name in names:
        if name not in every:
            raise Invalid(f"there is no metric {name!r}; there are {', '.join(every)}")
    wanted = tuple(names) or every

    def ask(lake: Lake) -> dict[str, Any]:
        plain = tuple(name for name in wanted if name in metrics.METRICS)
        result = metrics.measure(lake, found, plain, _bots(found)) if plain else {}
        if "reverts" in wanted:
            result["reverts"] = msgspec.to_builtins(metrics.reverted(lake, found))
            for war in result["reverts"]["wars"]:
                war["start"], war["end"] = timestamps.iso(war["start"]), timestamps.iso(war["end"])
        if "authors" in wanted and (found.title or found.pageid is not None):
            result["authors"] = msgspec.to_builtins(metrics.authors(lake, found))
        if "countries" in names or (atlas and "countries" in wanted):
            result["countries"] = msgspec.to_builtins(countries.countries(atlas, metrics.addresses(lake, found)))
        return msgspec.to_builtins({name: _stamped(rows) for name, rows in result.items()})

    if engine != "duckdb":
        with opened(engine) as lake:
            return ask(lake)
    return cached(("metrics", found, list(wanted)), ask)


def as_csv(found: Mapping[str, Any]) -> str:
    """One metric as CSV, its names first."""
    from hemeroteca import spreadsheet

    rows = next(iter(found.values())) if len(found) == 1 else None
    if not isinstance(rows, list):
        raise Invalid("a table in CSV is one metric; name it (`metric=editors`, `--only editors`); reverts is none")
    return spreadsheet.text([rows[0], *(row.values() for row in rows)], "\n") if rows else ""


@of_the_lake
def charts(found: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics as Vega-Lite specifications, those that can be drawn."""
    from hemeroteca.wiki import metrics

    made = {name: metrics.chart(name, rows) for name, rows in found.items() if name in metrics.METRICS}
    return {name: spec for name, spec in made.items() if spec}


def compare(actor: Actor, titles: Sequence[str], locale: str = "", wiki: str = "") -> dict[str, Any]:
    """Several articles beside each other: numbers of each, and the edits of each month."""
    require(actor, "wiki.read")
    named = list(dict.fromkeys(title.strip() for title in titles if title.strip()))
    if not 2 <= len(named) <= MAX_COMPARED:
        raise Invalid(f"name 2 to {MAX_COMPARED} articles to compare, not {len(named)}")
    found = [find_article(actor, title, locale, wiki) for title in named]
    return _compared([(article.wiki.name, article.pageid) for article in found])


def compare_articles(actor: Actor, numbers: Sequence[int]) -> dict[str, Any]:
    """The same, by the numbers of their rows."""
    require(actor, "wiki.read")
    found = list(Article.objects.select_related("wiki").filter(pk__in=[n for n in numbers if 0 < n < 1 << 63]))
    if not 2 <= len(found) <= MAX_COMPARED:
        raise Invalid(f"choose 2 to {MAX_COMPARED} articles to compare, not {len(found)}")
    return _compared([(article.wiki.name, article.pageid) for article in found])


@of_the_lake
def _compared(pages: list[tuple[str, int]]) -> dict[str, Any]:
    from hemeroteca.wiki import metrics

    def ask(lake: Lake) -> dict[str, Any]:
        result = metrics.compare(lake, pages)
        return msgspec.to_builtins({name: _stamped(rows) for name, rows in result.items()})

    return cached(("compare", pages), ask)


def trends(actor: Actor, days: int = 7, locale: str = "", now: datetime | None = None) -> dict[str, Any]:
    """Articles, and categories of them, that were edited unusually often in the last days."""
    require(actor, "wiki.read")
    if not 1 <= days <= 366:
        raise Invalid(f"days is 1 to 366, not {days}")
    return _trends(days, locale, timestamps.iso(int((now or datetime.now(UTC)).timestamp() // 60) * 60_000))


@of_the_lake
def _trends(days: int, locale: str, now: str) -> dict[str, Any]:
    import ibis

    from hemeroteca.wiki import metrics

    moment = datetime.fromisoformat(now).replace(tzinfo=None)
    with opened() as lake:
        table = filters.apply(lake.revisions, Filters(locale=locale))
        table = table.filter(~table.gone)
        found = lake.rows(metrics.unusual(table, ibis.literal(moment), days))
        categories = lake.articles.select("wiki", "pageid", "categories").unnest("categories")
        joined = table.inner_join(categories, ["wiki", "pageid"])
        grouped = joined.mutate(title=joined.categories, pageid=ibis.literal(0))
        by_category = lake.rows(metrics.unusual(grouped, ibis.literal(moment), days))
    return {
        "days": days,
        "articles": _stamped(found),
        "categories": [
            {"wiki": row["wiki"], "category": row["title"], **{k: row[k] for k in ("recent", "expected", "score")}}
            for row in by_category
        ],
    }


def _bots(found: Filters) -> list[str]:
    wikis = Wiki.objects.filter(name=found.wiki) if found.wiki else Wiki.objects.all()
    return sorted({name for wiki in wikis for name in wiki.bots})


def status(actor: Actor, number: int) -> dict[str, Any]:
    """A job of this room as the founding work told it: `state` and `status`."""
    job = jobs.find(actor, number)
    if not job.kind.startswith("wiki."):
        raise NotFound(f"job {number} is about no wiki; `hemeroteca job show {number}` tells of it")
    facts = jobs.facts(actor, job)
    text = facts.message or {"done": "all revisions were extracted", "queued": "waiting"}.get(facts.state, facts.state)
    if isinstance(facts.result, dict) and (cut := facts.result.get("limited")) and not facts.message:
        most = facts.result["max_revisions"]
        first = "the first revision was" if most == 1 else f"the first {most} revisions were"
        text = f"{first} extracted of {', '.join(cut[:20])}"
    return {
        "state": STATES[facts.state],
        "status": text,
        "job": facts.id,
        "kind": facts.kind,
        "revisions": facts.done,
        "result": facts.result,
    }


def etag(*parts: object) -> str:
    """Of an answer: what was asked and the version of the lake."""
    text = msgspec.json.encode([commits.current_version(), *[str(part) for part in parts]])
    return f'"{hashlib.blake2b(text, digest_size=12).hexdigest()}"'


@contextmanager
def opened(engine: str = "duckdb") -> Iterator[Lake]:
    """The lake as it is committed now."""
    from hemeroteca.lake.query_engine import Lake

    try:
        lake = Lake(commits.lake_files(), commits.manifest(), engine)
    except ModuleNotFoundError as error:
        raise Unavailable(str(error))
    try:
        yield lake
    finally:
        lake.close()


def cached(key: tuple[Any, ...], ask: Any) -> Any:
    """An answer of this version of the lake: from memory, or asked for now."""
    if (known := answer_cache.recall(key)) is not None:
        return known
    version = commits.current_version()
    with opened() as lake:
        found = ask(lake)
    answer_cache.remember(key, found, version)
    return found


def named(found: Filters) -> Filters:
    """The same, about articles that are kept: a title that one had earlier means that one. Raises NotFound.

    0 is an answer about something that is kept; what is not kept would have the same number, and mean something else.
    """
    kept: QuerySet[Article] = Article.objects.select_related("wiki")
    if found.wiki:
        if not Wiki.objects.filter(name=found.wiki).exists():
            names = ", ".join(Wiki.objects.order_by("name").values_list("name", flat=True)[:10]) or "none"
            raise NotFound(f"nothing is kept of a wiki named {found.wiki!r}; there are {names}")
        kept = kept.filter(wiki__name=found.wiki)
    if found.locale:
        kept = kept.filter(wiki__locale=found.locale)
    if found.pageid is not None:
        kept = kept.filter(pageid=found.pageid)
        if not kept.exists():
            raise NotFound(f"no article with the pageid {found.pageid} is kept; {_HOW_TO_KEEP}")
    if not found.title or kept.filter(title=found.title).exists():
        return found
    for article in kept.exclude(former_titles=[]):
        if found.title in article.former_titles:
            return msgspec.structs.replace(found, title="", pageid=article.pageid, wiki=article.wiki.name)
    if kept.filter(title=capital(found.title)).exists():
        return msgspec.structs.replace(found, title=capital(found.title))
    raise NotFound(f"no article {found.title!r} is kept; {_HOW_TO_KEEP}")


def capital(title: str) -> str:
    """A title as most wikis write it: they begin with a capital, however people type it."""
    return title[:1].upper() + title[1:]


def _extracted_on(lake: Lake, table: Any, given: Mapping[str, Any]) -> Any:
    """The three dates of extraction: of the revision, and the article's first and last."""
    for name in EXTRACTION_DATES:
        if not given.get(name):
            continue
        start = filters.day(str(given[name]), name)
        end = start + timedelta(days=1)
        if name == "extraction_date":
            table = table.filter(table.extraction_date >= start, table.extraction_date < end)
            continue
        column = lake.articles[name]
        meant = lake.articles.filter(column >= start, column < end).select("wiki", "pageid")
        table = table.semi_join(meant, ["wiki", "pageid"])
    return table


def _after(table: Any, name: str, down: bool, cursor: str) -> Any:
    import base64
    import binascii

    try:
        value, revid = msgspec.json.decode(
            base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=tuple[Any, int]
        )
        if name in ("timestamp", "extraction_date"):
            value = datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None)
        elif not isinstance(value, type(None) | int if name in ("revid", "size", "pageid") else type(None) | str):
            raise ValueError(name)
    except (binascii.Error, ValueError, msgspec.DecodeError, TypeError):
        raise Invalid("this cursor is not one of ours; begin again without it")
    column, number = table[name], table.revid
    if value is None:
        return table.filter(column.isnull(), number < revid if down else number > revid)
    later = (column < value if down else column > value) | column.isnull()  # what is hidden comes last
    return table.filter(later | ((column == value) & (number < revid if down else number > revid)))


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Times as RFC 3339 in UTC."""
    for name, value in row.items():
        if isinstance(value, datetime):
            row[name] = value.replace(tzinfo=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return row


def _stamped(rows: Any) -> Any:
    return [_row(row) if isinstance(row, dict) else row for row in rows] if isinstance(rows, list) else rows


def _sort(given: Mapping[str, Any], allowed: tuple[str, ...], usual: str) -> tuple[str, bool]:
    text = str(given.get("sort") or usual)
    name = text[1:] if text[0] in "-+" else text
    if name not in allowed:
        raise Invalid(f"sort is one of {', '.join(allowed)} (with a minus before it: descending), not {text!r}")
    return name, text.startswith("-")


def _paging(given: Mapping[str, Any]) -> tuple[int, int]:
    page = _whole("page", given.get("page") or 1)
    size = _whole("page_size", given.get("page_size") or 100)
    if page < 1 or page > 1 << 40 or not 1 <= size <= MAX_PAGE_SIZE:
        raise Invalid(f"page begins with 1, and page_size is 1 to {MAX_PAGE_SIZE}")
    return page, size


def _whole(name: str, value: Any) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise Invalid(f"{name} is a whole number, not {value!r}")
    if abs(number) >= 1 << 63:
        raise Invalid(f"{name} is out of range: {value}")
    return number


def _moment(ms: int) -> datetime | None:
    return datetime.fromtimestamp(ms / 1000, UTC).replace(microsecond=0) if ms else None


def _ms(moment: datetime | None) -> int:
    return int(moment.timestamp() * 1000) if moment else 0
