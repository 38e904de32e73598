"""`hemeroteca crawl`: visit everything in a scope, with a live display; the same order again goes on."""

import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Annotated, Literal

import typer

from hemeroteca.cli import common
from hemeroteca.errors import is_disk_full

if TYPE_CHECKING:
    from hemeroteca.engine.loop import Engine
    from hemeroteca.frontier.crawl_counts import Counts
    from hemeroteca.frontier.models import Crawl
    from hemeroteca.ingest.pool import ReaderProcess

EXAMPLES = 3  # of addresses that were not captured
PATIENCE = 3.0  # seconds for the engine at work to take up a crawl


ScopeKind = Literal["page", "prefix", "host", "domain", "web"]


def crawl(
    addresses: Annotated[list[str] | None, typer.Argument(metavar="URL…", help="Where to begin; - reads them.")] = None,
    from_file: Annotated[Path | None, typer.Option(help="File with one address a line; - is standard input.")] = None,
    scope: Annotated[
        ScopeKind | None, typer.Option(help="What belongs to the crawl: host, or with a focus the web.")
    ] = None,
    focus: Annotated[
        str | None, typer.Option(metavar="geo|FILE", help="What to look for: the links that promise it go first.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which pages go first: breadth-first; with a focus also focused, learned, …"),
    ] = None,
    include: Annotated[list[str] | None, typer.Option(metavar="RE", help="Only addresses that match.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="RE", help="No addresses that match.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Most links from a seed.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most pages of this run.")] = None,
    max_bytes: Annotated[str | None, typer.Option(metavar="N", help="Most bytes of this run, e.g. 500M.")] = None,
    max_time: Annotated[str | None, typer.Option(metavar="D", help="Longest time, e.g. 90s, 10m, 2h, 1d.")] = None,
    delay: Annotated[float | None, typer.Option(min=0, help="Fixed seconds between requests to a host.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, max=1000, help="Most requests at once, all hosts.")] = None,
    ignore_robots: Annotated[bool, typer.Option("--ignore-robots", help="Only on sites you own.")] = False,
    sitemaps: Annotated[bool, typer.Option(help="Find pages by sitemaps too.")] = True,
    requisites: Annotated[
        bool | None,
        typer.Option(
            "--requisites/--no-requisites", help="Keep images, styles and scripts of pages too; with a focus not."
        ),
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Accept any certificate.")] = False,
    probe: Annotated[bool, typer.Option("--probe", help="Ask what may be a geographic service what it is.")] = False,
    json: common.Json = False,
) -> None:
    """Crawl sites: visit, archive and index everything in the scope.

    Run it again to go on where it stopped; once it has finished, the same order visits the pages again and keeps what
    changed. Exit code: 0 done, 1 nothing could be fetched, 2 usage, 130 interrupted (resumable).
    """
    seeds = _seeds(addresses or [], from_file)
    readers = own_readers()
    common.setup(machinery=True)
    from hemeroteca.focus import definition
    from hemeroteca.frontier import services
    from hemeroteca.ingest.rules import CrawlOptions
    from hemeroteca.urls import Scope

    looks_for = definition.load(focus) if focus else None
    scope = scope or ("web" if looks_for is not None else "host")
    options = CrawlOptions(
        Scope(kind=scope, include=tuple(include or ()), exclude=tuple(exclude or ()), depth=depth),
        limit=limit,
        max_bytes=None if max_bytes is None else _parse_size(max_bytes),
        max_seconds=None if max_time is None else _parse_duration(max_time),
        delay=delay,
        concurrency=concurrency,
        ignore_robots=ignore_robots,
        sitemaps=sitemaps,
        requisites=requisites if requisites is not None else looks_for is None,
        insecure=insecure,
        probe=probe,
        order=order or (definition.DEFAULT_STRATEGY if looks_for is not None else "breadth-first"),
        focus=looks_for,
    )
    ordered, continued = services.submit_crawl(common.actor(), seeds, options)
    carry_out(ordered, "Going on with" if continued else "Crawling", json, readers)


def carry_out(order: "Crawl", verb: str, json: bool, readers: "list[ReaderProcess]") -> None:
    """Work on a crawl until it ends, and tell what became of it."""
    from django.conf import settings

    if not json:
        rest = f" and {len(order.seeds) - 1} more" if len(order.seeds) > 1 else ""
        first = typer.style(common.printable(order.seeds[0]), bold=True)
        typer.echo(f"{verb} {first}{rest} (crawl {order.pk})", err=True)

    common.say_contact(settings.CONFIG, settings.INSTANCE)
    run_crawl(order.pk, json, readers)
    order.refresh_from_db()
    _report(order, json)
    if _Interrupt.happened:
        raise typer.Exit(common.INTERRUPTED)
    if order.counts.get("pages", 0) <= order.counts.get("errors", 0):
        raise typer.Exit(1)


def run_crawl(crawl_id: int, json: bool, readers: "list[ReaderProcess]") -> None:
    """Work on a crawl that was ordered, here or in the engine of `hemeroteca serve`, until it ends."""
    _Interrupt.install()
    _work(crawl_id, json, readers)


def own_readers() -> "list[ReaderProcess]":
    """Readers for the engine this process will be; begun before Django is loaded, which they need not carry."""
    from hemeroteca.ingest.pool import fork_readers

    return fork_readers(common.settings().readers)


def _work(crawl_id: int, json: bool, readers: "list[ReaderProcess]") -> None:
    """Be the engine for this crawl, or follow the engine at work; when that ends before the crawl, be it after all."""
    from django.conf import settings

    lock = settings.INSTANCE.lock_engine()
    with _Display(quiet=json or not sys.stderr.isatty()) as display:
        if lock is None:
            readers.clear()  # the engine at work has its own
            lock = _follow(crawl_id, display)
        if lock is not None:
            with lock:
                _run_engine(crawl_id, display, readers)


def _run_engine(crawl_id: int, display: "_Display", readers: "list[ReaderProcess]") -> None:
    from django.conf import settings
    from django.db import OperationalError

    from hemeroteca.config import ConfigError
    from hemeroteca.engine.loop import Engine
    from hemeroteca.engine.rebuild import repair
    from hemeroteca.engine.search_upkeep import refresh
    from hemeroteca.frontier import services
    from hemeroteca.search.index import SearchError
    from hemeroteca.warc.writer import WarcWriteError

    try:
        repair(settings.CONFIG, settings.INSTANCE)
        if _Interrupt.happened:
            services.mark_stopped(crawl_id)
            return
        engine = Engine(settings.CONFIG, settings.INSTANCE, only=crawl_id, tick=display.show_engine, readers=readers)
        _Interrupt.then = lambda: engine.stop("interrupted")
        engine.run()
        if not _Interrupt.happened:
            refresh(settings.INSTANCE, settings.CONFIG.index_heap_bytes)
    except (SearchError, ConfigError, OSError, OperationalError) as error:
        reason = str(error)
        if is_disk_full(error) and not isinstance(error, WarcWriteError):
            reason = (
                f"the disk of {settings.INSTANCE.data} is full; make room and start again: "
                "the crawl goes on where it stopped"
            )
        elif isinstance(error, OperationalError):
            raise
        with suppress(OperationalError):  # the reason is written where there is no room
            services.mark_stopped(crawl_id, reason)
        common.give_up(reason)


def _follow(crawl_id: int, display: "_Display") -> IO[str] | None:
    """Show how far the crawl is until it ends. When its engine is gone before, or was that of another crawl only:
    the engine's lock."""
    from django.conf import settings

    from hemeroteca.frontier import services
    from hemeroteca.frontier.models import Crawl
    from hemeroteca.instance.status import read_engine_status

    _Interrupt.then = lambda: services.ask_to_stop([crawl_id])
    started = Crawl.objects.get(pk=crawl_id).started_ms
    tell_at: float | None = time.monotonic() + PATIENCE
    while True:
        crawl = Crawl.objects.get(pk=crawl_id)
        if crawl.state != Crawl.State.RUNNING and (crawl.ended_ms or not crawl.started_ms):
            return None
        live = read_engine_status(settings.INSTANCE)
        taken = live is not None and crawl_id in live.crawls
        if crawl.stop_requested and not taken:
            services.mark_stopped(crawl_id)
            return None
        if live is None and (lock := settings.INSTANCE.lock_engine()) is not None:
            return lock
        if not taken and tell_at is not None and time.monotonic() >= tell_at:
            tell_at = None
            typer.echo("Another crawl is at work in this folder; this one begins when that has ended.", err=True)
        if crawl.started_ms != started or crawl.counts:
            display.show(services.counts_of(crawl), live.pages_per_second if live else 0.0, live.active if live else 0)
        time.sleep(0.2)


class _Interrupt:
    """Ctrl-C: once ends in order, twice at once."""

    happened = False
    then: Callable[[], None] | None = None

    @classmethod
    def install(cls) -> None:
        signal.signal(signal.SIGINT, cls._on_signal)
        signal.signal(signal.SIGTERM, cls._on_signal)

    @classmethod
    def _on_signal(cls, number: int, frame: FrameType | None) -> None:
        if cls.happened:
            sys.exit(common.INTERRUPTED)
        cls.happened = True
        if cls.then is not None:
            cls.then()


class _Display:
    """One line that lives while the crawl runs."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last: tuple[float, int] = (time.monotonic(), 0)
        self._pace = 0.0

    def __enter__(self) -> "_Display":
        if not self._quiet:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._quiet:
            self._live.stop()

    def show_engine(self, engine: "Engine") -> None:
        if self._quiet:
            return
        for run in engine.runs.values():
            now = time.monotonic()
            before, pages = self._last
            if now - before >= 1.0:
                self._pace = (run.counts.pages - pages) / (now - before)
                self._last = (now, run.counts.pages)
            run.counts.queued = engine.queued(run.id)
            run.counts.seconds = now - run.since
            self.show(run.counts, self._pace, engine.active)

    def show(self, counts: "Counts", pace: float, active: int) -> None:
        if self._quiet:
            return
        from rich.table import Table

        table = Table.grid(padding=(0, 2))
        table.add_row(
            f"[bold]{counts.pages:,}[/] pages",
            f"{counts.queued:,} queued",
            f"[cyan]{pace:,.1f}[/] pages/s",
            f"{active} under way",
            f"{counts.versions:,} new, {counts.unchanged:,} unchanged",
            f"[{'red' if counts.failed else 'dim'}]{counts.failed:,} failed[/]",
            common.size(counts.bytes),
            common.duration(counts.seconds),
        )
        self._live.update(table)


def _report(order: "Crawl", json: bool) -> None:
    from hemeroteca.frontier import queries, services
    from hemeroteca.frontier.reasons import explained, sentence
    from hemeroteca.frontier.visit import State

    counts = services.counts_of(order)
    if json:
        import msgspec

        summary = {"crawl": order.pk, "state": order.state, "stop_reason": order.stop_reason}
        common.tell(summary | msgspec.to_builtins(counts))
        return
    ending = "Finished" if order.state == "finished" else f"Stopped: {order.stop_reason or 'interrupted'}"
    typer.echo(f"{typer.style(common.printable(ending), bold=True)} after {common.duration(counts.seconds)}")
    rows = [
        ("pages", f"{counts.pages:,}", f"{counts.pages_per_second:,.1f} a second"),
        ("captures", f"{counts.captures:,}", f"{counts.versions:,} versions, {counts.unchanged:,} unchanged"),
        ("failed", f"{counts.failed:,}", f"{counts.excluded:,} more excluded" if counts.excluded else ""),
        *([("held back", f"{counts.held:,}", f"`hemeroteca held list {order.pk}` shows why")] if counts.held else []),
        ("received", common.size(counts.bytes), f"{common.size(counts.stored_bytes)} stored"),
        ("still queued", f"{counts.queued:,}", "run the same command to go on" if counts.queued else ""),
        ("processor", f"{counts.cpu_seconds:.1f} s", f"{common.size(counts.max_rss_bytes)} of memory at most"),
    ]
    if order.options.get("focus"):
        share = f"{counts.targets / counts.pages:.1%} of the pages" if counts.pages else ""
        rows.insert(1, ("targets", f"{counts.targets:,}", share))
    common.columns(rows)
    for title, found in (("not captured:", counts.reasons), ("captured, but:", counts.notes)):
        for place, (reason, count) in enumerate(sorted(found.items(), key=lambda entry: -entry[1])[:10]):
            typer.echo(f"{'' if place else title:14}  {count:>7,}  {common.printable(sentence(reason))}")
    left_out = [queries.visits(EXAMPLES, state=state, crawl=order.pk) for state in (State.FAILED, State.EXCLUDED)]
    for place, visit in enumerate(left_out[0] or left_out[1]):
        told = common.printable(f"{visit.page.url}: {explained(visit.reason)}")
        typer.echo(f"{'' if place else 'for example:':14}  {told}")


def _seeds(addresses: list[str], from_file: Path | None) -> list[str]:
    seeds = [address for address in addresses if address != "-"]
    sources = ["-"] if "-" in addresses else []
    if from_file is not None:
        sources.append(str(from_file))
    if not seeds and not sources and not sys.stdin.isatty():
        sources.append("-")
    for source in sources:
        try:
            text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            common.give_up(f"the list of addresses {source} cannot be read ({reason})", common.USAGE)
        lines = (line.strip() for line in text.splitlines())
        seeds += [line for line in lines if line and not line.startswith("#")]
    if not seeds:
        common.give_up("no address was given; write `hemeroteca crawl https://example.org`", common.USAGE)
    return seeds


def _parse_duration(text: str) -> float:
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*(s|m|min|h|d)?", text.strip().lower())
    if not found:
        common.give_up(f"--max-time {text!r} is not a duration; write 90s, 10m, 2h or 1d", common.USAGE)
    return float(found[1]) * {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}[found[2] or "s"]


def _parse_size(text: str) -> int:
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)i?b?", text.strip().lower())
    if not found:
        common.give_up(f"--max-bytes {text!r} is not a size; write 500000, 500M or 2G", common.USAGE)
    return int(float(found[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}[found[2]])
