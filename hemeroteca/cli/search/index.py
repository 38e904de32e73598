"""Verbs that care for the index: built anew, filled from files, measured, taught, told whom to prefer."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.common import counted
from hemeroteca.cli.job import Background, run_job
from hemeroteca.cli.progress import progress_line
from hemeroteca.cli.search.shared import Limit, errors_in_a_line, open_for, readable

if TYPE_CHECKING:
    from hemeroteca.config import Config
    from hemeroteca.search.index import Index


def rebuild(background: Background = False, json: common.Json = False) -> None:
    """Build the index anew from the archive. Searches go on with the old one until it is done."""
    folder = common.settings().data
    only_imported = (folder / "index").exists() and next((folder / "warc").glob("*.warc*"), None) is None
    config = common.setup(must_exist=not only_imported)
    from hemeroteca.engine.job_kinds import Rebuild, Rebuilt

    done = run_job("search.rebuild", Rebuild(), Rebuilt, json, background)
    more = f", {done.versions:,} versions" if config.index_versions else ""
    sentence = f"{counted(done.documents, 'document')} indexed{more}"
    common.answer(json, {"documents": done.documents, "versions": done.versions}, sentence)


def import_(
    file: Annotated[Path, typer.Argument(help='JSON lines: {"id", "url", "title", "text", "lang"}; - for stdin.')],
    collection: Annotated[str, typer.Option(help="Name of the collection, for `collection:`.")] = "",
    json: common.Json = False,
) -> None:
    """Index documents without crawling them. While `hemeroteca serve` or a crawl runs, its engine does it."""
    from hemeroteca.instance import Instance
    from hemeroteca.search import corpus, maintenance
    from hemeroteca.search.index import open_index

    source = sys.stdin.buffer if str(file) == "-" else readable(file).open("rb")
    config, searcher, path = open_for(create=True)
    lines = corpus.lines(source)
    with source, progress_line(json) as show, errors_in_a_line():

        def advance(count: int) -> None:
            show(count, None, "importing")

        lock = Instance(config.data).lock_engine()
        if lock is not None:
            with lock:  # no engine begins to write meanwhile
                report = corpus.import_documents(searcher.index, lines, config.index_heap_bytes, advance, collection)
            maintenance.learn(path, open_index(None, path), 2_000)  # so that suggestions know their words
        else:
            report, left = corpus.queue_documents(path, lines, advance, collection)
            if not json:
                typer.echo("an engine is at work on this folder and puts the documents into its index …", err=True)
            _wait_until_taken(config, searcher.index, left)
    for problem in report.problems:
        typer.echo(f"skipped {common.printable(problem)}", err=True)
    if report.unnamed:
        typer.echo(f"{report.unnamed:,} documents had no id and got the number of their line", err=True)
    if report.empty:
        typer.echo(f"{report.empty:,} documents have neither title nor text", err=True)
    sentence = f"{counted(report.documents, 'document')} indexed, {counted(report.skipped, 'line')} skipped"
    common.answer(json, {"documents": report.documents, "skipped": report.skipped}, sentence)
    if not report.documents:
        raise typer.Exit(1)


def query(
    from_file: Annotated[Path, typer.Option("--from-file", help="Lines `qid<TAB>query`, or JSON lines; - for stdin.")],
    limit: Limit = 100,
    syntax: Annotated[bool, typer.Option("--syntax", help="Operators have their meaning.")] = False,
    json: Annotated[bool, typer.Option("--json/--trec", help="JSON lines, or TREC run lines.")] = True,
) -> None:
    """Run many queries, for measuring quality. Ranking only: no grouping, no spreading over hosts."""
    import msgspec

    from hemeroteca.search import corpus

    source = sys.stdin.buffer if str(from_file) == "-" else readable(from_file).open("rb")
    _, searcher, _ = open_for()
    options = msgspec.structs.replace(corpus.RANKING_ONLY, syntax=syntax)
    with source:
        try:
            queries = corpus.queries(corpus.lines(source))
        except ValueError as error:
            common.give_up(f"{from_file}: {error}")
        for row in corpus.run_queries(searcher, queries, limit, options):
            if json:
                common.tell(row)
            else:
                sys.stdout.write(f"{row.qid} Q0 {row.id} {row.rank} {row.score:.6f} hemeroteca\n")


def learn(
    documents: Annotated[int, typer.Option(min=1, help="How many documents to read, spread over the index.")] = 10_000,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Learn the words of the index, for completion, next words and spelling."""
    open_for()
    common.setup()
    from hemeroteca.engine.job_kinds import LearnedWords, LearnWords

    done = run_job("search.learn", LearnWords(documents), LearnedWords, json, background)
    common.answer(json, {"documents": done.documents}, f"learned from {done.documents:,} documents")


def rank(background: Background = False, json: common.Json = False) -> None:
    """Rank pages and hosts by the links between them."""
    open_for()
    common.setup(must_exist=True)
    from hemeroteca.engine.job_kinds import Rank, Ranked

    done = run_job("search.rank", Rank(), Ranked, json, background)
    common.answer(json, {"pages": done.pages}, f"{done.pages:,} pages ranked")


def prefer(
    host: Annotated[str, typer.Argument(help="The host, e.g. example.org; without it: all that were judged.")] = "",
    factor: Annotated[float | None, typer.Option(help="Above 1 raises its results, below 1 lowers them.")] = None,
    block: Annotated[
        bool, typer.Option("--block", help="Never show its results, nor those of its subdomains.")
    ] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Judge it like any other host again.")] = False,
    json: common.Json = False,
) -> None:
    """Raise, lower or block the results of a host; show the hosts that were judged."""
    from hemeroteca.search import preferences

    given = sum((factor is not None, block, forget))
    if given != bool(host) or (factor is not None and not factor > 0):
        common.give_up("give a host and one of --factor NUMBER (above 0), --block or --forget", common.USAGE)
    _, _, path = open_for()
    with errors_in_a_line():
        now = preferences.prefer(path, host, 0.0 if block else factor) if host else preferences.load_preferences(path)
    shown = [f"{name} × {value:g}" for name, value in now.boosts.items()] + [f"{name} blocked" for name in now.blocks]
    common.answer(
        json, {"boosts": dict(now.boosts), "blocks": list(now.blocks)}, "\n".join(shown) or "no host is judged"
    )


def _wait_until_taken(config: "Config", index: "Index", left: Path) -> None:
    """Until the engine has the documents; if it ends before, they are put here."""
    from hemeroteca.instance import Instance
    from hemeroteca.search import corpus

    lock = Instance(config.data).wait_for_engine(lambda: not left.exists())
    if lock is not None:
        with lock:
            corpus.take_documents(index, left, config.index_heap_bytes)
