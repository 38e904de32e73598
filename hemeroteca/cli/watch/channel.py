"""`hemeroteca watch channel`: where people are told about changes."""

from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import facts, options, tables
from hemeroteca.cli.watch.session import watching

app = typer.Typer(no_args_is_help=True)

ChannelNumber = Annotated[int, typer.Argument(help="Number of the channel.", min=1, max=options.MOST_NUMBER)]


@app.command("add")
def add(
    target: Annotated[str, typer.Argument(help="An https address that gets JSON, or an Apprise URL.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    subscription: Annotated[int | None, typer.Option(help="Tell only of this subscription.")] = None,
    collection: Annotated[str, typer.Option(help="Tell only of this collection.")] = "",
    digest_hours: Annotated[float, typer.Option(help="Gather changes for so many hours; 0: at once.")] = 0.0,
    changes: Annotated[bool, typer.Option(help="Tell of important changes.")] = True,
    errors: Annotated[bool, typer.Option(help="Tell when a subscription fails, and recovers.")] = True,
    language: Annotated[options.Language, typer.Option(help="Of the messages.")] = options.Language.en,
    data: common.Data = None,
) -> None:
    """Tell somebody about changes."""
    with watching(data):
        from hemeroteca.watch import channels, notices

        order = channels.ChannelOrder(
            target=target,
            name=name,
            subscription=subscription,
            collection=collection,
            digest_hours=digest_hours,
            changes=changes,
            errors=errors,
            language=language.value,
            check=notices.check_apprise,
        )
        made, secret = channels.add(order)
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
            about = (
                row.subscription.name if row.subscription else row.collection.name if row.collection else "everything"
            )
            when = f"every {row.digest_hours:g} h" if row.digest_hours else "at once"
            if json:
                facts.write(
                    {
                        "id": row.pk,
                        "name": row.name,
                        "kind": row.kind,
                        "about": about,
                        "active": row.active,
                        "digest_hours": row.digest_hours,
                        "failures": row.failures,
                        "last_error": row.last_error,
                    }
                )
                continue
            state = "active" if row.active else "paused"
            cells = [str(row.pk), row.kind, state, when, facts.moment(row.sent_ms), row.name]
            rows.append(([*cells, about], [f"failed {row.failures} times: {row.last_error}" if row.failures else ""]))
        if not json:
            columns = ("number", "kind", "state", "when", "last delivery", "name", "about")
            tables.show(columns, rows, "nobody is told yet; `hemeroteca watch channel add ADDRESS` begins")


@app.command("test")
def try_out(number: ChannelNumber, data: common.Data = None) -> None:
    """Send a message that is no change."""
    with watching(data, must_exist=True):
        from django.conf import settings

        from hemeroteca.watch import channels, notices
        from hemeroteca.watch.outgoing import Outgoing

        try:
            notices.test_channel(channels.find(number), settings.CONFIG, Outgoing(settings.CONFIG))
        except notices.DeliveryError as error:
            common.give_up(f"the message was not delivered: {error}")
        typer.echo("delivered")


@app.command("pause")
def pause(number: ChannelNumber, data: common.Data = None) -> None:
    """Tell nothing until `resume`; what happens meanwhile is not told later."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import channels

        typer.echo(f"{channels.set_active(number, False).name} is paused")


@app.command("resume")
def resume(number: ChannelNumber, data: common.Data = None) -> None:
    """Go on with a channel that was paused, or given up after many failures."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import channels

        typer.echo(f"{channels.set_active(number, True).name} is active")


@app.command("remove")
def remove(number: ChannelNumber, data: common.Data = None) -> None:
    """End a channel."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import channels

        channels.remove(number)
        typer.echo(f"channel {number} has ended")
