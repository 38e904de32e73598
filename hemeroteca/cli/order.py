"""`hemeroteca order`: orders of crawls that are kept, and given again by hand or by the clock."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.common import Json, printable, rfc3339, setup, stamp, tell
from hemeroteca.warc.timestamps import moment

app = common.Verbs()
Name = Annotated[str, typer.Argument(help="Name of the order.")]


@app.command(action="crawl.submit")
def save(
    name: Name,
    seeds: Annotated[list[str], typer.Argument(help="Addresses to start from.")],
    scope: Annotated[str, typer.Option(help="page, prefix, host or domain.")] = "host",
    depth: Annotated[int | None, typer.Option(min=0, help="Most links away from a seed.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most pages of one run.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Regular expression of addresses to leave out.")] = None,
    every: Annotated[float, typer.Option(min=0, help="Hours from one run to the next; 0: by hand only.")] = 0.0,
    as_json: Json = False,
) -> None:
    """Keep an order under a name, or change it. With --every `hemeroteca serve` gives it by the clock."""
    setup()
    from hemeroteca import urls
    from hemeroteca.frontier import crawl_orders
    from hemeroteca.ingest.rules import CrawlOptions

    if scope not in ("page", "prefix", "host", "domain"):
        common.give_up(f"--scope is {scope!r}; it can be page, prefix, host or domain", common.USAGE)
    wanted = urls.Scope(kind=scope, depth=depth, exclude=tuple(exclude or ()))  # type: ignore[arg-type]
    row = crawl_orders.save(common.actor(), name, seeds, CrawlOptions(scope=wanted, limit=limit), every)
    _show(row, as_json)


@app.command("list", action="crawl.read")
def listing(as_json: Json = False) -> None:
    """Orders that are kept, with their next run and how the last one stands."""
    setup(must_exist=True)
    from hemeroteca.frontier import crawl_orders

    for row in crawl_orders.listed():
        _show(row, as_json)


@app.command(action="crawl.submit")
def run(name: Name) -> None:
    """Give an order now; `hemeroteca serve` does it."""
    setup(must_exist=True)
    from hemeroteca.frontier import crawl_orders

    crawl = crawl_orders.run(common.actor(), name)
    typer.echo(f"crawl {crawl.pk}")


@app.command(action="crawl.submit")
def pause(name: Name) -> None:
    """Let the clock not count for an order."""
    _set(name, False)


@app.command(action="crawl.submit")
def resume(name: Name) -> None:
    """Let the clock count again."""
    _set(name, True)


@app.command(action="crawl.submit")
def remove(name: Name) -> None:
    """Forget an order. Its crawls and what they captured stay."""
    setup(must_exist=True)
    from hemeroteca.frontier import crawl_orders

    crawl_orders.remove(common.actor(), name)
    typer.echo(printable(f"the order {name} is gone"))


def _set(name: str, active: bool) -> None:
    setup(must_exist=True)
    from hemeroteca.frontier import crawl_orders

    _show(crawl_orders.pause(common.actor(), name, active), False)


def _show(row: object, as_json: bool) -> None:
    from hemeroteca.frontier.models import CrawlOrder

    assert isinstance(row, CrawlOrder)
    last = row.last_crawl
    if as_json:
        state = {"crawl": last.pk, "state": last.state} if last is not None else None
        moments = {"next_at": rfc3339(row.next_ms or None), "created_at": rfc3339(row.created_ms)}
        known = common.picked(row, "name", "seeds", "every_hours", "active", "note", "actor")
        tell({"id": row.pk, **known, **moments, "last": state})
        return
    clock = f"every {row.every_hours:g} h, next {stamp(moment(row.next_ms))}" if row.every_hours else "by hand"
    told = f"crawl {last.pk} {last.state}" if last is not None else "never run"
    typer.echo(printable(f"{row.pk}  {row.name}  {'' if row.active else 'paused, '}{clock}  {told}  {row.note}"))
