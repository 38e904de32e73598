"""/wiki: histories of MediaWiki articles, with the founding work's names."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Body, Path, Query, Schema
from pydantic import Discriminator, Field, Tag

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.errors import Invalid
from hemeroteca.wiki import free_queries, queries, services

Job = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the job.")]
Attribute = Annotated[
    Literal["title", "pageid", "user", "userid", "date", "size"], Query(description="What is counted.")
]


class FilterQuery(Schema):
    title: str = Field("", max_length=400, description="Only of the article with this title, or one it had.")
    pageid: int | None = Field(None, ge=0, lt=1 << 63, description="Only of the page with this number.")
    user: str = Field("", max_length=400, description="Only by this user.")
    userid: int | None = Field(None, ge=0, lt=1 << 63, description="Only by the user with this number.")
    tag: str = Field("", max_length=400, description="Only with this tag.")
    size: int | None = Field(None, ge=0, lt=1 << 63, description="Bytes; `sizematch` says how they are compared.")
    sizematch: int | None = Field(None, ge=-1000, le=1000, description="> 0: larger than size, < 0: smaller, 0: equal.")
    date: str = Field("", max_length=40, description="Only of this day (UTC).")
    datestart: str = Field("", max_length=40, description="Only from this day on; missing: the first revision.")
    dateend: str = Field("", max_length=40, description="Only up to this day, which counts; missing: now.")
    locale: str = Field("", max_length=40, description="Only of wikis in this language.")
    wiki: str = Field("", max_length=300, description="Only of the wiki with this name, such as es.wikipedia.org.")


class PageQuery(Schema):
    page: int = Field(1, ge=1, lt=1 << 40, description="Which part of the list, beginning with 1.")
    page_size: int = Field(100, ge=1, le=1000, description="Items in one part.")
    sort: str = Field("", max_length=40, description="Name of a field; with a minus before it: descending.")
    cursor: str = Field("", max_length=400, description="`next_cursor` of the answer before, instead of `page`.")


class ExtractionDates(Schema):
    extraction_date: str = Field("", max_length=40, description="Only what was extracted on this day.")
    first_extraction_date: str = Field("", max_length=40, description="Only of articles first extracted on this day.")
    last_extraction_date: str = Field("", max_length=40, description="Only of articles last extracted on this day.")


class ArticleQuery(Schema):
    title: str = Field("", max_length=400, description="Only the article with this title.")
    pageid: int | None = Field(None, ge=0, lt=1 << 63, description="Only the page with this number.")
    ns: int | None = Field(None, ge=-2, le=100_000, description="Only of this namespace.")
    locale: str = Field("", max_length=40, description="Only of wikis in this language.")
    wiki: str = Field("", max_length=300, description="Only of the wiki with this name.")
    first_extraction_date: str = Field("", max_length=40, description="Only those first extracted on this day.")
    last_extraction_date: str = Field("", max_length=40, description="Only those last extracted on this day.")


class ArticleOut(Schema):
    ns: int = Field(description="Namespace.")
    pageid: int = Field(description="MediaWiki's number of the page.")
    title: str = Field(description="Title of today.")
    locale: str = Field(description="Language of its wiki.")
    first_extraction_date: datetime | None = Field(description="When its first revision was kept.")
    last_extraction_date: datetime | None = Field(description="When the wiki was last asked.")
    last_revision_extracted: int = Field(description="Number of the newest revision kept.")
    wiki: str = Field(description="Name of its wiki.")
    revisions: int = Field(description="Revisions kept.")
    complete: bool = Field(description="Whether all of them are.")
    limited: bool = Field(description="Whether an extraction ended at its limit.")
    text: bool = Field(description="Whether texts are kept too.")
    deleted: bool = Field(description="Whether the wiki has it no more.")
    source: str = Field(description="api, export, history or dump.")
    policy: str = Field(description="When it is looked at again: auto or exponential.")
    due: datetime | None = Field(description="When that is.")


class ArticlesOut(Schema):
    items: list[ArticleOut] = Field(description="This part of the list.")
    total: int = Field(description="How many there are in all.")


class RevisionsOut(Schema):
    items: list[dict[str, Any]] = Field(description="Revisions with MediaWiki's names of their parts.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get what follows; null at the end.")


class ExtractIn(RequestBody):
    url: str = Field("", max_length=2000, description="Address of an article. This or `title` is required.")
    title: str = Field("", max_length=400, description="Title of an article.")
    locale: str = Field(
        "en", max_length=400, description="Language of the Wikipedia that has it, or address of an API."
    )
    titles: list[Annotated[str, Field(max_length=400)]] = Field(
        [], max_length=services.MAX_TITLES, description="Titles of several articles."
    )
    category: str = Field("", max_length=400, description="Articles of this category, instead of titles.")
    depth: int = Field(0, ge=0, le=50, description="Categories below it that are followed.")
    search: str = Field("", max_length=400, description="Articles that the wiki's own search finds.")
    user: str = Field("", max_length=400, description="Articles that this user edited.")
    whole: bool = Field(False, description="Every article of the wiki.")
    text: bool = Field(False, description="Texts too.")
    max_revisions: int = Field(0, ge=0, lt=1 << 53, description="Of each the oldest so many at most; 0: all.")
    policy: str = Field("", max_length=12, description="When to look again: auto, exponential or never.")
    workers: int = Field(1, ge=1, le=services.MAX_WORKERS, description="Cut the order into so many jobs.")


class ExtractionStatusOut(Schema):
    state: str = Field(description="PENDING, PROGRESS, SUCCESS, FAILURE or REVOKED.")
    status: str = Field(description="What it does now, or how it ended.")
    job: int = Field(description="Number of the job.")
    kind: str = Field(description="What is done.")
    revisions: int = Field(description="Revisions kept so far.")
    result: Any = Field(description="What came of it, once it is done.")


class CountOut(Schema):
    count: int = Field(description="Revisions.")


class AvgOut(Schema):
    avg: float = Field(description="Revisions a day.")


class ModeOut(Schema):
    mode: Any = Field(description="The most frequent value; null when there is none.")
    count: int = Field(description="How often.")
    modes: list[Any] = Field(description="All values that are as frequent.")


class QueryIn(RequestBody):
    sql: str = Field("", max_length=20_000, description="One SELECT. This or `pipeline`.")
    pipeline: list[dict[str, Any]] | None = Field(None, description="Stages: $match, $project, $group, $sort, …")
    collection: str = Field("revisions", max_length=40, description="Of a pipeline: revisions, articles, texts, …")
    date_format: str = Field("", max_length=40, description="How a pipeline writes times, like %Y-%m-%d.")


QueryBody = Annotated[
    Annotated[QueryIn, Tag("object")] | Annotated[list[dict[str, Any]], Tag("array")],
    Discriminator(lambda given: "array" if isinstance(given, list) else "object"),
]


class QueryOut(Schema):
    columns: list[str] = Field(description="Names of the columns.")
    rows: list[list[Any]] = Field(description="Rows.")
    truncated: bool = Field(description="Whether there were more rows than are given.")


class TrendsOut(Schema):
    days: int = Field(description="The last so many days.")
    articles: list[dict[str, Any]] = Field(description="Articles edited unusually often.")
    categories: list[dict[str, Any]] = Field(description="Categories of such articles.")


class CompareOut(Schema):
    articles: list[dict[str, Any]] = Field(description="Numbers of each article.")
    months: list[dict[str, Any]] = Field(description="Edits of each month and article.")


def articles(request: HttpRequest, which: Query[ArticleQuery], part: Query[PageQuery]) -> ArticlesOut:
    """Unknown parameters are refused, with those that are allowed."""
    given = _given(which, part)
    found, total = queries.articles(access.caller(request), given)
    return ArticlesOut(items=[filled(ArticleOut, article) for article in found], total=total)


def revisions(
    request: HttpRequest,
    which: Query[FilterQuery],
    dates: Query[ExtractionDates],
    part: Query[PageQuery],
    text: Annotated[bool, Query(description="With their texts.")] = False,
) -> RevisionsOut:
    """`page` and `page_size`, or `cursor`, which stays right while revisions are added."""
    given = _given(which, dates, part)
    rows = queries.revisions(access.caller(request), given, text)
    more = len(rows) == part.page_size
    return RevisionsOut(items=rows, next_cursor=queries.cursor_of(rows[-1], given) if more else None)


def extract(request: HttpRequest, order: ExtractIn) -> HttpResponse:
    """202 with `Location`, where the state of the extraction is."""
    job = services.extract(
        access.caller(request),
        url=order.url,
        titles=(*((order.title,) if order.title else ()), *order.titles),
        locale=order.locale,
        category=order.category,
        depth=order.depth,
        search=order.search,
        user=order.user,
        whole=order.whole,
        text=order.text,
        max_revisions=order.max_revisions,
        policy=order.policy,
        workers=order.workers,
    )
    place = f"{settings.CONFIG.public_url.rstrip('/')}/api/v1/wiki/status/{job.pk}"
    response = HttpResponse(
        ExtractionStatusOut(**queries.status(access.caller(request), job.pk)).model_dump_json(),
        status=202,
        content_type="application/json",
    )
    response.headers["Location"] = place
    return response


def status(request: HttpRequest, job: Job) -> ExtractionStatusOut:
    return ExtractionStatusOut(**queries.status(access.caller(request), job))


def count(request: HttpRequest, response: HttpResponse, which: Query[FilterQuery]) -> CountOut:
    """How many revisions there are; 404 where the article or wiki that is named is not kept."""
    given = _given(which)
    _tag(response, "count", given)
    return CountOut(count=queries.count(access.caller(request), given))


def avg(request: HttpRequest, response: HttpResponse, which: Query[FilterQuery]) -> AvgOut:
    """Per day; `datestart` and `dateend` are required, and both count."""
    given = _given(which)
    _tag(response, "avg", given)
    return AvgOut(avg=queries.avg(access.caller(request), given))


def mode(request: HttpRequest, response: HttpResponse, attribute: Attribute, which: Query[FilterQuery]) -> ModeOut:
    """Where several values are as frequent, all of them are given."""
    given = _given(which)
    _tag(response, "mode", attribute, given)
    return filled(ModeOut, queries.mode(access.caller(request), attribute, given))


def metrics(
    request: HttpRequest,
    response: HttpResponse,
    which: Query[FilterQuery],
    metric: Annotated[str, Query(max_length=400, description="Names with a comma between them; empty: all.")] = "",
    form: Annotated[
        Literal["json", "csv", "chart"],
        Query(alias="format", description="csv: one metric that is a table. chart: Vega-Lite specifications."),
    ] = "json",
) -> Any:
    """Edits over time, editors, concentration, reverts, authorship, …"""
    given = _given(which)
    names = tuple(name.strip() for name in metric.split(",") if name.strip())
    found = queries.metrics_of(access.caller(request), given, names)
    if form == "csv":
        answer = HttpResponse(queries.as_csv(found), content_type="text/csv; charset=utf-8")
        _tag(answer, "metrics", metric, form, given)
        return answer
    _tag(response, "metrics", metric, form, given)
    return queries.charts(found) if form == "chart" else found


def compare(
    request: HttpRequest,
    response: HttpResponse,
    title: Annotated[list[str], Query(max_length=queries.MAX_COMPARED, description="An article; several times.")],
    locale: Annotated[str, Query(max_length=40, description="Only of wikis in this language.")] = "",
    wiki: Annotated[str, Query(max_length=300, description="Only of the wiki with this name.")] = "",
) -> CompareOut:
    """Edits, editors, reverts, concentration and size of 2 to 10 articles, and the edits of each month."""
    _tag(response, "compare", title, locale, wiki)
    return CompareOut(**queries.compare(access.caller(request), title, locale, wiki))


def trends(
    request: HttpRequest,
    days: Annotated[int, Query(ge=1, le=366, description="The last so many days.")] = 7,
    locale: Annotated[str, Query(max_length=40, description="Only of wikis in this language.")] = "",
) -> TrendsOut:
    """Articles and categories that are edited unusually often."""
    return TrendsOut(**queries.trends(access.caller(request), days, locale))


def query(
    request: HttpRequest,
    response: HttpResponse,
    order: Body[QueryBody],
    collection: Annotated[str, Query(max_length=40, description="Of a pipeline sent as an array.")] = "revisions",
    date_format: Annotated[str, Query(max_length=40, description="The same: how it writes times.")] = "",
) -> QueryOut:
    """Read-only SQL (DuckDB's), or an aggregation pipeline; run by a process that can open nothing else.

    A pipeline may also be the body itself, a JSON array, with `collection` and `date_format` as parameters.
    """
    if isinstance(order, list):
        order = QueryIn(sql="", pipeline=order, collection=collection, date_format=date_format)
    if bool(order.sql) == (order.pipeline is not None):
        raise Invalid("send either `sql` or `pipeline`")
    _tag(response, "query", order.model_dump_json())
    caller = access.caller(request)
    if order.sql:
        answer = free_queries.sql(caller, order.sql)
    else:
        answer = free_queries.pipeline(caller, order.pipeline, order.collection, order.date_format)
    return QueryOut(columns=list(answer.columns), rows=[list(row) for row in answer.rows], truncated=answer.truncated)


def _given(*shapes: Schema) -> dict[str, Any]:
    """What was asked for by name."""
    values = {name: value for shape in shapes for name, value in shape.model_dump().items()}
    return {name: value for name, value in values.items() if value not in (None, "")}


def _tag(response: HttpResponse, *parts: object) -> None:
    """The answer stays the same until something is committed to the lake."""
    response.headers["ETag"] = queries.etag(*parts)
    response.headers["Cache-Control"] = "private, no-cache"
