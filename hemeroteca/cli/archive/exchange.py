"""`hemeroteca archive import|export`: captures from other tools, and for them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli.archive.shared import SHOWN, Format, Urls, format_of, select
from hemeroteca.cli.common import USAGE, Force, Json, answer, counted, give_up, outgoing, printable, setup, size, tell
from hemeroteca.cli.job import Background, run_job

if TYPE_CHECKING:
    from hemeroteca.archive.job_kinds import ExportedFile
    from hemeroteca.config import Config

Since = Annotated[str, typer.Option("--from", help="Not before: 2026, 202601, 20260131120000, 2026-01-31.")]
Until = Annotated[str, typer.Option("--to", help="Not after; the same forms.")]
_LISTS = ("csv", "json")  # of what is known; the others hold the captures themselves


def import_(
    files: Annotated[list[Path], typer.Argument(help="WARC, ARC (plain or gzip) or WACZ files.", exists=True)],
    background: Background = False,
    as_json: Json = False,
) -> None:
    """Take in archives of other tools; also while `hemeroteca serve` or a crawl runs, whose engine makes their pages
    findable then. Exit code 1 when something in them could not be taken whole, 130 after Ctrl-C: what was taken stays.
    """
    setup()
    from hemeroteca.archive.importing import Imported
    from hemeroteca.engine.job_kinds import Import

    order = Import([str(file.absolute()) for file in files])
    done = run_job("archive.import", order, Imported, as_json, background)
    if as_json:
        tell(done)
    else:
        for problem in sorted(done.problems, key=lambda item: not item.lost)[:SHOWN]:
            typer.echo(printable(f"{problem.file} at {problem.offset}: {problem.reason}"), err=True)
        if len(done.problems) > SHOWN:
            typer.echo(f"… and {len(done.problems) - SHOWN} more notes; --json lists them", err=True)
        typer.echo(
            f"{counted(done.files, 'file')}: {counted(done.taken, 'capture')} taken "
            f"({done.repeated} with a payload we had), {done.known} known already, "
            f"{done.lost} left out or not whole, {size(done.bytes)} written"
        )
        if done.waiting:
            typer.echo(f"{done.waiting} of them repeat captures that are not here; they wait for those", err=True)
        if done.joined:
            typer.echo(f"{counted(done.joined, 'capture')} of earlier imports got what they repeat", err=True)
        if done.taken_down:
            left = f"{counted(done.taken_down, 'capture')} of addresses that were taken down left out"
            typer.echo(f"{left}; `hemeroteca archive takedown list` tells which", err=True)
    if done.lost:
        raise typer.Exit(1)


def export(
    target: Annotated[Path, typer.Argument(help="File to write; `-` is standard output.")],
    urls: Urls = None,
    form: Annotated[Format | None, typer.Option("--format", help="Else by the name of the file.")] = None,
    since: Since = "",
    until: Until = "",
    versions_only: Annotated[bool, typer.Option("--versions", help="Only captures that brought news.")] = False,
    collection: Annotated[str, typer.Option(help="The pages of this collection, with what they need.")] = "",
    search: Annotated[
        str, typer.Option(help="The pages that `hemeroteca search` finds for this, with what they show.")
    ] = "",
    title: Annotated[str, typer.Option(help="Title of the WACZ.")] = "",
    force: Force = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """Hand out captures as WARC or WACZ, or what is known of them as CSV or JSON lines."""
    config = setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.archive import requisites
    from hemeroteca.archive.export import export_list
    from hemeroteca.archive.job_kinds import Export, ExportedFile

    chosen = form or format_of(target)
    folder = settings.INSTANCE.warc_dir
    wanted = _wanted(config, urls, collection, search)
    if (search or collection) and chosen in ("warc", "wacz"):
        wanted = requisites.of(folder, wanted) if search else requisites.with_patterns(folder, wanted)
    selection = select(wanted, since, until, versions_only, collection, search)
    if str(target) == "-" and background:
        give_up("a job has no standard output; name a file, or leave out --background", USAGE)
    if str(target) == "-" and chosen in _LISTS:
        export_list(selection, sys.stdout, chosen)
        return
    with outgoing(target, force) as path:
        order = Export(selection, str(path.absolute()), chosen, title)
        done = run_job("archive.export", order, ExportedFile, as_json, background)
    _report_export(target, done, as_json)


def _report_export(target: Path, done: "ExportedFile", as_json: bool) -> None:
    if not done.captures:
        typer.echo(
            "no capture is like that: the file holds none; `hemeroteca archive stats` tells what there is", err=True
        )
    if str(target) != "-":
        facts = {"file": str(target), "captures": done.captures, "bytes": done.bytes, "unreadable": done.unreadable}
        answer(as_json, facts, f"{target}: {done.captures} captures, {size(done.bytes)}")
    if done.unreadable and not as_json:
        typer.echo(f"{done.unreadable} captures could not be read; `hemeroteca archive verify` tells why", err=True)
    if done.unreadable:
        raise typer.Exit(1)


def _wanted(config: "Config", urls: list[str] | None, collection: str, search: str) -> list[str]:
    """The addresses a selection is about; none when it is about all."""
    if search and (urls or collection):
        give_up("--search stands alone; leave out the addresses and --collection", USAGE)
    if collection:
        from hemeroteca.watch.queries import patterns_of

        patterns = patterns_of(collection)
        if not patterns and not urls:
            give_up(f"the collection {collection!r} has no subscriptions", USAGE)
        return [*(urls or ()), *patterns]
    if search:
        from django.conf import settings

        from hemeroteca.search.results import SearchOptions
        from hemeroteca.search.searcher import open_searcher

        searcher = open_searcher(config, settings.INSTANCE.index_dir)
        found = searcher.search(search, limit=1000, options=SearchOptions(group=False))
        if not found.hits:
            give_up(f"nothing is found for {search!r}")
        if found.total > len(found.hits):
            typer.echo(f"{found.total} pages are found; the first {len(found.hits)} are taken", err=True)
        return [hit.url for hit in found.hits]
    return urls or []
