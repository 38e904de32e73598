"""Wikis: articles whose histories are kept, their extraction, their numbers, and questions of one's own."""

from typing import Any

import msgspec
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from hemeroteca import spreadsheet
from hemeroteca.accounts import Actor
from hemeroteca.console import charts, jobs
from hemeroteca.console.search import number_in
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Invalid, Refused
from hemeroteca.jobs import queries as job_queries
from hemeroteca.outgoing import download
from hemeroteca.warc.timestamps import from_iso
from hemeroteca.wiki import free_queries, queries, services

ARTICLES = 50
REVISIONS = 30
SHOWN_ROWS = 200  # of an answer; the download has all
KINDS = {
    "registered": gettext_lazy("registered"),
    "temporary": gettext_lazy("temporary accounts"),
    "ip": gettext_lazy("IP addresses"),
    "bot": gettext_lazy("bots"),
    "hidden": gettext_lazy("hidden"),
}
POLICIES = {
    "auto": gettext_lazy("when a change is likely or announced"),
    "exponential": gettext_lazy("daily at 00:00 UTC, by the exponential rule"),
    "never": gettext_lazy("never by itself"),
}
WHOLE = gettext_lazy("the whole wiki")
SOURCES = {
    "api": gettext_lazy("by the wiki's API"),
    "export": gettext_lazy("by Special:Export"),
    "history": gettext_lazy("by the pages of its history"),
    "dump": gettext_lazy("from a dump"),
}
WEEKDAYS = (
    *(gettext_lazy("Monday"), gettext_lazy("Tuesday"), gettext_lazy("Wednesday"), gettext_lazy("Thursday")),
    *(gettext_lazy("Friday"), gettext_lazy("Saturday"), gettext_lazy("Sunday")),
)
ON_THE_PAGE = (
    "summary", "edits_per_hour", "edits_per_weekday", "edits_per_month", "time_between_edits", "editors",
    "concentration", "kinds", "minor", "sizes", "largest_additions", "largest_deletions", "tags", "busiest_days",
    "reverts",
)  # fmt: skip
EXAMPLES: tuple[tuple[Any, str], ...] = (
    (
        gettext_lazy("Who edited most"),
        "SELECT user, count(*) AS edits FROM revisions GROUP BY user ORDER BY edits DESC LIMIT 20",
    ),
    (
        gettext_lazy("Edits of each month and article"),
        "SELECT date_trunc('month', timestamp) AS month, title, count(*) AS edits\nFROM revisions\n"
        "GROUP BY ALL ORDER BY month",
    ),
    (
        gettext_lazy("Bytes added on weekends"),
        "SELECT title, sum(greatest(delta, 0)) AS added\nFROM (\n  SELECT title, timestamp,\n"
        "    size - coalesce(lag(size) OVER (PARTITION BY wiki, pageid ORDER BY timestamp, revid), 0) AS delta\n"
        "  FROM revisions)\nWHERE dayofweek(timestamp) IN (0, 6)\nGROUP BY title ORDER BY added DESC",
    ),
    (
        gettext_lazy("Who left less than 100 bytes (a pipeline)"),
        '[\n  {"$match": {"size": {"$lt": 100}}},\n  {"$group": {"_id": "$user", "edits": {"$sum": 1}}},\n'
        '  {"$sort": {"edits": -1}},\n  {"$limit": 20}\n]',
    ),
    (
        gettext_lazy("Edits of each year (a pipeline)"),
        '[\n  {"$group": {"_id": {"year": {"$year": "$timestamp"}}, "edits": {"$sum": 1}}},\n'
        '  {"$project": {"year": "$_id.year", "edits": 1}},\n  {"$sort": {"year": 1}}\n]',
    ),
)


def articles(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    asked = {name: request.GET.get(name, "").strip() for name in ("contains", "wiki", "sort")}
    page = max(1, number_in(request.GET.get("page", ""), 1))
    failure = ""
    given = {name: value for name, value in asked.items() if value}
    try:
        found, total = queries.articles(actor, {**given, "page": page, "page_size": ARTICLES})
    except Invalid as error:
        found, total, failure = [], 0, str(error)
    context = {
        "articles": found,
        "total": total,
        "asked": asked,
        "filtered": any(asked[name] for name in ("contains", "wiki")),
        "wikis": queries.wikis(actor),
        "page": page,
        "last": max(1, -(-total // ARTICLES)),
        "jobs": _extractions(actor, running=True),
        "failure": failure,
    }
    return render(request, "console/wiki_articles.html", context, status=422 if failure else 200)


def extract(request: HttpRequest) -> HttpResponse:
    """Order an extraction, and see how far those of late are."""
    actor = Actor.of(request.user)
    form = {"wiki": "", "titles": "", "category": "", "depth": "", "search": "", "user": "", "max_revisions": ""}
    form |= {"policy": "auto", "text": "", "whole": "", "workers": ""}
    failure = ""
    if request.method == "POST":
        form = {name: request.POST.get(name, "").strip() for name in form}
        try:
            job = _order(actor, form)
            return redirect(f"{request.path}?job={job.pk}")
        except Refused as error:
            failure = str(error)
    number = number_in(request.GET.get("job", ""), 0)
    job = job_queries.find(actor, min(number, (1 << 63) - 1)) if number else None
    context = {
        "form": form,
        "failure": failure,
        "job": jobs.shown(actor, job) if job else None,
        "result": job.result if job and isinstance(job.result, dict) else None,
        "jobs": _extractions(actor),
        "policies": POLICIES.items(),
    }
    return render(request, "console/wiki_extract.html", context, status=422 if failure else 200)


def article(request: HttpRequest, number: int) -> HttpResponse:
    actor = Actor.of(request.user)
    found = queries.article(actor, number)
    if request.method == "POST":
        return _act(request, actor, found)
    period = {name: request.GET.get(name, "").strip() for name in ("datestart", "dateend")}
    failure, numbers = "", {}
    given = {"pageid": found.pageid, "wiki": found.wiki, **{name: day for name, day in period.items() if day}}
    try:
        numbers = queries.metrics_of(actor, given, ON_THE_PAGE)
    except Refused as error:
        failure = str(error)
    latest = queries.revisions(actor, {**given, "sort": "-timestamp", "page_size": REVISIONS}) if numbers else []
    context = {
        "article": found,
        "period": period,
        "failure": failure,
        "numbers": numbers,
        "summary": _first(numbers, "summary"),
        "concentration": _first(numbers, "concentration"),
        "minor": _first(numbers, "minor"),
        "gaps": _first(numbers, "time_between_edits"),
        "charts": _charts(numbers),
        "reverts": numbers.get("reverts", {}),
        "additions": _deltas(numbers, "largest_additions"),
        "deletions": _deltas(numbers, "largest_deletions"),
        "revisions": [{**row, "at_ms": from_iso(row["timestamp"])} for row in latest],
        "policies": POLICIES.items(),
        "tables": [name for name in ON_THE_PAGE if isinstance(numbers.get(name), list)],
        "address": queries.address_of(found),
        "source": SOURCES.get(found.source, found.source),
        "followed": queries.is_followed(found),
    }
    return render(request, "console/wiki_article.html", context, status=422 if failure else 200)


def authors(request: HttpRequest, number: int) -> HttpResponse:
    """Whose words the article is made of: counted word by word, so the page asks for it by itself."""
    actor = Actor.of(request.user)
    found = queries.article(actor, number)
    rows = queries.metrics_of(actor, {"pageid": found.pageid, "wiki": found.wiki}, ("authors",)).get("authors", [])
    spec = charts.spec(
        [{_("author"): row["user"] or _("hidden"), _("share"): round(100 * row["share"], 1)} for row in rows[:15]],
        _("author"), _("share"), kind="nominal", titles=(_("author"), _("share of the words of today, in %")),
    )  # fmt: skip
    return render(request, "console/wiki_authors.html", {"rows": rows[:30], "spec": spec})


def table(request: HttpRequest, number: int, name: str) -> HttpResponse:
    """A metric of an article as CSV."""
    actor = Actor.of(request.user)
    found = queries.article(actor, number)
    days = {day: request.GET[day] for day in ("datestart", "dateend") if request.GET.get(day)}
    text = queries.as_csv(queries.metrics_of(actor, {"pageid": found.pageid, "wiki": found.wiki, **days}, (name,)))
    return download(text, f"{name}.csv")


def compare(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    chosen = [number_in(text, 0) for text in request.GET.getlist("article")][: queries.MAX_COMPARED + 1]
    result, failure, months, beside = None, "", None, []
    if len(chosen) > 1:  # one alone comes from its page: others are chosen beside it
        try:
            result = queries.compare_articles(actor, chosen)
        except Refused as error:
            failure = str(error)
    if result:
        beside = [
            {**row, "first_ms": from_iso(row["first"]), "last_ms": from_iso(row["last"])} for row in result["articles"]
        ]
        article, edits = _("article"), _("edits")
        rows = [{"month": row["month"], article: row["title"], edits: row["edits"]} for row in result["months"]]
        months = charts.spec(rows, "month", edits, "line", titles=(_("month"), edits), by=article, unit="yearmonth")
    found, total = queries.articles(actor, {"page_size": 200, "sort": "title"})
    context = {
        "articles": found,
        "more": total - len(found),
        "chosen": chosen,
        "beside": beside,
        "months": months,
        "failure": failure,
    }
    return render(request, "console/wiki_compare.html", context, status=422 if failure else 200)


def trends(request: HttpRequest) -> HttpResponse:
    days = min(max(number_in(request.GET.get("days", ""), 7), 1), 366)
    found = queries.trends(Actor.of(request.user), days)
    return render(request, "console/wiki_trends.html", {"found": found, "days": days, "choices": (1, 7, 30, 365)})


def query(request: HttpRequest) -> HttpResponse:
    """A question of one's own, in SQL or as a pipeline; its answer as a table, a chart or a file."""
    actor = Actor.of(request.user)
    example = number_in(request.GET.get("example", ""), 0)
    form = {"text": EXAMPLES[example][1] if 0 <= example < len(EXAMPLES) else "", "collection": "revisions"}
    form |= {"date_format": "", "x": "", "y": "", "mark": "bar", "do": ""}
    answer, failure = None, ""
    if request.method == "POST":
        form = {name: request.POST.get(name, "").strip() for name in form}
        try:
            answer = _ask(actor, form)
            if form["do"] in ("csv", "json"):
                return _answer_file(answer, form["do"])
        except Refused as error:
            failure = str(error)
    context = {
        "form": form,
        "failure": failure,
        "answer": answer,
        "rows": answer.rows[:SHOWN_ROWS] if answer else (),
        "spec": _drawn(answer, form) if answer else None,
        "examples": [(place, name) for place, (name, _text) in enumerate(EXAMPLES)],
        "collections": queries.COLLECTIONS,
        "columns": free_queries.columns(),
        "marks": {"bar": _("bars"), "line": _("lines"), "point": _("points")}.items(),
    }
    return render(request, "console/wiki_query.html", context, status=422 if failure else 200)


def _order(actor: Actor, form: dict[str, str]) -> Any:
    numbers: dict[str, int] = {}
    for name in ("depth", "max_revisions", "workers"):
        if form[name] and not form[name].isdecimal():
            raise Invalid(_("“%(text)s” is not a whole number.") % {"text": form[name][:40]})
        numbers[name] = int(form[name][:9] or 0)
    return services.extract(
        actor,
        wiki=form["wiki"],
        titles=tuple(form["titles"].splitlines()),
        category=form["category"],
        depth=min(numbers["depth"], 50),
        search=form["search"],
        user=form["user"],
        whole=bool(form["whole"]),
        text=bool(form["text"]),
        max_revisions=numbers["max_revisions"],
        policy=form["policy"],
        workers=numbers["workers"] or 1,
    )


def _act(request: HttpRequest, actor: Actor, found: Any) -> HttpResponse:
    try:
        if request.POST.get("do") == "policy":
            services.set_policy(actor, found.id, request.POST.get("policy", ""))
            messages.success(request, _("From now on: %(policy)s.") % {"policy": POLICIES[request.POST["policy"]]})
        else:
            job = services.extract(actor, wiki=queries.api_of(found), titles=(found.title,), text=found.text)
            extracting = request.path.rpartition("/articles/")[0]
            return redirect(f"{extracting}/extract?job={job.pk}")
    except Refused as error:
        messages.error(request, str(error))
    return redirect(request.path)


def _extractions(actor: Actor, running: bool = False) -> list[dict[str, Any]]:
    """Extractions of late, for those who may see jobs."""
    try:
        found = job_queries.recent(actor, 10, kind="wiki.extract")
    except Refused:
        return []
    shown = [{**jobs.shown(actor, job), "what": _what(job.arguments)} for job in found]
    return [job for job in shown if not job["ended"]] if running else shown


def _what(order: dict[str, Any]) -> str:
    """What an extraction is about, in a line."""
    named = ", ".join(order.get("titles", ())[:3]) + ("…" if len(order.get("titles", ())) > 3 else "")
    chosen = next((order[name] for name in ("category", "search", "user") if order.get(name)), "")
    return f"{named or chosen or str(WHOLE)} ({order.get('wiki', '')})"


def _first(numbers: dict[str, Any], name: str) -> dict[str, Any]:
    rows = numbers.get(name) or [{}]
    row = dict(rows[0])
    for moment in ("first", "last"):
        if row.get(moment):
            row[f"{moment}_ms"] = from_iso(row[moment])
    return row


def _deltas(numbers: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [{**row, "at_ms": from_iso(row["timestamp"])} for row in numbers.get(name, [])[:8]]


def _charts(numbers: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Specifications with their captions, in the reader's language."""
    if not numbers or not numbers["summary"][0]["edits"]:
        return []
    edits, size = _("edits"), _("bytes")
    made: list[tuple[str, Any, str, str, dict[str, Any]]] = [
        (_("Size after each edit"), [{"timestamp": r["timestamp"], size: r["size"]} for r in numbers["sizes"]],
         "timestamp", size, {"mark": "line", "titles": (_("time"), size)}),
        (_("Edits of each month"), [{"month": r["month"], edits: r["edits"]} for r in numbers["edits_per_month"]],
         "month", edits, {"titles": (_("month"), edits), "unit": "yearmonth"}),
        (_("Edits by day of the week"),
         [{_("day"): str(WEEKDAYS[r["weekday"]]), edits: r["edits"]} for r in numbers["edits_per_weekday"]],
         _("day"), edits, {"kind": "ordinal", "titles": (_("day"), edits)}),
        (_("Edits by hour (UTC)"), [{_("hour"): r["hour"], edits: r["edits"]} for r in numbers["edits_per_hour"]],
         _("hour"), edits, {"kind": "ordinal", "titles": (_("hour"), edits)}),
        (_("Who edited most"), [{_("user"): r["user"], edits: r["edits"]} for r in numbers["editors"][:15]],
         _("user"), edits, {"kind": "nominal", "titles": (_("user"), edits)}),
        (_("Kinds of accounts"),
         [{_("account"): str(KINDS.get(r["kind"], r["kind"])), edits: r["edits"]} for r in numbers["kinds"]],
         _("account"), edits, {"kind": "nominal", "titles": (_("account"), edits)}),
    ]  # fmt: skip
    if numbers["tags"]:
        name = _("tag")
        rows = [{name: row["tag"], edits: row["edits"]} for row in numbers["tags"][:15]]
        made.append((_("Tags"), rows, name, edits, {"kind": "nominal", "titles": (name, edits)}))
    return [(caption, charts.spec(rows, x, y, **options)) for caption, rows, x, y, options in made]


def _ask(actor: Actor, form: dict[str, str]) -> Any:
    if not form["text"]:
        raise Invalid(_("Write a SELECT, or a pipeline that begins with [."))
    if not form["text"].startswith("["):
        return free_queries.sql(actor, form["text"])
    try:
        stages = msgspec.json.decode(form["text"])
    except msgspec.DecodeError as error:
        raise Invalid(_("The pipeline is no JSON: %(reason)s") % {"reason": error})
    return free_queries.pipeline(actor, stages, form["collection"] or "revisions", form["date_format"])


def _drawn(answer: Any, form: dict[str, str]) -> Any:
    """The chart of an answer: the columns that were chosen, or else the first that go together."""
    if not answer.rows or len(answer.columns) < 2:
        return None
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    numeric = [name for name in answer.columns if isinstance(rows[0][name], int | float)]
    others = [name for name in answer.columns if name not in numeric]
    form["y"] = form["y"] if form["y"] in answer.columns else next(iter(numeric[::-1]), "")
    form["x"] = form["x"] if form["x"] in answer.columns else next(
        (name for name in (*others, *numeric) if name != form["y"]), ""
    )  # fmt: skip
    if not form["x"] or form["y"] not in numeric:
        return None
    first = rows[0][form["x"]]
    temporal = isinstance(first, str) and from_iso(first) is not None
    by = next((name for name in others if name != form["x"]), "") if temporal else ""
    mark = form["mark"] if form["mark"] in ("bar", "line", "point") else "bar"
    names = list(dict.fromkeys((form["x"], form["y"], *([by] if by else []))))
    safe = {name: _field(name) for name in names}
    values = [{safe[name]: row[name] for name in names} for row in rows]
    return charts.spec(
        values, safe[form["x"]], safe[form["y"]], mark, "temporal" if temporal else "nominal",
        (form["x"], form["y"]), by=safe.get(by, ""),
    )  # fmt: skip


def _field(name: str) -> str:
    """A name of a column as Vega-Lite takes it: dots and brackets would mean parts of a value."""
    return "".join("_" if sign in ".[]\\'\"" else sign for sign in name) or "_"


def _answer_file(answer: Any, form: str) -> HttpResponse:
    if form == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        return download(msgspec.json.encode(rows).decode(), "answer.json", "application/json")
    return download(spreadsheet.text([answer.columns, *answer.rows], "\n"), "answer.csv")


SECTION = Section(
    "wiki",
    gettext_lazy("Wikis"),
    (
        ConsolePage("wiki", "wiki", articles, "wiki.read"),
        ConsolePage("wiki/articles/<int:number>", "wiki-article", article, "wiki.read", "wiki.extract"),
        ConsolePage("wiki/articles/<int:number>/authors", "wiki-authors", authors, "wiki.read"),
        ConsolePage("wiki/articles/<int:number>/<slug:name>.csv", "wiki-table", table, "wiki.read"),
        ConsolePage("wiki/compare", "wiki-compare", compare, "wiki.read"),
        ConsolePage("wiki/trends", "wiki-trends", trends, "wiki.read"),
        ConsolePage("wiki/query", "wiki-query", query, "wiki.query", "wiki.query"),
        ConsolePage("wiki/extract", "wiki-extract", extract, "wiki.extract", "wiki.extract"),
    ),
    (
        ("wiki", gettext_lazy("Articles")),
        ("wiki-compare", gettext_lazy("Compare")),
        ("wiki-trends", gettext_lazy("Unusual")),
        ("wiki-query", gettext_lazy("Ask")),
        ("wiki-extract", gettext_lazy("Extract")),
    ),
)
