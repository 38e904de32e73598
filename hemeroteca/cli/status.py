"""`hemeroteca status`: what is queued, running, stored, failing, and why."""

from typing import TYPE_CHECKING

from hemeroteca.cli import common

if TYPE_CHECKING:
    from rich.table import Table

    from hemeroteca.engine.overview import Status
    from hemeroteca.instance.status import EngineStatus


def status(data: common.Data = None, json: common.Json = False) -> None:
    """Show what is queued, running, stored and failing, and why."""
    common.setup(data, must_exist=True, rooms=("frontier", "archive"))
    from hemeroteca.engine.overview import status as read_status

    found = read_status()
    if json:
        common.tell(found)
        return
    from rich.console import Console

    console = Console()
    for part in (*_engine(found.engine), _totals(found), *_lists(found)):
        console.print(part, highlight=False)


def _engine(live: "EngineStatus | None") -> list[str]:
    if live is None:
        return ["[bold]Idle[/]: no engine is at work"]
    running = (
        f"[bold green]Running[/]: {live.pages_per_second:g} pages/s, {live.active} requests under way, "
        f"{live.queued:,} queued, {common.size(live.rss_bytes)} of memory"
    )
    of_itself = [trouble for trouble in live.troubles if not trouble.url]  # not of a page
    return [running, *(f"[bold red]Trouble[/]: {common.unmarked(trouble.reason)}" for trouble in of_itself)]


def _totals(found: "Status") -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_row("pages", ", ".join(f"{count:,} {state}" for state, count in found.pages.items()))
    table.add_row("hosts", f"{found.hosts:,}")
    table.add_row(
        "archive", f"{found.captures:,} captures, {found.versions:,} versions, {common.size(found.warc_bytes)}"
    )
    table.add_row("search", f"{found.documents:,} documents, {common.size(found.index_bytes)}")
    table.add_row("disk", f"{common.size(found.free_bytes)} free; database {common.size(found.database_bytes)}")
    for one in found.growth:
        table.add_row(f"in {one.days} days", common.growth_line(one))
    return table


def _lists(found: "Status") -> "list[Table]":
    """Crawls, hosts that make work wait, and why pages were not captured; those that are empty are left out."""
    from rich.table import Table

    crawls = Table("crawl", "state", "seeds", "pages", "queued", "failed", box=None, padding=(0, 2))
    for crawl in found.crawls:
        more = f" +{len(crawl.seeds) - 1}" if len(crawl.seeds) > 1 else ""
        crawls.add_row(
            str(crawl.id),
            common.unmarked(f"{crawl.state}: {crawl.stop_reason}" if crawl.stop_reason else crawl.state),
            common.unmarked(crawl.seeds[0]) + more,
            *(f"{crawl.counts.get(name, 0):,}" for name in ("pages", "queued", "failed")),
        )
    hosts = Table("waiting host", "delay", "failures", "why", box=None, padding=(0, 2))
    for host in found.waiting:
        name, why = common.unmarked(host.name), common.unmarked(host.note)
        hosts.add_row(name, f"{host.delay_seconds:g} s", str(host.failures), why)
    reasons = Table("pages", "state", "reason", "for example", box=None, padding=(0, 2))
    for reason in found.reasons[:20]:
        what, example = common.unmarked(reason.reason), common.unmarked(reason.example[:600])
        reasons.add_row(f"{reason.pages:,}", reason.state, what, example)
    aside = Table("set aside: cannot be read", "reason", box=None, padding=(0, 2))
    for trouble in found.set_aside[-20:]:
        aside.add_row(common.unmarked(trouble.url), common.unmarked(trouble.reason))
    held = Table("held back", "crawl", "host", "why", "for example", box=None, padding=(0, 2))
    for kind in found.held:
        texts = (common.unmarked(text) for text in (kind.host, kind.reason, kind.example))
        held.add_row(f"{kind.addresses:,}", str(kind.crawl), *texts)
    if found.held:
        held.caption = "`hemeroteca held take CRAWL` visits them after all"
    return [table for table in (crawls, hosts, reasons, held, aside) if table.row_count]
