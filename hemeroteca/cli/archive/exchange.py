"""`hemeroteca archive import|export`: captures from other tools, and for them."""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from hemeroteca.cli.archive.shared import SHOWN, Format, Urls, format_of, select
from hemeroteca.cli.common import (
    INTERRUPTED,
    USAGE,
    Data,
    Json,
    give_up,
    printable,
    progress_line,
    setup,
    size,
    writing,
)

if TYPE_CHECKING:
    from hemeroteca.archive.export import Exported
    from hemeroteca.config import Config

Since = Annotated[str, typer.Option("--from", help="Not before: 2026, 202601, 20260131120000, 2026-01-31.")]
Until = Annotated[str, typer.Option("--to", help="Not after; the same forms.")]
_LISTS = (Format.csv, Format.json)  # of what is known; the others hold the captures themselves


def import_(
    files: Annotated[list[Path], typer.Argument(help="WARC, ARC (plain or gzip) or WACZ files.", exists=True)],
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Take in archives of other tools; also while `hemeroteca serve` or a crawl runs, whose engine makes their pages
    findable then. Exit code 1 when something in them could not be taken, 130 after Ctrl-C: the same command goes on.
    """
    config = setup(data)
    from django.conf import settings

    from hemeroteca import __version__
    from hemeroteca.archive.importing import Importer
    from hemeroteca.instance import spool
    from hemeroteca.warc.writer import WarcWriter

    instance = settings.INSTANCE
    facts = {"software": f"Hemeroteca/{__version__}", "description": "imported"}
    writer = WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts)
    with (
        writing(instance.data),
        _importing(config, as_json),
        spool.own(instance) as folder,
        progress_line(as_json) as show,
    ):
        importer = Importer(writer, lambda file, captures: show(f"{captures:,} captures, {file}"))
        with _on_interrupt(importer.stop):
            done = importer.read(files, folder)
    if done.stopped:
        typer.echo("stopped; what was taken stays, and the same command goes on from there", err=True)
    if as_json:
        typer.echo(json.dumps(asdict(done) | {"problems": [msgspec.to_builtins(item) for item in done.problems]}))
    else:
        for problem in sorted(done.problems, key=lambda item: not item.lost)[:SHOWN]:
            typer.echo(printable(f"{problem.file} at {problem.offset}: {problem.reason}"), err=True)
        if len(done.problems) > SHOWN:
            typer.echo(f"… and {len(done.problems) - SHOWN} more notes; --json lists them", err=True)
        typer.echo(
            f"{done.files} file{'s' if done.files != 1 else ''}: "
            f"{done.taken} captures taken ({done.repeated} with a payload we had), "
            f"{done.known} known already, {done.lost} lost, {size(done.bytes)} written"
        )
    if done.stopped:
        raise typer.Exit(INTERRUPTED)
    if done.lost:
        raise typer.Exit(1)


def export(
    target: Annotated[Path, typer.Argument(help="File to write; `-` is standard output (csv, json).")],
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
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Hand out captures as WARC or WACZ, or what is known of them as CSV or JSON lines."""
    config = setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.archive import export as exporting
    from hemeroteca.archive import requisites, wacz

    chosen = form or format_of(target)
    folder = settings.INSTANCE.warc_dir
    wanted = _wanted(config, urls, collection, search)
    if (search or collection) and chosen in (Format.warc, Format.wacz):
        wanted = requisites.of(folder, wanted) if search else requisites.with_patterns(folder, wanted)
    selection = select(wanted, since, until, versions_only, collection, search)
    write_list = exporting.export_csv if chosen is Format.csv else exporting.export_json
    if str(target) == "-":
        if chosen not in _LISTS:
            give_up(f"a {chosen.value.upper()} file is not written to standard output; name a file", USAGE)
        write_list(selection, sys.stdout)
        return
    with writing(target), progress_line(as_json) as show:

        def progress(captures: int) -> None:
            show(f"{captures:,} captures")

        if chosen in _LISTS:
            with target.open("w", encoding="utf-8", newline="") as file:
                done = exporting.Exported(captures=write_list(selection, file, progress))
        elif chosen is Format.warc:
            done = exporting.export_warc(folder, selection, target, time.time_ns() // 1_000_000, progress)
        else:
            done = wacz.write(folder, selection, target, time.time_ns() // 1_000_000, title, progress)
    _report_export(target, done, as_json)


def _report_export(target: Path, done: "Exported", as_json: bool) -> None:
    written = target.stat().st_size
    if not done.captures:
        typer.echo(
            "no capture is like that: the file holds none; `hemeroteca archive stats` tells what there is", err=True
        )
    if as_json:
        facts = {"file": str(target), "captures": done.captures, "bytes": written, "unreadable": done.unreadable}
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"{target}: {done.captures} captures, {size(written)}")
        if done.unreadable:
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

        from hemeroteca.search import Options, open_searcher

        searcher = open_searcher(config, settings.INSTANCE.index_dir)
        found = searcher.search(search, limit=1000, options=Options(group=False))
        if not found.hits:
            give_up(f"nothing is found for {search!r}")
        if found.total > len(found.hits):
            typer.echo(f"{found.total} pages are found; the first {len(found.hits)} are taken", err=True)
        return [hit.url for hit in found.hits]
    return urls or []


@contextmanager
def _importing(config: "Config", quiet: bool) -> Iterator[None]:
    """Be the only one that imports while this lasts: instead of an engine, or beside one. Ends when all is findable."""
    from django.conf import settings

    from hemeroteca.archive import queries
    from hemeroteca.engine import rebuild, search_upkeep

    instance = settings.INSTANCE
    imports = instance.lock_import()
    if imports is None:
        give_up("another `hemeroteca archive import` is at work on this folder; wait until it has ended")
    with imports:
        engine = instance.lock_engine()
        if engine is not None:
            with engine:
                yield
                if rebuild.catch_up(config, instance):
                    search_upkeep.refresh(instance, config.index_heap_bytes)
            return
        yield
        if queries.stale_pages(1):
            if not quiet:
                typer.echo("the captures are kept; the engine at work on this folder makes them findable …", err=True)
            rebuild.wait_until_read(config, instance)


@contextmanager
def _on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C asks for an orderly end; the second ends it at once, and the next start repairs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(*_: object) -> None:
        stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
