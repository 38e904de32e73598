"""`hemeroteca audit`: who did what to which thing, and when."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.cli.common import Data, Json, actor, setup, stamp, tell, unmarked


def audit(
    limit: Annotated[int, typer.Option(min=1, max=200_000, help="So many entries, the newest first.")] = 50,
    who: Annotated[str, typer.Option(help="Only by this person.")] = "",
    act: Annotated[str, typer.Option(help="Only of this kind, such as `sign-in` or `role changed`.")] = "",
    thing: Annotated[str, typer.Option(help="Only about what contains this.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show who did what: sign-ins, roles, tokens, erasures, settings of sites, approvals."""
    setup(data, must_exist=True)
    from hemeroteca.accounts import audit as log

    found = log.entries(actor(), limit, who=who, act=act, thing=thing)
    if csv:
        for line in log.as_csv(found):
            typer.echo(line, nl=False)
        return
    if json:
        for row in found:
            facts = {"at": row.at, "who": row.who, "act": row.act, "thing": row.thing}
            tell({**facts, "detail": row.detail, "address": row.address})
        return
    table = Table("when", "who", "what", "which thing", "more", "from")
    for row in found:
        table.add_row(stamp(row.at), unmarked(row.who), row.act, unmarked(row.thing), unmarked(row.detail), row.address)
    Console().print(table)
