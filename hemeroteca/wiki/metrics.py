"""Numbers about articles, written once in Ibis: the same on DuckDB and on Spark.

Each metric is a function from revisions (an Ibis table) to a table; `METRICS` names them. What looks at revisions one
by one (reverts, authorship) is Python over the rows of one article.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ibis
import ibis.expr.types as ir
import msgspec

from hemeroteca.wiki import authorship, filters, reverts
from hemeroteca.wiki.filters import Filters

if TYPE_CHECKING:
    from hemeroteca.lake.query_engine import Lake

TOP = 20
TREND_DAYS = 7
MIN_TREND_EDITS = 5


class Metric(msgspec.Struct, frozen=True):
    """How a metric is made and drawn."""

    make: Callable[[ir.Table], ir.Table]
    words: str
    mark: str = "bar"  # of its chart: bar, line, point
    x: str = ""  # columns of its axes; empty: it is a table
    y: str = ""


def edits_by(unit: str) -> Callable[[ir.Table], ir.Table]:
    def made(table: ir.Table) -> ir.Table:
        time = table.timestamp
        value = {
            "hour": lambda: time.hour(),
            "weekday": lambda: time.day_of_week.index(),  # 0 is Monday
            "day": lambda: time.date(),
            "month": lambda: time.truncate("M").date(),
            "year": lambda: time.year(),
        }[unit]()
        return table.group_by(value.name(unit)).aggregate(edits=ibis._.count()).order_by(unit)

    return made


def between(table: ir.Table) -> ir.Table:
    """Time between two edits of an article, in seconds."""
    page = ibis.window(group_by=["wiki", "pageid"], order_by=["timestamp", "revid"])
    seconds = table.timestamp.epoch_seconds()
    gaps = table.mutate(gap=seconds - seconds.lag().over(page)).filter(ibis._.gap.notnull())
    return gaps.aggregate(gaps=gaps.count(), mean=gaps.gap.mean(), least=gaps.gap.min(), most=gaps.gap.max())


def added(table: ir.Table) -> ir.Table:
    """Revisions with the bytes they added (or took: negative)."""
    page = ibis.window(group_by=["wiki", "pageid"], order_by=["timestamp", "revid"])
    size = ibis.coalesce(table["size"], 0)
    return table.mutate(delta=size - ibis.coalesce(size.lag().over(page), 0))


def editors(table: ir.Table) -> ir.Table:
    """Who edited most, and how much text they added."""
    found = added(table).filter(ibis._.user.notnull())
    return (
        found.group_by("user")
        .aggregate(
            edits=found.count(),
            minor=found.minor.cast("int64").sum(),
            added=ibis.greatest(found.delta, 0).sum(),
            removed=(-ibis.least(found.delta, 0)).sum(),
            first=found.timestamp.min(),
            last=found.timestamp.max(),
        )
        .order_by([ibis.desc("edits"), ibis.asc("user")])
    )


def editors_by_text(table: ir.Table) -> ir.Table:
    return editors(table).order_by([ibis.desc("added"), ibis.asc("user")]).limit(TOP)


def top_editors(table: ir.Table) -> ir.Table:
    """The most edits: names and counts only, which needs no order of revisions."""
    named = table.filter(table.user.notnull())
    counted = named.group_by("user").aggregate(edits=named.count())
    return counted.order_by([ibis.desc("edits"), ibis.asc("user")]).limit(TOP)


def most(counted: ir.Table) -> ir.Table:
    """The rows with the greatest `count`, all of them; counted once, where a subquery would count twice."""
    highest = counted.mutate(highest=counted["count"].max().over(ibis.window()))
    return highest.filter(highest["count"] == highest.highest).drop("highest")


def concentration(table: ir.Table) -> ir.Table:
    """How far edits are the work of few: share of the most active tenth, and the Gini coefficient."""
    named = table.filter(table.user.notnull())
    counted = named.group_by("user").aggregate(edits=named.count())
    rising = ibis.window(order_by=[ibis.asc("edits"), ibis.asc("user")])
    ranked = counted.mutate(rank=ibis.row_number().over(rising) + 1, editors=counted.count().over(ibis.window()))
    top = ibis.ifelse(ranked.rank * 10 > ranked.editors * 9, ranked.edits, 0)
    return ranked.aggregate(
        editors=ranked.count(),
        edits=ranked.edits.sum(),
        top_tenth=top.sum() / ranked.edits.sum(),
        gini=(
            (2 * (ranked.rank * ranked.edits).sum()) / (ranked.count() * ranked.edits.sum())
            - (ranked.count() + 1) / ranked.count()
        ),
    )


def kinds(bots: Sequence[str] = ()) -> Callable[[ir.Table], ir.Table]:
    """Shares of registered, temporary, IP and bot edits. A bot is known by its flag of today, else by its name."""

    def made(table: ir.Table) -> ir.Table:
        name = table.user.lower()
        by_name = name.endswith("bot") | name.startswith("bot ") | name.endswith(" bot")
        is_bot = table.user.isin(list(bots)) | by_name if bots else by_name
        kind = ibis.cases(
            (table.user.isnull(), "hidden"),
            (table.temp, "temporary"),
            (table.anon, "ip"),
            (is_bot, "bot"),
            else_="registered",
        )
        total = table.count()
        counted = table.group_by(kind=kind).aggregate(edits=total)
        whole = counted.edits.sum().over(ibis.window())
        return counted.mutate(share=counted.edits / whole).order_by("kind")

    return made


def minor(table: ir.Table) -> ir.Table:
    """Minor edits, in number and share."""
    count = table.minor.cast("int64").sum()
    return table.aggregate(edits=table.count(), minor=count, share=count / table.count())


def sizes(table: ir.Table) -> ir.Table:
    return table.select("timestamp", "revid", "title", "size").order_by(["timestamp", "revid"])


def largest_additions(table: ir.Table) -> ir.Table:
    found = _deltas(table)
    return found.filter(found.delta > 0).order_by([ibis.desc("delta"), ibis.asc("revid")]).limit(TOP)


def largest_deletions(table: ir.Table) -> ir.Table:
    found = _deltas(table)
    return found.filter(found.delta < 0).order_by([ibis.asc("delta"), ibis.asc("revid")]).limit(TOP)


def _deltas(table: ir.Table) -> ir.Table:
    return added(table).select("revid", "title", "timestamp", "user", "size", "delta", "comment")


def tags(table: ir.Table) -> ir.Table:
    single = table.select("tags").unnest("tags")
    counted = single.group_by(tag=single.tags).aggregate(edits=single.count())
    return counted.order_by([ibis.desc("edits"), ibis.asc("tag")])


def busiest_days(table: ir.Table) -> ir.Table:
    return edits_by("day")(table).order_by([ibis.desc("edits"), ibis.asc("day")]).limit(TOP)


def summary(table: ir.Table) -> ir.Table:
    return table.aggregate(
        edits=table.count(),
        articles=table.wiki.concat(" ", table.pageid.cast("string")).nunique(),
        editors=table.user.nunique(),
        first=table.timestamp.min(),
        last=table.timestamp.max(),
        mean_size=table["size"].mean(),
    )


def compared(table: ir.Table) -> ir.Table:
    """Articles beside each other."""
    return (
        table.group_by(["wiki", "pageid", "title"])
        .aggregate(
            edits=table.count(),
            editors=table.user.nunique(),
            minor=table.minor.cast("int64").sum(),
            ip=table.anon.cast("int64").sum(),
            first=table.timestamp.min(),
            last=table.timestamp.max(),
            size=table["size"].argmax(table.timestamp),
        )
        .order_by([ibis.desc("edits"), ibis.asc("title")])
    )


def compare(lake: Lake, pages: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """Articles (wiki, page id) beside each other: what `compared` tells, reverts, and the edits of each month."""
    meant = ibis.or_(*[(lake.revisions.wiki == wiki) & (lake.revisions.pageid == number) for wiki, number in pages])
    table = lake.revisions.filter(meant, ~lake.revisions.gone)
    undone = {key: list(reverts.reverts(history)) for key, history in edits_of(lake, table).items()}
    rows = lake.rows(compared(table))
    for row in rows:
        one = table.filter(table.wiki == row["wiki"], table.pageid == row["pageid"])
        few = lake.rows(concentration(one))
        gap = lake.rows(between(one))
        row["reverts"] = len(undone.get((row["wiki"], row["pageid"]), ()))
        row["gini"] = few[0]["gini"] if few else None
        row["top_tenth"] = few[0]["top_tenth"] if few else None
        row["seconds_between"] = gap[0]["mean"] if gap else None
    month = table.timestamp.truncate("M").date()
    months = table.group_by(["wiki", "pageid", "title", month.name("month")]).aggregate(edits=table.count())
    return {"articles": rows, "months": lake.rows(months.order_by(["month", "wiki", "pageid"]))}


def unusual(table: ir.Table, now: Any, days: int = TREND_DAYS) -> ir.Table:
    """Articles edited unusually often of late: edits against what their own past makes expected.

    The score is (edits − expected)/√expected, as for counts that follow Poisson, with one edit a month as the least.
    """
    start = now - ibis.interval(days=days)
    counted = table.group_by(["wiki", "pageid", "title"]).aggregate(
        recent=(table.timestamp >= start).cast("int64").sum(),
        before=(table.timestamp < start).cast("int64").sum(),
        first=table.timestamp.min(),
    )
    seconds = (start.epoch_seconds() - counted["first"].epoch_seconds()).cast("float64")
    past = ibis.greatest(seconds / 86_400, 1.0)  # 86_400.0 is a decimal to Spark, which rounds
    expected = ibis.greatest(counted.before / past * days, days / 30.0)
    scored = counted.mutate(expected=expected, score=(counted.recent - expected) / expected.sqrt())
    often = scored.filter(scored.recent >= MIN_TREND_EDITS, scored.score > 0)
    return often.order_by([ibis.desc("score"), ibis.asc("title")]).limit(TOP)


METRICS: Mapping[str, Metric] = {
    "summary": Metric(summary, "edits, editors, first and last edit"),
    "edits_per_hour": Metric(edits_by("hour"), "edits by hour of the day (UTC)", "bar", "hour", "edits"),
    "edits_per_weekday": Metric(edits_by("weekday"), "edits by day of the week (0: Monday)", "bar", "weekday", "edits"),
    "edits_per_day": Metric(edits_by("day"), "edits of each day", "line", "day", "edits"),
    "edits_per_month": Metric(edits_by("month"), "edits of each month", "bar", "month", "edits"),
    "edits_per_year": Metric(edits_by("year"), "edits of each year", "bar", "year", "edits"),
    "time_between_edits": Metric(between, "seconds between two edits"),
    "editors": Metric(lambda table: editors(table).limit(TOP), "who edited most", "bar", "user", "edits"),
    "editors_by_text": Metric(editors_by_text, "who added most text", "bar", "user", "added"),
    "concentration": Metric(concentration, "how far edits are the work of few"),
    "kinds": Metric(kinds(), "registered, temporary, IP and bot edits", "bar", "kind", "share"),
    "minor": Metric(minor, "minor edits"),
    "sizes": Metric(sizes, "size after each edit", "line", "timestamp", "size"),
    "largest_additions": Metric(largest_additions, "edits that added most", "bar", "revid", "delta"),
    "largest_deletions": Metric(largest_deletions, "edits that took most", "bar", "revid", "delta"),
    "tags": Metric(tags, "tags of edits", "bar", "tag", "edits"),
    "busiest_days": Metric(busiest_days, "days with most edits", "bar", "day", "edits"),
    "articles": Metric(compared, "articles beside each other", "bar", "title", "edits"),
}


class Reverted(msgspec.Struct, frozen=True):
    """Identity reverts of one article."""

    radius: int
    count: int
    reverted: int  # revisions undone
    by_whom: list[reverts.Undoing]
    wars: list[reverts.War]


def measure(lake: Lake, found: Filters, names: Sequence[str] = (), bots: Sequence[str] = ()) -> dict[str, Any]:
    """Metrics by name, as rows."""
    table = filters.apply(lake.revisions, found)
    table = table.filter(~table.gone)
    result: dict[str, Any] = {}
    for name in names or METRICS:
        make = kinds(bots) if name == "kinds" else METRICS[name].make
        result[name] = lake.rows(make(table))
    return result


def edits(lake: Lake, found: Filters) -> dict[tuple[str, int], list[reverts.Edit]]:
    """Revisions in order, by article."""
    table = filters.apply(lake.revisions, found)
    return edits_of(lake, table.filter(~table.gone))


def edits_of(lake: Lake, table: ir.Table) -> dict[tuple[str, int], list[reverts.Edit]]:
    columns = table.select(
        "wiki", "pageid", "revid", "sha1", "user", "size", at=table.timestamp.epoch_seconds() * 1000
    ).order_by(["wiki", "pageid", "at", "revid"])
    result: dict[tuple[str, int], list[reverts.Edit]] = {}
    for row in lake.rows(columns):
        edit = reverts.Edit(row["revid"], row["sha1"], row["user"], row["at"], row["size"])
        result.setdefault((row["wiki"], row["pageid"]), []).append(edit)
    return result


def reverted(lake: Lake, found: Filters, radius: int = reverts.RADIUS) -> Reverted:
    every: list[reverts.Revert] = []
    for history in edits(lake, found).values():
        every += reverts.reverts(history, radius)
    undone = {edit.revid for revert in every for edit in revert.reverted}
    return Reverted(radius, len(every), len(undone), reverts.undoings(every)[:TOP], reverts.wars(every)[:TOP])


def addresses(lake: Lake, found: Filters) -> list[tuple[str, int]]:
    """Editors without an account, and how often each edited."""
    table = filters.apply(lake.revisions, found)
    table = table.filter(table.anon, table.user.notnull(), ~table.gone)
    return [(row["user"], row["edits"]) for row in lake.rows(table.group_by("user").aggregate(edits=table.count()))]


def authors(lake: Lake, found: Filters) -> list[authorship.Author]:
    """Whose words an article is made of; needs its texts."""
    table = filters.apply(lake.revisions, found)
    texts = lake.texts.select(found_sha1="sha1", text="text").distinct(on="found_sha1")
    joined = table.filter(~table.gone).left_join(texts, table.text_sha1 == texts.found_sha1)
    rows = joined.select("revid", "user", "text", "timestamp").order_by(["timestamp", "revid"])
    work = authorship.Authorship()
    for batch in lake.batches(rows, 200):
        for row in batch.to_pylist():
            work.add(authorship.Version(row["revid"], row["user"], row["text"]))
    return work.authors()


def chart(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """A metric as a Vega-Lite specification for the console; None where it is a table."""
    metric = METRICS[name]
    if not metric.x:
        return None
    temporal = metric.x in ("timestamp", "day", "month")
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": metric.words,
        "data": {"values": [{metric.x: row[metric.x], metric.y: row[metric.y]} for row in rows]},
        "mark": metric.mark,
        "encoding": {
            "x": {"field": metric.x, "type": "temporal" if temporal else "ordinal", "sort": None},
            "y": {"field": metric.y, "type": "quantitative"},
        },
    }
