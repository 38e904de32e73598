"""`hemeroteca watch`: subscriptions, their pages and changes, channels and sources of signals. Only wires them."""

from collections.abc import Callable

from hemeroteca.cli.common import Verbs
from hemeroteca.cli.watch import category, channel, collection, lists, subscription

app = Verbs()
COMMANDS: dict[str, tuple[Callable[..., None], str]] = {  # with what each does, in the table of permissions
    "add": (subscription.add, "watch.propose"),
    "list": (lists.listing, "watch.subscriptions"),
    "show": (lists.show, "watch.subscriptions"),
    "edit": (subscription.edit, "watch.change"),
    "check": (subscription.check, "watch.change"),
    "pause": (subscription.pause, "watch.change"),
    "resume": (subscription.resume, "watch.change"),
    "remove": (subscription.remove, "watch.end"),
    "proposals": (lists.proposals, "watch.subscriptions"),
    "approve": (subscription.approve, "watch.approve"),
    "refuse": (subscription.refuse, "watch.approve"),
    "import": (subscription.import_, "watch.subscribe"),
    "export": (subscription.export_, "watch.subscriptions"),
    "pages": (lists.pages, "watch.read"),
    "changes": (lists.changes, "watch.read"),
    "metrics": (lists.metrics, "watch.read"),
    "report": (lists.report, "watch.read"),
    "sources": (lists.sources, "watch.sources"),
    "webhook": (subscription.webhook, "watch.source"),
    "learn": (subscription.learn, "watch.learn"),
}
for name, (command, action) in COMMANDS.items():
    app.command(name, action=action)(command)
app.add_typer(category.app, name="category", help="The coded list of topics of sites.")
app.add_typer(channel.app, name="channel", help="Where people are told about changes.")
app.add_typer(collection.app, name="collection", help="Subscriptions that belong together.")
