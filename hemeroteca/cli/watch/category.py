"""`hemeroteca watch category`: the coded list of topics of sites."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import shared

app = common.Verbs()
Code = Annotated[int, typer.Argument(help="Its code, such as 301.", min=1)]


@app.command("list", action="watch.read")
def listing(json: common.Json = False) -> None:
    """Show the categories."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries

    rows = []
    for row in queries.categories():
        facts = common.picked(row, "code", "name", "description", "subscriptions")
        rows.append((facts, [str(row.code), str(facts["subscriptions"]), row.name], row.description))
    none = "`hemeroteca watch category set CODE NAME` makes one"
    shared.tell_all(json, ("code", "subscriptions", "name"), rows, none)


@app.command("set", action="watch.collect")
def set_(
    code: Code,
    name: Annotated[str, typer.Argument(help="Its name.")],
    description: Annotated[str, typer.Option(help="What belongs to it.")] = "",
) -> None:
    """Make a category or rename one."""
    common.setup()
    from hemeroteca.watch import services

    made = services.set_category(common.actor(), code, name, description)
    typer.echo(f"{made.code}  {made.name}")


@app.command("remove", action="watch.collect")
def remove(code: Code) -> None:
    """Remove a category that nothing belongs to."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    services.remove_category(common.actor(), code)
    typer.echo(f"the category {code} is gone")
