"""`hemeroteca watch category`: the coded list of topics of sites."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import shared
from hemeroteca.cli.watch.shared import watching

app = typer.Typer(no_args_is_help=True)
Code = Annotated[int, typer.Argument(help="Its code, such as 301.", min=1)]


@app.command("list")
def listing(data: common.Data = None, json: common.Json = False) -> None:
    """Show the categories."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries

        rows = []
        for row in queries.categories():
            count = getattr(row, "subscriptions", 0)
            if json:
                common.tell(
                    {"code": row.code, "name": row.name, "description": row.description, "subscriptions": count}
                )
            rows.append(([str(row.code), str(count), row.name], [row.description]))
        if not json:
            shared.show(("code", "subscriptions", "name"), rows, "`hemeroteca watch category set CODE NAME` makes one")


@app.command("set")
def set_(
    code: Code,
    name: Annotated[str, typer.Argument(help="Its name.")],
    description: Annotated[str, typer.Option(help="What belongs to it.")] = "",
    data: common.Data = None,
) -> None:
    """Make a category or rename one."""
    with watching(data) as services:
        made = services.set_category(common.actor(), code, name, description)
        typer.echo(f"{made.code}  {made.name}")


@app.command("remove")
def remove(code: Code, data: common.Data = None) -> None:
    """Remove a category that nothing belongs to."""
    with watching(data, must_exist=True) as services:
        services.remove_category(common.actor(), code)
        typer.echo(f"the category {code} is gone")
