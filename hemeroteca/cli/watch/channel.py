"""`hemeroteca watch channel`: where people are told about changes."""

from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import options, shared
from hemeroteca.watch.fields import CHANNEL, ChannelOrder

app = common.Verbs()

ChannelNumber = Annotated[int, typer.Argument(help="Number of the channel.", min=1, max=options.MAX_NUMBER)]


@app.command("add", action="watch.channel")
@options.with_fields(CHANNEL)
def add(target: Annotated[str, typer.Argument(help=CHANNEL["target"].help)], given: dict[str, Any]) -> None:
    """Tell somebody about changes."""
    common.setup()
    from hemeroteca.watch import services

    made, secret = services.add_channel(common.actor(), ChannelOrder(target=target, **given))
    typer.echo(f"{made.pk}  {made.name}")
    if secret:
        typer.echo(f"its messages are signed with {secret}; keep it now, it is shown once", err=True)


@app.command("list", action="watch.channels")
def listing(json: common.Json = False) -> None:
    """Show the channels."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries

    rows = []
    for row in queries.channels():
        of = row.subscription or row.collection
        about = of.name if of else "everything"
        facts = common.picked(row, "name", "kind", "active", "digest_hours", "failures", "last_error")
        state = "active" if row.active else "paused"
        when = f"every {row.digest_hours:g} h" if row.digest_hours else "at once"
        cells = [str(row.pk), row.kind, state, when, shared.moment(row.sent_ms), row.name, about]
        failed = f"failed {row.failures} times: {row.last_error}" if row.failures else ""
        rows.append(({"id": row.pk, "about": about, **facts}, cells, failed))
    columns = ("number", "kind", "state", "when", "last delivery", "name", "about")
    shared.tell_all(json, columns, rows, "nobody is told yet; `hemeroteca watch channel add ADDRESS` begins")


@app.command("test", action="watch.channel")
def try_out(number: ChannelNumber) -> None:
    """Send a message that is no change."""
    common.setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.fetch.client import GuardedClient
    from hemeroteca.watch import notices, services

    try:
        notices.test_channel(services.find_channel(number), settings.CONFIG, GuardedClient(settings.CONFIG))
    except notices.DeliveryError as error:
        common.give_up(f"the message was not delivered: {error}")
    typer.echo("delivered")


@app.command("pause", action="watch.channel")
def pause(number: ChannelNumber) -> None:
    """Tell nothing until `resume`; what happens meanwhile is not told later."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    typer.echo(f"{services.set_channel_active(common.actor(), number, False).name} is paused")


@app.command("resume", action="watch.channel")
def resume(number: ChannelNumber) -> None:
    """Go on with a channel that was paused, or given up after many failures."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    typer.echo(f"{services.set_channel_active(common.actor(), number, True).name} is active")


@app.command("remove", action="watch.channel")
def remove(number: ChannelNumber) -> None:
    """End a channel."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    services.remove_channel(common.actor(), number)
    typer.echo(f"channel {number} has ended")
