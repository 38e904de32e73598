"""`hemeroteca status`: what is queued, running, stored, failing, and why."""

from typing import TYPE_CHECKING

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.engine.overview import Status
    from hemeroteca.instance.status import EngineStatus


def status(json: common.Json = False) -> None:
    """Show what is queued, running, stored and failing, and why."""
    common.setup(must_exist=True, rooms=("frontier", "archive"))
    from hemeroteca.engine.overview import status as read_status

    found = read_status()
    if json:
        common.tell(found)
        return
    _show_engine(found.engine)
    _show_totals(found)
    _show_lists(found)


def _show_engine(live: "EngineStatus | None") -> None:
    if live is None:
        typer.echo(f"{typer.style('Idle', bold=True)}: no engine is at work")
        return
    typer.echo(
        f"{typer.style('Running', bold=True, fg='green')}: {live.pages_per_second:g} pages/s, "
        f"{live.active} requests under way, {live.queued:,} queued by running crawls, "
        f"{common.size(live.rss_bytes)} of memory"
    )
    for trouble in live.troubles:
        if not trouble.url:  # of the engine, not of a page
            typer.echo(f"{typer.style('Trouble', bold=True, fg='red')}: {common.printable(trouble.reason)}")


def _show_totals(found: "Status") -> None:
    common.columns(
        [
            (
                "pages",
                ", ".join(f"{count:,} {state}" for state, count in found.pages.items()) + " (all crawls, all runs)",
            ),
            ("hosts", f"{found.hosts:,}"),
            ("archive", f"{found.captures:,} captures, {found.versions:,} versions, {common.size(found.warc_bytes)}"),
            ("search", f"{found.documents:,} documents, {common.size(found.index_bytes)}"),
            *([("wikis", f"{common.size(found.lake_bytes)} of histories")] if found.lake_bytes else []),
            ("disk", f"{common.size(found.free_bytes)} free; database {common.size(found.database_bytes)}"),
            *((f"in {one.days} days", common.growth_line(one)) for one in found.growth),
        ]
    )


def _show_lists(found: "Status") -> None:
    """Crawls, hosts that make work wait, and why pages were not captured; those that are empty are left out."""
    from hemeroteca.frontier.reasons import sentence

    crawls = [
        (
            str(crawl.id),
            f"{crawl.state}: {crawl.stop_reason}" if crawl.stop_reason else crawl.state,
            crawl.seeds[0] + (f" +{len(crawl.seeds) - 1}" if len(crawl.seeds) > 1 else ""),
            *(f"{crawl.counts.get(name, 0):,}" for name in ("pages", "failed", "queued")),
        )
        for crawl in found.crawls
    ]
    hosts = [
        (host.name, f"{host.delay_seconds:g} s", str(host.failures), sentence(host.note)) for host in found.waiting
    ]
    reasons = [(f"{one.pages:,}", one.state, sentence(one.reason), one.example[:600]) for one in found.reasons[:20]]
    held = [(f"{kind.addresses:,}", str(kind.crawl), kind.host, kind.reason, kind.example) for kind in found.held]
    aside = [(trouble.url, trouble.reason) for trouble in found.set_aside[-20:]]
    for rows, header, caption in (
        (
            crawls,
            ("crawl", "state", "seeds", "pages", "failed", "queued"),
            "pages and failed: of the present or last run; queued: what waits now",
        ),
        (hosts, ("waiting host", "delay", "failures", "why"), ""),
        (reasons, ("pages", "state", "reason", "for example"), ""),
        (
            held,
            ("held back", "crawl", "host", "why", "for example"),
            "`hemeroteca held take CRAWL` visits them after all",
        ),
        (aside, ("set aside: cannot be read", "reason"), ""),
    ):
        if rows:
            common.columns(rows, header, caption)
