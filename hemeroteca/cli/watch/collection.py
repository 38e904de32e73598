"""`hemeroteca watch collection`: subscriptions that belong together."""

from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import options, shared
from hemeroteca.cli.watch.shared import watching
from hemeroteca.watch.fields import COLLECTION

app = typer.Typer(no_args_is_help=True)


@app.command("set")
@options.with_fields(COLLECTION, edit=True)
def set_(
    name: Annotated[str, typer.Argument(help="Its name; made when it is new.")],
    given: dict[str, Any],
    data: common.Data = None,
) -> None:
    """Make a collection or change one."""
    with watching(data) as services:
        made = services.set_collection(common.actor(), name, given)
        typer.echo(f"{made.pk}  {made.name}")


@app.command("list")
def listing(data: common.Data = None, json: common.Json = False) -> None:
    """Show the collections."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries

        rows = []
        for row in queries.collections():
            count = getattr(row, "subscriptions", 0)
            topic = row.category.name if row.category else ""
            if json:
                common.tell(
                    {"id": row.pk, "subscriptions": count, **shared.picked(row, "name", *COLLECTION), "category": topic}
                )
                continue
            limits = (f"{limit:,}" if limit else "" for limit in (row.visits_per_day, row.bytes_per_day))
            rows.append(([str(row.pk), str(count), *limits, topic, row.name], [row.description]))
        if not json:
            columns = ("number", "subscriptions", "visits a day", "bytes a day", "category", "name")
            shared.show(columns, rows, "there is no collection yet; `hemeroteca watch collection set NAME` makes one")


@app.command("remove")
def remove(name: str, data: common.Data = None) -> None:
    """Remove an empty collection."""
    with watching(data, must_exist=True) as services:
        services.remove_collection(common.actor(), name)
        typer.echo(f"the collection {name} is gone")


@app.command("publish")
def publish(
    name: Annotated[str, typer.Argument(help="Name of the collection.")],
    slug: Annotated[str, typer.Option(help="Address under /c/; made of the name when left out.")] = "",
    title: Annotated[str, typer.Option(help="Heading; the name when left out.")] = "",
    description: Annotated[str, typer.Option(help="For its readers.")] = "",
    colour: Annotated[str, typer.Option(help="Of the heading, #rrggbb.")] = "",
    data: common.Data = None,
) -> None:
    """Let everybody read a collection at an address of its own, also where the archive is closed."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import publications

        row = publications.publish(common.actor(), name, slug, title, description, colour)
        typer.echo(common.printable(f"{row.title} can be read by everybody at /c/{row.slug}"))


@app.command("unpublish")
def unpublish(name: Annotated[str, typer.Argument(help="Name of the collection.")], data: common.Data = None) -> None:
    """Let only those read a collection who may read the archive."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import publications

        publications.unpublish(common.actor(), name)
        typer.echo(common.printable(f"the collection {name} is not published any more"))
