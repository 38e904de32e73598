"""`hemeroteca order`: orders of crawls that are kept, and given again by hand or by the clock."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.common import Data, Json, printable, refuse, rfc3339, setup, tell
from hemeroteca.errors import Refused

app = typer.Typer(no_args_is_help=True, help="Orders of crawls that are kept, and given again by hand or by the clock.")
Name = Annotated[str, typer.Argument(help="Name of the order.")]


@app.command()
def save(
    name: Name,
    seeds: Annotated[list[str], typer.Argument(help="Addresses to start from.")],
    scope: Annotated[str, typer.Option(help="page, prefix, host or domain.")] = "host",
    depth: Annotated[int | None, typer.Option(min=0, help="Most links away from a seed.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most pages of one run.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Regular expression of addresses to leave out.")] = None,
    every: Annotated[float, typer.Option(min=0, help="Hours from one run to the next; 0: by hand only.")] = 0.0,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Keep an order under a name, or change it. With --every `hemeroteca serve` gives it by the clock."""
    setup(data)
    from hemeroteca import urls
    from hemeroteca.frontier import crawl_orders
    from hemeroteca.ingest.rules import CrawlOptions

    try:
        if scope not in ("page", "prefix", "host", "domain"):
            common.give_up(f"--scope is {scope!r}; it can be page, prefix, host or domain", common.USAGE)
        wanted = urls.Scope(kind=scope, depth=depth, exclude=tuple(exclude or ()))  # type: ignore[arg-type]
        row = crawl_orders.save(common.actor(), name, seeds, CrawlOptions(scope=wanted, limit=limit), every)
    except Refused as error:
        refuse(error)
    _show(row, as_json)


@app.command("list")
def listing(as_json: Json = False, data: Data = None) -> None:
    """Orders that are kept, with their next run and how the last one stands."""
    setup(data, must_exist=True)
    from hemeroteca.frontier import crawl_orders

    for row in crawl_orders.listed():
        _show(row, as_json)


@app.command()
def run(name: Name, data: Data = None) -> None:
    """Give an order now; `hemeroteca serve` does it."""
    setup(data, must_exist=True)
    from hemeroteca.frontier import crawl_orders

    try:
        crawl = crawl_orders.run(common.actor(), name)
    except Refused as error:
        refuse(error)
    typer.echo(f"crawl {crawl.pk}")


@app.command()
def pause(name: Name, data: Data = None) -> None:
    """Let the clock not count for an order."""
    _set(name, False, data)


@app.command()
def resume(name: Name, data: Data = None) -> None:
    """Let the clock count again."""
    _set(name, True, data)


@app.command()
def remove(name: Name, data: Data = None) -> None:
    """Forget an order. Its crawls and what they captured stay."""
    setup(data, must_exist=True)
    from hemeroteca.frontier import crawl_orders

    try:
        crawl_orders.remove(common.actor(), name)
    except Refused as error:
        refuse(error)
    typer.echo(printable(f"the order {name} is gone"))


def _set(name: str, active: bool, data: Data) -> None:
    setup(data, must_exist=True)
    from hemeroteca.frontier import crawl_orders

    try:
        _show(crawl_orders.pause(common.actor(), name, active), False)
    except Refused as error:
        refuse(error)


def _show(row: object, as_json: bool) -> None:
    from hemeroteca.frontier.models import CrawlOrder

    assert isinstance(row, CrawlOrder)
    last = row.last_crawl
    if as_json:
        state = {"crawl": last.pk, "state": last.state} if last is not None else None
        moments = {"next_at": rfc3339(row.next_ms or None), "created_at": rfc3339(row.created_ms)}
        names = ("name", "seeds", "every_hours", "active", "note", "actor")
        tell({"id": row.pk, **{name: getattr(row, name) for name in names}, **moments, "last": state})
        return
    clock = f"every {row.every_hours:g} h, next {rfc3339(row.next_ms)}" if row.every_hours else "by hand"
    told = f"crawl {last.pk} {last.state}" if last is not None else "never run"
    typer.echo(printable(f"{row.pk}  {row.name}  {'' if row.active else 'paused, '}{clock}  {told}  {row.note}"))
