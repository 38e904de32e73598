"""What people order: begin, change, pause and end subscriptions, and let them learn from the archive."""

from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.job import Background, run_job
from hemeroteca.cli.watch import facts, options
from hemeroteca.cli.watch.session import find_owner, watching
from hemeroteca.errors import Invalid
from hemeroteca.watch.fields import SUBSCRIPTION, Order


@options.with_fields(SUBSCRIPTION)
def add(
    urls: Annotated[list[str], typer.Argument(help="Pages or sites to watch.")],
    given: dict[str, Any],
    owner: Annotated[str, typer.Option(help="User it belongs to.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Watch pages or sites: `hemeroteca serve` visits them when they are likely to have changed."""
    with watching(data) as services:
        user = find_owner(owner)
        for url in urls:
            made, new = services.subscribe(common.actor(), Order(url=url, **given), user)
            if json:
                facts.write({**facts.of(made), "new": new})
            else:
                typer.echo(f"{made.pk}  {made.url}" + ("" if new else "  (was watched already)"))


@options.with_fields(SUBSCRIPTION, edit=True)
def edit(
    number: options.Number,
    given: dict[str, Any],
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]…", help="The same as options; lists with `|` in them.")
    ] = None,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Change a subscription; what is not named stays: `edit 3 --mode simple --max-hours 48`. `--window ''` empties."""
    with watching(data, must_exist=True) as services:
        wanted = given | _changes(changes or [])
        if not wanted:
            raise Invalid("nothing to change was named; give options, such as --mode simple (see --help)")
        row = services.edit(common.actor(), number, wanted)
        if json:
            facts.write(facts.of(row))
        else:
            typer.echo(f"{row.pk}  {row.url}  {facts.mode(row)}")


def pause(number: options.Number, data: common.Data = None) -> None:
    """Stop visiting a subscription until `resume`."""
    with watching(data, must_exist=True) as services:
        typer.echo(f"{services.pause(common.actor(), number).url} is paused")


def resume(number: options.Number, data: common.Data = None) -> None:
    """Go on with a paused subscription."""
    with watching(data, must_exist=True) as services:
        typer.echo(f"{services.resume(common.actor(), number).url} is active")


def remove(number: options.Number, data: common.Data = None) -> None:
    """End a subscription; everything captured and observed stays."""
    with watching(data, must_exist=True) as services:
        services.remove(common.actor(), number)
        typer.echo(f"subscription {number} has ended")


def learn(
    number: options.Number,
    background: Background = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Learn from the captures the archive already has of a subscription's pages."""
    with watching(data, must_exist=True) as services:
        from hemeroteca.watch.jobs import Learn, Learned

        services.find(number)
        done = run_job("watch.learn", Learn(number), Learned, json, background)
    if json:
        common.tell(done)
    else:
        typer.echo(f"{done.observations} observations learned")


def _changes(given: list[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for change in given:
        name, equals, value = change.partition("=")
        if not equals:
            raise Invalid(f"{change!r} is not NAME=VALUE, like max_hours=48")
        name = name.strip()
        changes[name] = SUBSCRIPTION[name].read(value) if name in SUBSCRIPTION else value
    return changes
