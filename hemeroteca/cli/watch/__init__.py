"""`hemeroteca watch`: subscriptions, their pages and changes, channels and sources of signals. Only wires them."""

from collections.abc import Callable

import typer

from hemeroteca.cli.watch import category, channel, collection, lists, subscription

app = typer.Typer(no_args_is_help=True, help="Pages and sites under watch: when they change, and who is told.")
COMMANDS: dict[str, Callable[..., None]] = {
    "add": subscription.add,
    "list": lists.listing,
    "show": lists.show,
    "edit": subscription.edit,
    "check": subscription.check,
    "pause": subscription.pause,
    "resume": subscription.resume,
    "remove": subscription.remove,
    "proposals": lists.proposals,
    "approve": subscription.approve,
    "refuse": subscription.refuse,
    "import": subscription.import_,
    "export": subscription.export_,
    "pages": lists.pages,
    "changes": lists.changes,
    "metrics": lists.metrics,
    "report": lists.report,
    "sources": lists.sources,
    "webhook": subscription.webhook,
    "learn": subscription.learn,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(category.app, name="category", help="The coded list of topics of sites.")
app.add_typer(channel.app, name="channel", help="Where people are told about changes.")
app.add_typer(collection.app, name="collection", help="Subscriptions that belong together.")
