"""`hemeroteca audit`: who did what to which thing, and when."""

from typing import Annotated

import typer

from hemeroteca.cli.common import Json, actor, picked, setup, stamp, tell_all


def audit(
    limit: Annotated[int, typer.Option(min=1, max=200_000, help="So many entries, the newest first.")] = 50,
    who: Annotated[str, typer.Option(help="Only by this person.")] = "",
    act: Annotated[str, typer.Option(help="Only of this kind, such as `sign-in` or `role changed`.")] = "",
    thing: Annotated[str, typer.Option(help="Only about what contains this.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    json: Json = False,
) -> None:
    """Show who did what: sign-ins, roles, tokens, erasures, settings of sites, approvals."""
    setup(must_exist=True)
    from hemeroteca.accounts import audit as log

    found = log.entries(actor(), limit, who=who, act=act, thing=thing)
    if csv:
        for line in log.as_csv(found):
            typer.echo(line, nl=False)
        return
    tell_all(
        found,
        json,
        ("when", "who", "what", "which thing", "more", "from"),
        lambda row: (stamp(row.at), row.who, row.act, row.thing, row.detail, row.address),
        lambda row: picked(row, "at", "who", "act", "thing", "detail", "address"),
    )
