"""`hemeroteca wiki`: histories of MediaWiki articles: extracted, kept up to date, counted, measured, handed out."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.common import counted
from hemeroteca.cli.job import Background, run_job

app = common.Verbs()

Where = Annotated[
    str, typer.Option("--wiki", help="A language (es), the address of an article, or of an api.php; else: en.")
]
Name = Annotated[str, typer.Option("--wiki", help="Only of this wiki, by its name (es.wikipedia.org).")]
Locale = Annotated[str, typer.Option("--locale", help="Only of wikis in this language.")]
FILTERS: dict[str, tuple[Any, Any]] = {  # which revisions are meant: the type of each option, and its default
    "title": (Annotated[str, typer.Option("--title", help="Only of this article.")], ""),
    "pageid": (Annotated[int | None, typer.Option("--pageid", help="Only of the page with this number.")], None),
    "user": (Annotated[str, typer.Option("--user", help="Only by this user.")], ""),
    "userid": (Annotated[int | None, typer.Option("--userid", help="Only by the user with this number.")], None),
    "tag": (Annotated[str, typer.Option("--tag", help="Only with this tag, such as mw-reverted.")], ""),
    "size": (Annotated[int | None, typer.Option("--size", help="Only of this size in bytes; see --sizematch.")], None),
    "sizematch": (
        Annotated[int | None, typer.Option("--sizematch", help="1: larger than --size, -1: smaller, 0: equal.")],
        None,
    ),
    "date": (Annotated[str, typer.Option("--date", help="Only of this day (UTC).")], ""),
    "datestart": (Annotated[str, typer.Option("--datestart", help="Only from this day on.")], ""),
    "dateend": (Annotated[str, typer.Option("--dateend", help="Only up to this day, which counts.")], ""),
    "locale": (Locale, ""),
    "wiki": (Name, ""),
}


def with_filters(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Options of FILTERS (these, or all) for a command, which gets what was given of them as `given`."""
    chosen = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in FILTERS.items()
        if not names or name in names
    ]
    return common.with_options(
        chosen, lambda values: {name: value for name, value in values.items() if value not in (None, "")}
    )


@app.command(action="wiki.extract")
def extract(
    titles: Annotated[list[str] | None, typer.Argument(help="Titles of articles, or their addresses.")] = None,
    wiki: Where = "",
    text: Annotated[bool, typer.Option("--text", help="Texts too, not only what is known of each revision.")] = False,
    max_revisions: Annotated[int, typer.Option(min=0, help="Of each article the oldest so many at most; 0: all.")] = 0,
    titles_file: Annotated[Path | None, typer.Option("--titles", help="A file with a title in each line.")] = None,
    category: Annotated[str, typer.Option(help="Articles of this category.")] = "",
    depth: Annotated[int, typer.Option(min=0, max=50, help="Categories below it that are followed.")] = 0,
    search: Annotated[str, typer.Option(help="Articles that the wiki's own search finds.")] = "",
    user: Annotated[str, typer.Option(help="Articles that this user edited.")] = "",
    whole: Annotated[bool, typer.Option("--whole", help="Every article of the wiki.")] = False,
    policy: Annotated[str, typer.Option(help="When to look again: auto, exponential or never.")] = "",
    workers: Annotated[int, typer.Option(min=1, max=100, help="Cut the order into so many jobs for several.")] = 1,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Bring the histories of articles. The same order goes on where it was, or brings what is new."""
    common.setup(machinery=True)
    from hemeroteca.wiki import services
    from hemeroteca.wiki.extraction import Extracted

    named = [*(titles or ())]
    if titles_file is not None:
        try:
            named += [line.strip() for line in titles_file.read_text("utf-8").splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            common.give_up(f"{titles_file} cannot be read: {reason}", common.USAGE)
    chosen = named or category or search or user or whole or wiki.startswith(("http://", "https://"))
    if not chosen:
        example = "write `hemeroteca wiki extract Caracas --wiki es`"
        others = "or choose articles with --titles, --category, --search, --user or --whole"
        common.give_up(f"no article was named; {example}, {others}", common.USAGE)
    order = services.extraction_order(
        wiki,
        named,
        category=category,
        depth=depth,
        search=search,
        user=user,
        whole=whole,
        text=text,
        max_revisions=max_revisions,
        policy=policy,
        workers=workers,
    )
    done = run_job("wiki.extract", order, Extracted, json, background)
    if json:
        common.tell(done)
    else:
        typer.echo(
            f"{counted(done.articles, 'article')} of {done.wiki}: {counted(done.revisions, 'new revision')}, "
            f"{done.changed:,} changed, {counted(done.texts, 'text')}, {counted(done.events, 'event')}; "
            f"{counted(done.requests, 'request')}"
        )
        for old, new in done.redirects:
            typer.echo(common.printable(f"{old} is a redirect to {new}"))
        for title in done.limited:
            most = counted(max_revisions, "revision")
            typer.echo(common.printable(f"{title}: only the oldest {most} (--max-revisions)"))
        for title in done.deleted:
            typer.echo(common.printable(f"{title} is no longer on the wiki; what was extracted stays"))
    for title in done.missing:
        typer.echo(common.printable(f"hemeroteca: {done.wiki} has no article {title!r}"), err=True)
    if done.missing and not done.articles:
        raise typer.Exit(1)


@app.command(action="wiki.read")
@with_filters("title", "pageid", "locale", "wiki")
def articles(
    given: dict[str, Any],
    sort: Annotated[str, typer.Option(help="title, pageid, or a date of extraction; with a minus: descending.")] = "",
    page: Annotated[int, typer.Option(min=1)] = 1,
    page_size: Annotated[int, typer.Option(min=1, max=1000)] = 100,
    json: common.Json = False,
) -> None:
    """Articles whose histories are kept. With --json a line for each."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    found, total = queries.articles(common.actor(), {**given, "sort": sort, "page": page, "page_size": page_size})
    for article in found:
        if json:
            common.tell(article)
            continue
        partly = "as in its dump" if article.source == "dump" else "not all yet"
        state = "deleted" if article.deleted else "limited" if article.limited else "" if article.complete else partly
        last = common.stamp(article.last_extraction_date)
        typer.echo(
            common.printable(
                f"{article.wiki}  {article.title}  {counted(article.revisions, 'revision')}  {last}  {state}"
            ).rstrip()
        )
    if not json and total > len(found):
        typer.echo(f"{len(found)} of {total}; --page {page + 1} shows more", err=True)


@app.command(action="wiki.read")
@with_filters()
def revisions(
    given: dict[str, Any],
    text: Annotated[bool, typer.Option("--text", help="With their texts.")] = False,
    sort: Annotated[str, typer.Option(help="timestamp, revid, size, …; with a minus: descending.")] = "",
    page: Annotated[int, typer.Option(min=0, help="Only this part of them; 0: all, unless --page-size is given.")] = 0,
    page_size: Annotated[int, typer.Option(min=0, max=1000, help="How many a part has; 0: 100.")] = 0,
    json: common.Json = False,
) -> None:
    """Revisions. With --json a line for each."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    if page or page_size:
        given |= {"page": page or 1, "page_size": page_size or 100}
    if sort:
        given["sort"] = sort
    for row in queries.every_revision(common.actor(), given, text):
        if json:
            common.tell(row)
        else:
            mark = "m" if row["minor"] else " "
            line = f"{row['timestamp']} {row['revid']:>10} {mark} {row['user'] or '(hidden)'}: {row['comment'] or ''}"
            typer.echo(common.printable(line))


@app.command(action="wiki.read")
@with_filters()
def count(given: dict[str, Any], json: common.Json = False) -> None:
    """How many revisions there are."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    number = queries.count(common.actor(), given)
    common.answer(json, {"count": number}, f"{number:,}")


@app.command(action="wiki.read")
@with_filters(*(name for name in FILTERS if name != "date"))
def avg(given: dict[str, Any], json: common.Json = False) -> None:
    """Revisions a day, between --datestart and --dateend, which both count and are required."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    number = queries.avg(common.actor(), given)
    common.answer(json, {"avg": number}, f"{number:g}")


@app.command(action="wiki.read")
@with_filters()
def mode(
    of: Annotated[str, typer.Option("--of", help="title, pageid, user, userid, date or size.")],
    given: dict[str, Any],
    json: common.Json = False,
) -> None:
    """The most frequent value; where several are as frequent, all of them (`modes`)."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    found = queries.mode(common.actor(), of, given)
    if json:
        facts: dict[str, Any] = {"mode": found.mode, "count": found.count}
        common.tell(facts if len(found.modes) < 2 else {**facts, "modes": found.modes})
        return
    for value in found.modes:
        typer.echo(common.printable(f"{value}: {found.count:,}"))


@app.command(action="wiki.read")
@with_filters("datestart", "dateend", "locale", "wiki")
def metrics(
    title: Annotated[str, typer.Argument(help="Title of an article; empty: all that is kept.")] = "",
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this metric; several times: these.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="One metric (--only) as CSV.")] = False,
    chart: Annotated[bool, typer.Option("--chart", help="Vega-Lite specifications of their charts.")] = False,
    engine: Annotated[str, typer.Option(help="duckdb, or spark (extra `spark`).")] = "duckdb",
    *,
    given: dict[str, Any],
    json: common.Json = False,
) -> None:
    """Edits over time, editors, concentration, kinds of account, sizes, reverts, whose words stayed, and more."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    if engine not in ("duckdb", "spark"):
        common.give_up(f"there is no engine {engine!r}; there are duckdb and spark", common.USAGE)
    if title:
        article = queries.find_article(common.actor(), title, given.get("locale", ""), given.get("wiki", ""))
        given |= {"title": article.title, "wiki": article.wiki.name}
    found = queries.metrics_of(common.actor(), given, tuple(only or ()), engine)
    if csv:
        sys.stdout.write(queries.as_csv(found))
    elif chart:
        common.tell(queries.charts(found))
    elif json:
        common.tell(found)
    else:
        for name, rows in found.items():
            typer.echo(name)
            for row in (rows if isinstance(rows, list) else [rows])[:10]:
                typer.echo(common.printable("  " + "  ".join(f"{key} {value}" for key, value in row.items())))


@app.command(action="wiki.read")
def compare(
    titles: Annotated[list[str], typer.Argument(help="Titles of 2 to 10 articles.")],
    locale: Locale = "",
    wiki: Name = "",
    json: common.Json = False,
) -> None:
    """Articles beside each other: edits, editors, reverts, concentration, size."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    found = queries.compare(common.actor(), titles, locale, wiki)
    if json:
        common.tell(found)
        return
    for row in found["articles"]:
        typer.echo(
            common.printable(
                f"{row['title']}: {counted(row['edits'], 'edit')}, {counted(row['editors'], 'editor')}, "
                f"{counted(row['reverts'], 'revert')}, "
                f"Gini {row['gini'] or 0:.2f}, {row['size'] or 0:,} bytes, {row['first']} to {row['last']}"
            )
        )


@app.command(action="wiki.read")
def trends(
    days: Annotated[int, typer.Option(min=1, max=366, help="The last so many days.")] = 7,
    locale: Locale = "",
    json: common.Json = False,
) -> None:
    """Articles and categories that are edited unusually often."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    found = queries.trends(common.actor(), days, locale)
    if json:
        common.tell(found)
        return
    if not found["articles"]:
        typer.echo(f"nothing was edited unusually often in the last {counted(days, 'day')}")
    named = [(row["title"], row) for row in found["articles"]]
    named += [(f"category {row['category']}", row) for row in found["categories"]]
    for name, row in named:
        told = f"{name}: {counted(row['recent'], 'edit')}, {row['expected']:.1f} expected"
        typer.echo(common.printable(told))


@app.command(action="wiki.query")
def query(
    what: Annotated[str, typer.Argument(metavar="SQL|FILE.json", help="A SELECT, or a file with a pipeline.")],
    collection: Annotated[
        str, typer.Option(help="Of a pipeline: revisions, articles, texts, events, earlier.")
    ] = "revisions",
    date_format: Annotated[str, typer.Option(help="How a pipeline writes times, like %d/%m/%Y.")] = "",
    json: common.Json = False,
) -> None:
    """Ask in SQL (DuckDB's, reading only) or with an aggregation pipeline."""
    common.setup(must_exist=True)
    import msgspec

    from hemeroteca.wiki import free_queries

    if what.endswith(".json"):
        try:
            given = msgspec.json.decode(Path(what).read_bytes())
        except OSError as error:
            common.give_up(f"{what} cannot be read: {error.strerror or error}", common.USAGE)
        except msgspec.DecodeError as error:
            common.give_up(f"{what} is no JSON: {error}", common.USAGE)
        if isinstance(given, dict):
            collection = given.get("collection", collection)
            date_format = given.get("date_format", date_format)
            given = given.get("pipeline")
        answer = free_queries.pipeline(common.actor(), given, collection, date_format)
    else:
        answer = free_queries.sql(common.actor(), what)
    for row in answer.rows:
        common.answer(
            json,
            dict(zip(answer.columns, row, strict=True)),
            "\t".join("" if value is None else str(value) for value in row),
        )
    if answer.truncated:
        typer.echo(f"only the first {counted(len(answer.rows), 'row')}", err=True)


@app.command(action="job.read")
def status(job: Annotated[int, typer.Argument(help="Number of the job.", min=1)], json: common.Json = False) -> None:
    """How far an extraction is."""
    common.setup(must_exist=True)
    from hemeroteca.wiki import queries

    found = queries.status(common.actor(), job)
    common.answer(json, found, f"{found['state']}: {found['status']}")


@app.command(action="wiki.extract")
def refresh(
    every: Annotated[bool, typer.Option("--all", help="Also what is not due.")] = False,
    wiki: Name = "",
    follow: Annotated[bool, typer.Option("--follow", help="First hear what the wiki announces.")] = False,
    stream: Annotated[str, typer.Option(help="Address of a stream of events (EventStreams) to hear it from.")] = "",
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Bring what is new of articles that are due."""
    common.setup(must_exist=True)
    from hemeroteca.wiki.job_kinds import Follow, Refresh, Refreshed
    from hemeroteca.wiki.models import Wiki
    from hemeroteca.wiki.streams import Followed

    if follow or stream:
        for found in Wiki.objects.exclude(api_url="").filter(**({"name": wiki} if wiki else {})):
            run_job("wiki.follow", Follow(wiki=found.api_url, stream=stream), Followed, json)
    done = run_job("wiki.refresh", Refresh(every=every, wiki=wiki), Refreshed, json, background)
    common.answer(
        json,
        done,
        f"{counted(done.articles, 'article')} read, {done.unchanged} unchanged: "
        f"{counted(done.revisions, 'new revision')}, {done.changed:,} changed; {counted(done.requests, 'request')}",
    )


@app.command(action="wiki.extract")
def verify(
    titles: Annotated[list[str] | None, typer.Argument(help="Titles; none: all that is kept.")] = None,
    wiki: Name = "",
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Walk all revisions of articles again: what came, changed or went meanwhile."""
    common.setup(must_exist=True)
    from hemeroteca.wiki.extraction import Extracted
    from hemeroteca.wiki.job_kinds import VerifyArticles

    done = run_job("wiki.verify", VerifyArticles(titles=list(titles or ()), wiki=wiki), Extracted, json, background)
    if json:
        common.tell(done)
    else:
        found = f"{counted(done.articles, 'article')}: {counted(done.revisions, 'new revision')}"
        typer.echo(f"{found}, {done.changed:,} changed or gone")


@app.command("import", action="wiki.import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(help="XML dump (.xml, .bz2, .gz, .7z) or Wikimedia's history dump (.tsv.bz2).", exists=True),
    ],
    wiki: Annotated[str, typer.Option(help="Name of the wiki; empty: as the dump says.")] = "",
    locale: Annotated[str, typer.Option(help="Its language; empty: as the dump says.")] = "",
    text: Annotated[bool, typer.Option("--text/--no-text", help="Texts too.")] = True,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Bring histories from a dump. What is kept already is known and skipped."""
    common.setup()
    from hemeroteca.wiki.dumps import ImportedDump
    from hemeroteca.wiki.job_kinds import ImportDump

    order = ImportDump(file=str(file.absolute()), wiki=wiki, locale=locale, text=text)
    done = run_job("wiki.import", order, ImportedDump, json, background)
    common.answer(
        json,
        done,
        f"{counted(done.articles, 'article')}: {counted(done.revisions, 'new revision')}, {done.known:,} known, "
        f"{counted(done.texts, 'text')}",
    )


@app.command(action="wiki.export")
@with_filters("title", "pageid", "user", "datestart", "dateend", "locale", "wiki")
def export(
    target: Annotated[
        Path, typer.Argument(help="File to write; .xml, .parquet or .csv says the format; `-` is standard output.")
    ],
    format_: Annotated[str, typer.Option("--format", help="xml, parquet or csv; empty: by the file's name.")] = "",
    *,
    given: dict[str, Any],
    text: Annotated[bool, typer.Option("--text/--no-text", help="Texts too, where they are kept.")] = True,
    pseudonyms: Annotated[bool, typer.Option("--pseudonyms", help="Users without their names; no comments.")] = False,
    force: common.Force = False,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Hand out histories: XML for MediaWiki, Parquet or CSV, with licence, time and limits stated."""
    common.setup(must_exist=True)
    from hemeroteca.wiki.history_export import ExportedHistory
    from hemeroteca.wiki.job_kinds import ExportHistory

    to_output = str(target) == "-"
    if to_output and background:
        common.give_up("a job has no standard output; name a file, or leave out --background", common.USAGE)
    with common.outgoing(target, force) as path:
        order = ExportHistory(
            target=str(path.absolute()),
            format=format_ or target.suffix.lstrip("."),
            filters=given,
            text=text,
            pseudonyms=pseudonyms,
        )
        done = run_job("wiki.export", order, ExportedHistory, json, background)
    if to_output:
        return
    if json:
        common.tell(done)
    else:
        held = f"{counted(done.revisions, 'revision')} of {counted(done.articles, 'article')}"
        typer.echo(f"{done.file}: {held}, {common.size(done.bytes)}")


@app.command(action="wiki.upkeep")
def compact(
    everything: Annotated[bool, typer.Option("--all", help="Also parts of few files.")] = False,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Make few files of many, for speed; others may read and write meanwhile."""
    common.setup(must_exist=True)
    from hemeroteca.wiki.job_kinds import Compact, Compacted

    done = run_job("wiki.compact", Compact(everything=everything), Compacted, json, background)
    common.answer(json, done, f"{counted(done.files, 'file')} fewer")
