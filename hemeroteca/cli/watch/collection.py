"""`hemeroteca watch collection`: subscriptions that belong together."""

from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import options, shared
from hemeroteca.watch.fields import COLLECTION

app = common.Verbs()


@app.command("set", action="watch.collect")
@options.with_fields(COLLECTION, edit=True)
def set_(name: Annotated[str, typer.Argument(help="Its name; made when it is new.")], given: dict[str, Any]) -> None:
    """Make a collection or change one."""
    common.setup()
    from hemeroteca.watch import services

    made = services.set_collection(common.actor(), name, given)
    typer.echo(f"{made.pk}  {made.name}")


@app.command("list", action="watch.read")
def listing(json: common.Json = False) -> None:
    """Show the collections."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries

    rows = []
    for row in queries.collections():
        topic = row.category.name if row.category else ""
        facts = {"id": row.pk, **common.picked(row, "subscriptions", "name", *COLLECTION), "category": topic}
        limits = (f"{limit:,}" if limit else "" for limit in (row.visits_per_day, row.bytes_per_day))
        cells = [str(row.pk), str(facts["subscriptions"]), *limits, topic, row.name]
        rows.append((facts, cells, row.description))
    columns = ("number", "subscriptions", "visits a day", "bytes a day", "category", "name")
    none = "there is no collection yet; `hemeroteca watch collection set NAME` makes one"
    shared.tell_all(json, columns, rows, none)


@app.command("remove", action="watch.collect")
def remove(name: str) -> None:
    """Remove an empty collection."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    services.remove_collection(common.actor(), name)
    typer.echo(f"the collection {name} is gone")


@app.command("publish", action="watch.publish")
def publish(
    name: Annotated[str, typer.Argument(help="Name of the collection.")],
    slug: Annotated[str, typer.Option(help="Address under /c/; made of the name when left out.")] = "",
    title: Annotated[str, typer.Option(help="Heading; the name when left out.")] = "",
    description: Annotated[str, typer.Option(help="For its readers.")] = "",
    colour: Annotated[str, typer.Option(help="Of the heading, #rrggbb.")] = "",
) -> None:
    """Let everybody read a collection at an address of its own, also where the archive is closed."""
    common.setup(must_exist=True)
    from hemeroteca.watch import publications

    row = publications.publish(common.actor(), name, slug, title, description, colour)
    typer.echo(common.printable(f"{row.title} can be read by everybody at /c/{row.slug}"))


@app.command("unpublish", action="watch.publish")
def unpublish(name: Annotated[str, typer.Argument(help="Name of the collection.")]) -> None:
    """Let only those read a collection who may read the archive."""
    common.setup(must_exist=True)
    from hemeroteca.watch import publications

    publications.unpublish(common.actor(), name)
    typer.echo(common.printable(f"the collection {name} is not published any more"))
