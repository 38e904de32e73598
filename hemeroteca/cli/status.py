"""`hemeroteca status`: what is queued, running, stored, failing, and why."""

import sys

from hemeroteca.cli import common


def status(data: common.Data = None, json: common.Json = False) -> None:
    """Show what is queued, running, stored and failing, and why."""
    common.setup(data, must_exist=True)
    import msgspec

    from hemeroteca.engine.status import status as read_status

    found = read_status()
    if json:
        sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if found.engine:
        live = found.engine
        console.print(
            f"[bold green]Running[/]: {live.pages_per_second:g} pages/s, {live.active} requests under way, "
            f"{live.queued:,} queued, {common.size(live.rss_bytes)} of memory",
            highlight=False,
        )
        for trouble in (one for one in live.troubles if not one.url):  # of the engine itself, not of a page
            console.print(f"[bold red]Trouble[/]: {common.unmarked(trouble.reason)}", highlight=False)
    else:
        console.print("[bold]Idle[/]: no engine is at work", highlight=False)
    table = Table.grid(padding=(0, 2))
    table.add_row("pages", ", ".join(f"{count:,} {state}" for state, count in found.pages.items()))
    table.add_row("hosts", f"{found.hosts:,}")
    table.add_row(
        "archive", f"{found.captures:,} captures, {found.versions:,} versions, {common.size(found.warc_bytes)}"
    )
    table.add_row("search", f"{found.documents:,} documents, {common.size(found.index_bytes)}")
    table.add_row("disk", f"{common.size(found.free_bytes)} free; database {common.size(found.database_bytes)}")
    console.print(table, highlight=False)
    if found.crawls:
        crawls = Table("crawl", "state", "seeds", "pages", "queued", "failed", box=None, padding=(0, 2))
        for crawl in found.crawls:
            counts = crawl.counts
            more = f" +{len(crawl.seeds) - 1}" if len(crawl.seeds) > 1 else ""
            crawls.add_row(
                str(crawl.id),
                common.unmarked(f"{crawl.state}: {crawl.stop_reason}" if crawl.stop_reason else crawl.state),
                common.unmarked(crawl.seeds[0]) + more,
                f"{counts.get('pages', 0):,}",
                f"{counts.get('queued', 0):,}",
                f"{counts.get('failed', 0):,}",
            )
        console.print(crawls, highlight=False)
    if found.waiting:
        hosts = Table("waiting host", "delay", "failures", "why", box=None, padding=(0, 2))
        for host in found.waiting:
            name, why = common.unmarked(host.name), common.unmarked(host.note)
            hosts.add_row(name, f"{host.delay_seconds:g} s", str(host.failures), why)
        console.print(hosts, highlight=False)
    if found.reasons:
        reasons = Table("pages", "state", "reason", "for example", box=None, padding=(0, 2))
        for reason in found.reasons[:20]:
            what, example = common.unmarked(reason.reason), common.unmarked(reason.example[:200])
            reasons.add_row(f"{reason.pages:,}", reason.state, what, example)
        console.print(reasons, highlight=False)
