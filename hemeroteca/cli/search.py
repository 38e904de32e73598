"""`hemeroteca search`: words look something up; a few verbs care for the index.

`hemeroteca search QUERY` is the common case, so anything that is not a verb is a query. A query that begins with a
verb or a dash goes after `--`: `hemeroteca search -- rebuild`.
"""

import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.config import Config
    from hemeroteca.search import Hit, Index, Options
    from hemeroteca.watch.models import SavedSearch

_DEFAULT = "find"
_BOLD, _PLAIN = "\ue000", "\ue001"  # stand for the terminal's, until what pages say is made harmless
_RESULTS, _PAGES = 10, 10  # on a page, and pages in which the place of a result is looked for
_LOOKS = 8  # at a file left for the engine, between two at whether there is one


class QueryOrVerb(TyperGroup):
    """A group of verbs in which everything else is a query."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=QueryOrVerb,
    no_args_is_help=True,
    help="Search what was captured: `hemeroteca search QUERY`. Also: rebuild, explain, import, query, suggest, …",
)

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Most results.")]


@app.command(_DEFAULT)
def find(
    query: Annotated[list[str], typer.Argument(help="Words and operators; see docs/reference/search.md.")],
    limit: Limit = 10,
    cursor: Annotated[str, typer.Option(help="Go on where a page of results ended.", show_default=False)] = "",
    sort: Annotated[str, typer.Option(help="relevance, newest, oldest or captured.")] = "relevance",
    facets: Annotated[bool, typer.Option("--facets", help="Count results by host, language, type, year.")] = False,
    semantic: Annotated[bool, typer.Option("--semantic", help="Order by meaning too (extra `semantic`).")] = False,
    versions: Annotated[bool, typer.Option("--versions", help="Search all versions; `at:` does so by itself.")] = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Look something up (the word `find` may be left out)."""
    import msgspec

    from hemeroteca.search import Options
    from hemeroteca.search.services import load_preferences

    text = " ".join(query)
    _, index, path = _open(data, text, versions)
    if sort not in ("relevance", "newest", "oldest", "captured"):
        common.give_up(f"--sort {sort} is not known; use relevance, newest, oldest or captured", common.USAGE)
    options = Options(facets=facets, sort=sort, semantic=semantic, preferences=load_preferences(path))
    with _errors():
        found = index.search(text, limit=limit, cursor=cursor, options=options)
    if json:
        for hit in found.hits:
            sys.stdout.write(msgspec.json.encode(_facts(hit)).decode() + "\n")
    for note in found.notes:
        typer.echo(f"note: {common.printable(note)}", err=True)
    if found.suggestion:
        typer.echo(f"did you mean: {common.printable(found.suggestion)}", err=json)
    if json:
        return
    for hit in found.hits:
        _show(hit)
    about = "" if found.exact else "about "
    typer.echo(f"{about}{found.total:,} results" if found.total != 1 else "1 result")
    for name, counts in found.facets.items():
        if counts:
            listed = ", ".join(f"{value or '?'} {count:,}" for value, count in counts)
            typer.echo(f"  {name}: {common.printable(listed)}")
    if found.cursor:
        typer.echo(f"more: --cursor {found.cursor}")


@app.command()
def rebuild(data: common.Data = None, json: common.Json = False) -> None:
    """Build the index anew from the archive. Searches go on with the old one until it is done."""
    config = common.setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.engine import collecting, refresh, reindex
    from hemeroteca.engine.ledger import last_capture, write_watermark
    from hemeroteca.search import services
    from hemeroteca.search.versions import rebuild_versions

    lock = settings.INSTANCE.lock_engine()
    if lock is None:
        common.give_up("an engine is at work on this folder; stop it, rebuild, and start it again")
    with lock:
        last = last_capture()
        documents = reindex.documents(settings.INSTANCE)
        with _progress("indexing", quiet=json) as advance:
            count = services.rebuild(settings.INSTANCE.index_dir, documents, config.index_heap_bytes, advance)
            versions = 0
            if config.index_versions:
                past = reindex.versions(settings.INSTANCE)
                versions = rebuild_versions(settings.INSTANCE.index_dir, past, config.index_heap_bytes)
        collecting.write_applied(settings.INSTANCE.index_dir, collecting.Membership.load())
        write_watermark(settings.INSTANCE, last, versions_too=config.index_versions)
        refresh.run(settings.INSTANCE, config.index_heap_bytes)
    more = f", {versions:,} versions" if config.index_versions else ""
    _tell(json, f"{count:,} documents indexed{more}", documents=count, versions=versions)


@app.command()
def explain(
    query: Annotated[str, typer.Argument(help="The query.")],
    url: Annotated[str, typer.Argument(help="Address (or id of an imported document) of a result.")],
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show why a result stands where it does."""
    import msgspec

    from hemeroteca import urls
    from hemeroteca.search import Options
    from hemeroteca.search.document import document_key
    from hemeroteca.search.services import load_preferences

    _, index, path = _open(data)
    options = Options(preferences=load_preferences(path))
    keys = [document_key(f"import:{url}")]
    try:
        keys.insert(0, urls.key(urls.canonical(url)))
    except urls.UrlError:
        pass
    known = [key for key in keys if index.get(key) is not None]
    if not known:
        common.give_up(f"{url} is not in the index; `hemeroteca search url:…` finds addresses")
    why = index.explain(query, known[0], options)
    if why is None:
        common.give_up(f"{url} does not match this query")
    place = _place(index, query, known[0], options)
    if json:
        sys.stdout.write(msgspec.json.encode({"place": place, **why}).decode() + "\n")
        return
    typer.echo(
        f"result {place}" if place else f"not among the first {_PAGES * _RESULTS}, or hidden as a copy of one of them"
    )
    typer.echo(f"score {why['score']:.3f} = text {why['text_score']:.3f}", nl=False)
    typer.echo("".join(f" × {name} {factor:.3f}" for name, factor in why["factors"].items()))
    for name, part in why["parts"].items():
        if not part["score"]:
            continue
        typer.echo(f"\n{name}: {part['score']:.3f}")
        if each := part.get("each"):
            typer.echo("  " + ", ".join(f"{common.printable(term)} {score:.3f}" for term, score in each.items()))
        if "how" in part:
            _show_part(part["how"], 1)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help='JSON lines: {"id", "url", "title", "text", "lang"}; - for stdin.')],
    collection: Annotated[str, typer.Option(help="Name of the collection, for `collection:`.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Index documents without crawling them. While `hemeroteca serve` or a crawl runs, its engine does it."""
    from hemeroteca.instance import Instance
    from hemeroteca.search import services

    config, index, path = _open(data, create=True)
    source = sys.stdin.buffer if str(file) == "-" else _readable(file).open("rb")
    with source, _progress("importing", quiet=json) as advance, _errors():
        lock = Instance(config.data).lock_engine()
        if lock is not None:
            with lock:  # no engine begins to write meanwhile
                report = services.import_documents(index, source, config.index_heap_bytes, advance, collection)
            _learn(path)
        else:
            report, left = services.leave_documents(path, source, advance, collection)
            if not json:
                typer.echo("an engine is at work on this folder and puts the documents into its index …", err=True)
            _wait_until_taken(config, index, left)
    for problem in report.problems:
        typer.echo(f"skipped {common.printable(problem)}", err=True)
    _tell(
        json,
        f"{report.documents:,} documents indexed, {report.skipped:,} lines skipped",
        documents=report.documents,
        skipped=report.skipped,
    )
    if not report.documents:
        raise typer.Exit(1)


@app.command()
def query(
    from_file: Annotated[Path, typer.Option("--from-file", help="Lines `qid<TAB>query`; - for stdin.")],
    limit: Limit = 100,
    syntax: Annotated[bool, typer.Option("--syntax", help="Operators have their meaning.")] = False,
    data: common.Data = None,
    json: Annotated[bool, typer.Option("--json/--trec", help="JSON lines, or TREC run lines.")] = True,
) -> None:
    """Run many queries, for measuring quality. Ranking only: no grouping, no spreading over hosts."""
    import msgspec

    from hemeroteca.search import services

    _, index, _ = _open(data)
    options = msgspec.structs.replace(services.BATCH, syntax=syntax)
    source = sys.stdin if str(from_file) == "-" else _readable(from_file).open(encoding="utf-8", errors="replace")
    encode = msgspec.json.Encoder().encode
    with source:
        for row in services.batch(index, source, limit, options):
            if json:
                sys.stdout.write(encode(row).decode() + "\n")
            else:
                sys.stdout.write(f"{row['qid']} Q0 {row['id']} {row['rank']} {row['score']:.6f} hemeroteca\n")


@app.command()
def suggest(
    text: Annotated[list[str], typer.Argument(help="What was typed so far; end with a space for the next word.")],
    limit: Limit = 8,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show how a query may go on, or what was meant."""
    import msgspec

    from hemeroteca.search.suggest import Suggester

    _, _, path = _open(data)
    suggester = Suggester.load(path / "suggest")
    if suggester is None:
        common.give_up("nothing was learned yet; run `hemeroteca search learn`")
    typed = " ".join(text)
    completions, meant = suggester.complete(typed, limit), suggester.correct(typed, typing=True)
    if json:
        found = {"completions": [c.text for c in completions], "did_you_mean": meant}
        typer.echo(msgspec.json.encode(found).decode())
        return
    if meant:
        typer.echo(f"did you mean: {common.printable(meant)}")
    for completion in completions:
        typer.echo(common.printable(completion.text))


@app.command()
def learn(
    documents: Annotated[int, typer.Option(min=1, help="How many documents to read, spread over the index.")] = 10_000,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Learn the words of the index, for completion, next words and spelling."""
    from hemeroteca.search import services

    _, index, path = _open(data)
    count = services.learn(path, index, documents)
    _tell(json, f"learned from {count:,} documents", documents=count)


@app.command()
def rank(data: common.Data = None, json: common.Json = False) -> None:
    """Rank pages and hosts by the links between them."""
    from hemeroteca.search import services

    _, _, path = _open(data)
    ranks = services.refresh_ranks(path)
    _tell(json, f"{len(ranks):,} pages ranked", pages=len(ranks))


@app.command()
def prefer(
    host: Annotated[str, typer.Argument(help="The host, e.g. example.org.")],
    factor: Annotated[float | None, typer.Option(help="Above 1 raises its results, below 1 lowers them.")] = None,
    block: Annotated[bool, typer.Option("--block", help="Never show its results.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Judge it like any other host again.")] = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Raise, lower or block the results of a host."""
    from hemeroteca.search import services

    if sum((factor is not None, block, forget)) != 1 or (factor is not None and factor <= 0):
        common.give_up("give one of --factor NUMBER (above 0), --block or --forget", common.USAGE)
    _, _, path = _open(data)
    now = services.prefer(path, host.lower(), 0.0 if block else factor)
    shown = [f"{name} × {value:g}" for name, value in now.boosts.items()] + [f"{name} blocked" for name in now.blocks]
    _tell(json, "; ".join(shown) or "no host is judged", boosts=dict(now.boosts), blocks=list(now.blocks))


@app.command()
def save(
    query: Annotated[list[str], typer.Argument(help="Words and operators; every word is required.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    channel: Annotated[int | None, typer.Option(help="Channel to tell; default: all that tell of everything.")] = None,
    owner: Annotated[str, typer.Option(help="User it belongs to.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Be told when something new matches: `hemeroteca serve` looks, the channels of `hemeroteca watch` tell."""
    common.setup(data, must_exist=True)
    from hemeroteca.accounts.models import User
    from hemeroteca.watch import searches
    from hemeroteca.watch.services import WatchError

    user = User.objects.filter(name=owner).first() if owner else None
    if owner and user is None:
        common.give_up(f"there is no user {owner!r}; `hemeroteca user list` shows them", common.USAGE)
    try:
        with _errors():
            made = searches.save(" ".join(query), name, channel, user)
    except WatchError as error:
        common.give_up(str(error), common.USAGE)
    _tell(json, f"{made.pk}  {made.name}", **_saved_facts(made))


@app.command()
def saved(data: common.Data = None, json: common.Json = False) -> None:
    """Show the saved searches."""
    common.setup(data, must_exist=True)
    import msgspec

    from hemeroteca.watch import searches

    for row in searches.saved():
        if json:
            sys.stdout.write(msgspec.json.encode(_saved_facts(row)).decode() + "\n")
        else:
            told = f"channel {row.channel_id}" if row.channel_id else "all channels"
            last = f", last {(_iso(row.found_ms) or '')[:16]}" if row.found else ""
            typer.echo(
                f"{row.pk}  {row.name}  ({row.found:,} new since {(_iso(row.created_ms) or '')[:10]}{last}; {told})"
            )
            if row.name != row.query:
                typer.echo(f"   {row.query}")


@app.command()
def unsave(
    number: Annotated[int, typer.Argument(min=1, help="Number of the saved search.")],
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Forget a saved search."""
    common.setup(data, must_exist=True)
    from hemeroteca.watch import searches
    from hemeroteca.watch.services import WatchError

    try:
        searches.remove(number)
    except WatchError as error:
        common.give_up(str(error), common.USAGE)
    _tell(json, f"saved search {number} is forgotten", removed=number)


def _saved_facts(row: "SavedSearch") -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "query": row.query,
        "channel": row.channel_id,
        "created_at": _iso(row.created_ms),
        "found": row.found,
        "found_at": _iso(row.found_ms),
    }


def _open(
    data: Path | None, query: str = "", versions: bool = False, create: bool = False
) -> "tuple[Config, Index, Path]":
    """The index a query is for and the folder of all of them, without Django: a search must start fast."""
    from hemeroteca.instance import Instance
    from hemeroteca.search import open_index
    from hemeroteca.search.services import choose

    config = common.settings(data)
    instance = Instance(config.data)
    folder = instance.index_dir
    if create:
        instance.create()
    elif not (folder / "main").exists():
        common.give_up(f"nothing was indexed yet in {config.data}; begin with `hemeroteca crawl` or name --data")
    with _errors():
        return config, open_index(config, choose(folder, query, versions or None)), folder


def _facts(hit: "Hit") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "url": hit.url,
        "title": hit.title,
        "snippet": hit.snippet,
        "score": hit.score,
        "captured_at": _iso(hit.captured_ms),
        "host": hit.host,
        "language": hit.language,
        "type": hit.type,
    }
    facts["versions"] = hit.versions
    if hit.published_ms:
        facts["published_at"] = _iso(hit.published_ms)
    if hit.author:
        facts["author"] = hit.author
    if hit.collections:
        facts["collections"] = hit.collections
    if hit.until_ms:
        facts["until"] = _iso(hit.until_ms)
    if hit.id:
        facts["id"] = hit.id
    if hit.duplicates:
        facts["duplicates"] = hit.duplicates
    return facts


def _iso(milliseconds: int) -> str | None:
    if not milliseconds:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _show(hit: "Hit") -> None:
    import html

    def plain(text: str) -> str:
        said = common.printable(html.unescape(text.replace("<b>", _BOLD).replace("</b>", _PLAIN)))
        return said.replace(_BOLD, "\x1b[1m").replace(_PLAIN, "\x1b[0m")

    typer.echo(plain(hit.title_html) or common.printable(hit.url), color=None)
    date = (_iso(hit.captured_ms) or "")[:10]
    if hit.until_ms:
        date += f" – {(_iso(hit.until_ms) or '')[:10]}"
    of_it = hit.page != hit.key  # versions of one page
    more = f"  (+{hit.duplicates} {'versions' if of_it else 'alike'})" if hit.duplicates else ""
    typer.echo(f"  {common.printable(hit.url or hit.id)}  {date}{more}")
    typer.echo(f"  {plain(hit.snippet)}\n")


def _place(index: "Index", query: str, key: int, options: "Options") -> int | None:
    """Where a result stands on the pages of results, counted from 1; None when it is on none of the first."""
    cursor, before = "", 0
    for _ in range(_PAGES):
        found = index.search(query, limit=_RESULTS, cursor=cursor, options=options)
        for at, hit in enumerate(found.hits, before + 1):
            if hit.key == key:
                return at
        cursor, before = found.cursor, before + len(found.hits)
        if not cursor:
            break
    return None


def _show_part(part: dict[str, Any], depth: int) -> None:
    if depth > 6:
        return
    typer.echo(f"{'  ' * depth}{part.get('value', 0):.3f}  {common.printable(part.get('description', ''))}")
    for detail in part.get("details", []):
        _show_part(detail, depth + 1)


def _learn(path: Path) -> None:
    """A quick look at the new documents, so that suggestions know their words."""
    from hemeroteca.search import open_index, services

    services.learn(path, open_index(None, path), 2_000)


def _wait_until_taken(config: "Config", index: "Index", left: Path) -> None:
    """Until the engine has the documents; if it ends before, they are put here."""
    import time

    from hemeroteca.instance import Instance
    from hemeroteca.search import services

    instance = Instance(config.data)
    for look in count(1):
        time.sleep(0.25)
        if not left.exists():
            return
        lock = instance.lock_engine() if look % _LOOKS == 0 else None
        if lock is not None:
            with lock:
                services.take_documents(index, left, config.index_heap_bytes)
            return


def _tell(json: bool, sentence: str, **facts: Any) -> None:
    import msgspec

    typer.echo(msgspec.json.encode(facts).decode() if json else sentence)


def _readable(file: Path) -> Path:
    if not file.is_file():
        common.give_up(f"there is no file {file}", common.USAGE)
    return file


class _errors:  # noqa: N801 (reads as a statement)
    """Turns an error of search into one line."""

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from hemeroteca.search import SearchError

        if isinstance(error, SearchError):
            common.give_up(str(error))


class _progress:  # noqa: N801
    """A line with a running number, on a terminal only."""

    def __init__(self, verb: str, quiet: bool) -> None:
        self.verb = verb
        self.shown = sys.stderr.isatty() and not quiet

    def __enter__(self) -> Any:
        return self.advance

    def advance(self, count: int) -> None:
        if self.shown:
            sys.stderr.write(f"\r{self.verb} {count:,}")
            sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
