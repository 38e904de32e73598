"""`hemeroteca watch channel`: where people are told about changes."""

from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import options, shared
from hemeroteca.cli.watch.shared import watching
from hemeroteca.watch.fields import CHANNEL, ChannelOrder

app = typer.Typer(no_args_is_help=True)

ChannelNumber = Annotated[int, typer.Argument(help="Number of the channel.", min=1, max=options.MAX_NUMBER)]


@app.command("add")
@options.with_fields(CHANNEL)
def add(
    target: Annotated[str, typer.Argument(help=CHANNEL["target"].help)],
    given: dict[str, Any],
    data: common.Data = None,
) -> None:
    """Tell somebody about changes."""
    with watching(data) as services:
        made, secret = services.add_channel(common.actor(), ChannelOrder(target=target, **given))
        typer.echo(f"{made.pk}  {made.name}")
        if secret:
            typer.echo(f"its messages are signed with {secret}; keep it now, it is shown once", err=True)


@app.command("list")
def listing(data: common.Data = None, json: common.Json = False) -> None:
    """Show the channels."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries

        rows = []
        for row in queries.channels():
            of = row.subscription or row.collection
            about = of.name if of else "everything"
            if json:
                facts = shared.picked(row, "name", "kind", "active", "digest_hours", "failures", "last_error")
                common.tell({"id": row.pk, "about": about, **facts})
                continue
            state = "active" if row.active else "paused"
            when = f"every {row.digest_hours:g} h" if row.digest_hours else "at once"
            cells = [str(row.pk), row.kind, state, when, shared.moment(row.sent_ms), row.name]
            rows.append(([*cells, about], [f"failed {row.failures} times: {row.last_error}" if row.failures else ""]))
        if not json:
            columns = ("number", "kind", "state", "when", "last delivery", "name", "about")
            shared.show(columns, rows, "nobody is told yet; `hemeroteca watch channel add ADDRESS` begins")


@app.command("test")
def try_out(number: ChannelNumber, data: common.Data = None) -> None:
    """Send a message that is no change."""
    with watching(data, must_exist=True) as services:
        from django.conf import settings

        from hemeroteca.fetch.client import GuardedClient
        from hemeroteca.watch import notices

        try:
            notices.test_channel(services.find_channel(number), settings.CONFIG, GuardedClient(settings.CONFIG))
        except notices.DeliveryError as error:
            common.give_up(f"the message was not delivered: {error}")
        typer.echo("delivered")


@app.command("pause")
def pause(number: ChannelNumber, data: common.Data = None) -> None:
    """Tell nothing until `resume`; what happens meanwhile is not told later."""
    with watching(data, must_exist=True) as services:
        typer.echo(f"{services.set_channel_active(common.actor(), number, False).name} is paused")


@app.command("resume")
def resume(number: ChannelNumber, data: common.Data = None) -> None:
    """Go on with a channel that was paused, or given up after many failures."""
    with watching(data, must_exist=True) as services:
        typer.echo(f"{services.set_channel_active(common.actor(), number, True).name} is active")


@app.command("remove")
def remove(number: ChannelNumber, data: common.Data = None) -> None:
    """End a channel."""
    with watching(data, must_exist=True) as services:
        services.remove_channel(common.actor(), number)
        typer.echo(f"channel {number} has ended")
