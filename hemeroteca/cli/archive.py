"""`hemeroteca archive`: versions of a page, files checked, exchanged, counted and thinned out."""

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.cli import diff
from hemeroteca.cli.common import INTERRUPTED, USAGE, Data, Json, give_up, printable, setup, size, unmarked, writing

if TYPE_CHECKING:
    from hemeroteca.archive.selection import Selection
    from hemeroteca.archive.values import CaptureRow
    from hemeroteca.config import Config
    from hemeroteca.engine.imports import Around

app = typer.Typer(no_args_is_help=True, help="Versions of pages; WARC files checked, exchanged, counted, thinned out.")

Url = Annotated[str, typer.Argument(help="Address of the page.")]
Urls = Annotated[
    list[str] | None,
    typer.Argument(help="Addresses; `example.org/*` and `*.example.org` mean all that begin so. None: everything."),
]
Since = Annotated[str, typer.Option("--from", help="Not before: 2026, 202601, 20260131120000, 2026-01-31.")]
Until = Annotated[str, typer.Option("--to", help="Not after; the same forms.")]


class Format(StrEnum):
    warc = "warc"
    wacz = "wacz"
    csv = "csv"
    json = "json"


class Period(StrEnum):
    day = "day"
    week = "week"
    month = "month"
    year = "year"


@app.command()
def versions(
    url: Url,
    all_captures: Annotated[bool, typer.Option("--all", help="Also captures that brought nothing new.")] = False,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """The versions of a page, oldest first."""
    setup(data, must_exist=True)
    from hemeroteca.archive import queries
    from hemeroteca.archive.export import facts

    rows = queries.captures_of(url, limit=100_000) if all_captures else queries.versions_of(url, limit=100_000)
    if not rows:
        give_up(_no_capture(url))
    if as_json:
        for row in rows:
            typer.echo(json.dumps(facts(row)))
        return
    # 80 columns hold all of it: an id is no use without its end
    table = Table("captured (UTC)", "status", "size", "change", "id", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        column.no_wrap = True
    for row in rows:
        captured = str(facts(row)["captured_at"])[:19].replace("T", " ")
        importance = "" if row.importance is None else f"{row.importance:.0%}"
        table.add_row(captured, str(row.status), size(row.body_size), importance, str(row.record_id))
    Console().print(table)


@app.command()
def get(
    url: Url,
    at: Annotated[str, typer.Option(help="The capture nearest to this time: 2026, 2026-01-31. Else the newest.")] = "",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    head: Annotated[bool, typer.Option(help="The HTTP head before the body.")] = False,
    decoded: Annotated[bool, typer.Option("--decoded", help="Without the compression it was sent in.")] = False,
    shown: Annotated[bool, typer.Option("--rendered", help="The HTML a browser made of it, where one did.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Facts about the capture instead of its bytes.")] = False,
    data: Data = None,
) -> None:
    """The bytes of a page as they were received."""
    setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca import extract
    from hemeroteca.archive import queries, reader, rendered
    from hemeroteca.archive.export import facts

    row = queries.closest(url, _moment(at)) if at else queries.latest(url)
    if row is None:
        give_up(_no_capture(url))
    if as_json:
        typer.echo(json.dumps(facts(row)))
        return
    folder = settings.INSTANCE.warc_dir
    if shown and (row := rendered.dom_of(row)) is None:
        give_up(f"no browser opened that capture of {url}; leave out --rendered")
    holder = queries.by_record(row.refers_to) if row.refers_to else row
    if holder is None:
        give_up(f"the payload of {url} is not in the archive; `hemeroteca archive verify` tells more")
    try:
        record = reader.read(folder, holder.warc_name, holder.offset, holder.length)
    except reader.WarcReadError as error:
        give_up(str(error))
    record.body.seek(0)
    encoding = record.header("content-encoding") if decoded else ""
    with _output(output) as file:
        if head:
            file.write(record.head)
        if encoding:
            body, note = extract.decode_body(record.body.read(), encoding, DECODED_BYTES)
            file.write(body)
            if note:
                typer.echo(printable(f"not all of it could be unpacked ({note})"), err=True)
        while chunk := record.body.read(1 << 18):
            file.write(chunk)
    if encoding and note:
        raise typer.Exit(1)


@app.command()
def verify(
    repair: Annotated[bool, typer.Option(help="Correct the index by what the files say.")] = False,
    digests: Annotated[bool, typer.Option(help="Compute every digest again.")] = True,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Check every record and the index against each other. Exit code 1 when something is wrong.

    With --repair a lost database is made anew from the WARC files.
    """
    setup(data, must_exist=True, at_least="warc" if repair else "hemeroteca.sqlite3")
    from django.conf import settings

    from hemeroteca.archive.verify import verify as check
    from hemeroteca.engine.ledger import last_capture, write_watermark

    with _alone(repair, "repair"), _progress(as_json) as progress:
        lost = repair and not last_capture()
        report = check(settings.INSTANCE.warc_dir, repair=repair, digests=digests, progress=progress)
        if lost and report.added:  # rows have new numbers: what the search index holds is unknown
            write_watermark(settings.INSTANCE, 0, versions_too=True)
    if as_json:
        typer.echo(json.dumps({**asdict(report), "sound": report.sound}))
    else:
        for trouble in report.troubles:
            mark = "repaired: " if trouble.repaired else ""
            typer.echo(printable(f"{trouble.file} at {trouble.offset}: {mark}{trouble.reason}"))
        if report.unlisted:
            typer.echo(f"… and {report.unlisted} more")
        typer.echo(
            f"{report.files} files, {report.records} records, {report.captures} captures, {size(report.bytes)}: "
            + ("all is well" if report.sound else f"{len(report.troubles) + report.unlisted} troubles")
        )
        if report.added:
            typer.echo(
                f"{report.added} captures were added to the index; `hemeroteca search rebuild`, or the next start of "
                "`hemeroteca serve`, makes them findable",
                err=True,
            )
        if not report.sound and not repair:
            typer.echo("what is wrong in the index only can be corrected with --repair", err=True)
    if not report.sound:
        raise typer.Exit(1)


@app.command("import")
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
    from hemeroteca.archive.intake import Intake
    from hemeroteca.archive.writer import WarcWriter
    from hemeroteca.engine import spool

    instance = settings.INSTANCE
    facts = {"software": f"Hemeroteca/{__version__}", "description": "imported"}
    writer = WarcWriter(instance.warc_dir, max_bytes=config.warc_bytes, facts=facts)
    with (
        writing(instance.data),
        _importing(config, as_json) as around,
        spool.own(instance) as folder,
        _progress(as_json, "captures") as progress,
    ):
        intake = Intake(writer, around, progress)
        with _on_interrupt(intake.stop):
            done = intake.read(files, folder)
    if done.stopped:
        typer.echo("stopped; what was taken stays, and the same command goes on from there", err=True)
    if as_json:
        typer.echo(json.dumps(asdict(done) | {"problems": [msgspec.to_builtins(item) for item in done.problems]}))
    else:
        for problem in sorted(done.problems, key=lambda item: not item.lost)[:_SHOWN]:
            typer.echo(printable(f"{problem.file} at {problem.offset}: {problem.reason}"), err=True)
        if len(done.problems) > _SHOWN:
            typer.echo(f"… and {len(done.problems) - _SHOWN} more notes; --json lists them", err=True)
        typer.echo(
            f"{done.files} file{'s' if done.files != 1 else ''}: "
            f"{done.taken} captures taken ({done.repeated} with a payload we had), "
            f"{done.known} known already, {done.lost} lost, {size(done.bytes)} written"
        )
    if done.stopped:
        raise typer.Exit(INTERRUPTED)
    if done.lost:
        raise typer.Exit(1)


@app.command()
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
    from hemeroteca.archive import requisites

    chosen = form or _format_of(target)
    folder = settings.INSTANCE.warc_dir
    wanted = _wanted(config, urls, collection, search)
    if (search or collection) and chosen in (Format.warc, Format.wacz):
        wanted = requisites.of(folder, wanted) if search else requisites.with_patterns(folder, wanted)
    selection = _selection(wanted, since, until, versions_only, collection, search)
    now = time.time_ns() // 1_000_000
    unreadable = 0
    if chosen in (Format.csv, Format.json):
        write = exporting.export_csv if chosen is Format.csv else exporting.export_json
        if str(target) == "-":
            count = write(selection, sys.stdout)
            return
        with writing(target), target.open("w", encoding="utf-8", newline="") as file:
            count = write(selection, file)
    elif str(target) == "-":
        give_up(f"a {chosen.value.upper()} file is not written to standard output; name a file", USAGE)
    else:
        with writing(target):
            if chosen is Format.warc:
                done = exporting.export_warc(folder, selection, target, now)
            else:
                done = exporting.export_wacz(folder, selection, target, now, title)
        count, unreadable = done.captures, done.unreadable
    written = target.stat().st_size
    if not count:
        typer.echo(
            "no capture is like that: the file holds none; `hemeroteca archive stats` tells what there is", err=True
        )
    if as_json:
        facts = {"file": str(target), "captures": count, "bytes": written, "unreadable": unreadable}
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"{target}: {count} captures, {size(written)}")
        if unreadable:
            typer.echo(f"{unreadable} captures could not be read; `hemeroteca archive verify` tells why", err=True)
    if unreadable:
        raise typer.Exit(1)


@app.command()
def stats(as_json: Json = False, data: Data = None) -> None:
    """What the archive holds, in numbers."""
    setup(data, must_exist=True)
    from hemeroteca.archive.stats import stats as count

    found = count()
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    table = Table(show_header=False)
    table.add_row("captures", f"{found.captures:,}")
    table.add_row("versions", f"{found.versions:,}")
    table.add_row("addresses", f"{found.addresses:,}")
    table.add_row("first, last", f"{found.first} – {found.last}")
    table.add_row("received", size(found.received_bytes))
    table.add_row("not stored again", f"{size(found.repeated_bytes)} in {found.revisits:,} revisits")
    table.add_row("files", f"{found.files} with {size(found.file_bytes)}")
    table.add_row("by year", ", ".join(f"{year}: {count:,}" for year, count in found.years.items()))
    table.add_row("by status", ", ".join(f"{status}: {count:,}" for status, count in found.statuses.items()))
    by_type = ", ".join(f"{mime}: {count:,}" for mime, count in list(found.media_types.items())[:10])
    table.add_row("by type", unmarked(by_type))
    Console().print(table)


@app.command()
def prune(
    urls: Urls = None,
    older_than: Annotated[str, typer.Option(help="Captures before this time may go: 2026, 2026-01-31, …")] = "",
    one_per: Annotated[Period | None, typer.Option(help="All but one capture of a page in each may go.")] = None,
    keep_newest: Annotated[int, typer.Option(min=1, help="Captures of each page that stay in any case.")] = 1,
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without this it is only said what would go.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go; so it is without --yes.")] = False,
    report: Annotated[
        Path | None, typer.Option(help="List each capture that goes in this file: .csv, or .jsonl (JSON lines).")
    ] = None,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Let go of captures that brought nothing new. Every version stays."""
    if yes and dry_run:
        give_up("--yes and --dry-run say the opposite; leave one out", USAGE)
    if report is not None and _format_of(report) not in (Format.csv, Format.json):
        give_up(f"{report} is to be a list; name it .csv or .jsonl", USAGE)
    setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.archive import prune as pruning
    from hemeroteca.archive.reader import WarcReadError

    if not older_than and not one_per:
        give_up("say what may go: --older-than DATE or --one-per day|week|month|year", USAGE)
    rules = pruning.Rules(_moment(older_than) if older_than else None, one_per.value if one_per else "", keep_newest)
    selection = _selection(urls, "", "", False)
    with _alone(yes, "prune"), _list_of_captures(report) as tell:
        try:
            done = pruning.prune(settings.INSTANCE.warc_dir, selection, rules, not yes, tell)
        except WarcReadError as error:
            give_up(str(error))
    if as_json:
        typer.echo(json.dumps({**asdict(done), "dry_run": not yes}))
    else:
        for url, count in list(done.pages.items())[:_SHOWN]:
            typer.echo(printable(f"{count:6} of {url}"))
        if len(done.pages) > _SHOWN:
            typer.echo(f"… and of {len(done.pages) - _SHOWN} more addresses; --report FILE lists every capture")
        verb = "let go" if yes else "would go (--yes does it)"
        typer.echo(
            f"{done.captures} of {done.looked_at} captures, {size(done.bytes)} in {done.files} files: {verb}; "
            "every version stays"
        )


@app.command()
def offload(
    keep_local: Annotated[bool, typer.Option("--keep-local", help="Copy only; the files stay here too.")] = False,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Bring closed files to the object store that `archive_store` names; they are read from there afterwards."""
    setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.archive.models import WarcFile
    from hemeroteca.archive.store import StoreError
    from hemeroteca.archive.store import offload as bring

    names = list(WarcFile.objects.filter(closed=True, size__gt=0).order_by("name").values_list("name", flat=True))
    try:
        count, total = bring(settings.INSTANCE.warc_dir, names, keep_local)
    except StoreError as error:
        give_up(str(error))
    if as_json:
        typer.echo(json.dumps({"files": count, "bytes": total}))
    else:
        typer.echo(f"{count} files, {size(total)}")


_SHOWN = 30
DECODED_BYTES = 512 << 20


app.command("diff")(diff.diff)


def _wanted(config: "Config", urls: list[str] | None, collection: str, search: str) -> list[str]:
    """The addresses a selection is about; none when it is about all."""
    if search and (urls or collection):
        give_up("--search stands alone; leave out the addresses and --collection", USAGE)
    if collection:
        from hemeroteca.watch.queries import patterns_of

        try:
            patterns = patterns_of(collection)
        except LookupError as error:
            give_up(f"{error.args[0]} `hemeroteca watch collection list` shows them", USAGE)
        if not patterns and not urls:
            give_up(f"the collection {collection!r} has no subscriptions", USAGE)
        return [*(urls or ()), *patterns]
    if search:
        from django.conf import settings

        from hemeroteca.search import Options
        from hemeroteca.search.index import open_index

        index = open_index(config, settings.INSTANCE.index_dir)
        found = index.search(search, limit=1000, options=Options(group=False))
        if not found.hits:
            give_up(f"nothing is found for {search!r}")
        if found.total > len(found.hits):
            typer.echo(f"{found.total} pages are found; the first {len(found.hits)} are taken", err=True)
        return [hit.url for hit in found.hits]
    return urls or []


def _selection(
    urls: list[str] | None, since: str, until: str, versions_only: bool, collection: str = "", search: str = ""
) -> "Selection":
    from hemeroteca.archive.cdx import CdxError
    from hemeroteca.archive.selection import Selection

    crawls: tuple[int, ...] = ()
    if collection:
        from hemeroteca.watch.queries import crawls_of

        crawls = crawls_of(collection)
    match = "exact" if search else ""
    selection = Selection(tuple(urls or ()), match, since, until, versions_only, crawls)
    try:
        selection.check()
    except CdxError as error:
        give_up(str(error), USAGE)
    return selection


def _no_capture(url: str) -> str:
    return f"there is no capture of {url}; `hemeroteca crawl {url} --scope page` makes one"


def _moment(text: str) -> int:
    from hemeroteca.archive.timestamps import from_iso, start_ms

    digits = text.translate(str.maketrans("", "", "-: T"))
    try:
        if digits.isdigit() and len(digits) <= 14:
            return start_ms(digits)
    except ValueError as error:
        give_up(str(error), USAGE)
    moment = from_iso(text)
    if moment is None:
        give_up(f"{text!r} is not a time; write for instance 2026-01-31 or 2026-01-31T12:00:00Z", USAGE)
    return moment


def _format_of(target: Path) -> Format:
    endings = {".warc.gz": Format.warc, ".wacz": Format.wacz, ".csv": Format.csv, ".json": Format.json}
    endings[".jsonl"] = Format.json
    found = next((form for ending, form in endings.items() if target.name.endswith(ending)), None)
    if found is None:
        give_up(f"{target} does not tell the format; name it .warc.gz, .wacz, .csv or .jsonl, or use --format", USAGE)
    return found


@contextmanager
def _alone(needed: bool, what: str) -> Iterator[None]:
    """Be the only one that writes to the archive while this lasts."""
    if not needed:
        yield
        return
    from django.conf import settings

    lock = settings.INSTANCE.lock_engine()
    if lock is None:
        give_up(f"cannot {what} while the engine runs; stop `hemeroteca serve` (or the crawl) first")
    with lock:
        imports = settings.INSTANCE.lock_import()
        if imports is None:
            give_up(f"cannot {what} while `hemeroteca archive import` runs; wait until it has ended")
        with imports:
            yield


@contextmanager
def _importing(config: "Config", quiet: bool) -> "Iterator[Around]":
    """Be the only one that imports while this lasts: instead of an engine, or beside one."""
    from django.conf import settings

    from hemeroteca.engine.imports import beside_an_engine, finishing

    instance = settings.INSTANCE
    imports = instance.lock_import()
    if imports is None:
        give_up("another `hemeroteca archive import` is at work on this folder; wait until it has ended")

    def waiting() -> None:
        if not quiet:
            typer.echo("the captures are kept; the engine at work on this folder makes them findable …", err=True)

    with imports:
        engine = instance.lock_engine()
        if engine is None:
            with beside_an_engine(config, instance, waiting) as around:
                yield around
        else:
            with engine, finishing(config, instance) as around:
                yield around


@contextmanager
def _list_of_captures(target: Path | None) -> "Iterator[Callable[[CaptureRow], None] | None]":
    if target is None:
        yield None
        return
    from hemeroteca.archive.export import capture_lister

    with writing(target), target.open("w", encoding="utf-8", newline="") as file:
        yield capture_lister(file, as_csv=_format_of(target) is Format.csv)


@contextmanager
def _output(path: Path | None) -> Iterator[IO[bytes]]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with writing(path), path.open("wb") as file:
            yield file


@contextmanager
def _progress(quiet: bool, things: str = "records") -> Iterator[Callable[[str, int], None]]:
    """A line that tells how far it is, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield lambda name, count: None
        return
    due = 0.0

    def tell(name: str, count: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + 0.1
            typer.echo(f"\r{count:,} {things}, {printable(name)}\x1b[K", nl=False, err=True)

    yield tell
    typer.echo("\r\x1b[K", nl=False, err=True)


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
