"""`hemeroteca held`: what crawls held back as a possible trap, and taking it after all."""

from typing import Annotated

import typer

from hemeroteca.cli import common

app = common.Verbs()


@app.command("list", action="crawl.read")
def list_held(
    crawl: Annotated[int | None, typer.Argument(help="Only of this crawl.")] = None, json: common.Json = False
) -> None:
    """Show what crawls held back, by host and reason."""
    common.setup(must_exist=True)
    from hemeroteca.frontier import queries

    if crawl is not None and queries.crawl(crawl) is None:
        common.give_up(f"there is no crawl {crawl}; `hemeroteca status` lists them")
    found = queries.held(crawl)
    if json:
        for kind in found:
            common.tell(kind)
        return
    if not found:
        typer.echo("nothing is held back")
        return
    common.columns(
        [(str(kind.crawl), f"{kind.addresses:,}", kind.host, kind.reason, kind.example) for kind in found],
        ("crawl", "addresses", "host", "why", "for example"),
        "`hemeroteca held take CRAWL` visits them after all",
    )


@app.command("take", action="crawl.take")
def take(
    crawl: Annotated[int, typer.Argument(help="Number of the crawl.")],
    host: Annotated[str, typer.Option(help="Only addresses of this host.")] = "",
    reason: Annotated[str, typer.Option(help="Only what is held back for this reason.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Most pages of this run.")] = None,
    json: common.Json = False,
) -> None:
    """Visit after all what a crawl held back; nothing there is held back for the same reason again."""
    from hemeroteca.cli.crawl import carry_out, own_readers

    readers = own_readers()
    common.setup(must_exist=True)
    from hemeroteca.frontier import queries, services

    count = services.take_held(common.actor(), crawl, host, reason, limit)
    order = queries.crawl(crawl)
    assert order is not None
    carry_out(order, f"{count:,} addresses more for", json, readers)
