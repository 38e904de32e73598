"""`hemeroteca watch collection`: subscriptions that belong together."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import facts, tables
from hemeroteca.cli.watch.session import watching

app = typer.Typer(no_args_is_help=True)


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(help="Its name; made when it is new.")],
    category: Annotated[str | None, typer.Option(help="Topic it belongs to.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    visits_per_day: Annotated[int | None, typer.Option(help="Most visits a day; 0: no limit.")] = None,
    bytes_per_day: Annotated[int | None, typer.Option(help="Most bytes a day; 0: no limit.")] = None,
    data: common.Data = None,
) -> None:
    """Make a collection or change one."""
    with watching(data) as services:
        made = services.set_collection(
            name,
            category=category,
            description=description,
            visits_per_day=visits_per_day,
            bytes_per_day=bytes_per_day,
        )
        typer.echo(f"{made.pk}  {made.name}")


@app.command("list")
def listing(data: common.Data = None, json: common.Json = False) -> None:
    """Show the collections."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries

        rows = []
        for row in queries.collections():
            count = getattr(row, "subscriptions", 0)
            if json:
                facts.write(
                    {
                        "id": row.pk,
                        "name": row.name,
                        "category": row.category,
                        "subscriptions": count,
                        "visits_per_day": row.visits_per_day,
                        "bytes_per_day": row.bytes_per_day,
                        "description": row.description,
                    }
                )
                continue
            limits = (f"{limit:,}" if limit else "" for limit in (row.visits_per_day, row.bytes_per_day))
            rows.append(([str(row.pk), str(count), *limits, row.category, row.name], [row.description]))
        if not json:
            columns = ("number", "subscriptions", "visits a day", "bytes a day", "category", "name")
            tables.show(columns, rows, "there is no collection yet; `hemeroteca watch collection set NAME` makes one")


@app.command("remove")
def remove(name: str, data: common.Data = None) -> None:
    """Remove an empty collection."""
    with watching(data, must_exist=True) as services:
        services.remove_collection(name)
        typer.echo(f"the collection {name} is gone")
