"""`hemeroteca search`: words look something up; a few verbs care for the index.

`hemeroteca search QUERY` is the common case, so anything that is not a verb is a query. A query that begins with a
verb or a dash goes after `--`: `hemeroteca search -- rebuild`.
"""

from typing import Any

import typer
from typer.core import TyperGroup

from hemeroteca.cli.search import index, lookup, saved

_DEFAULT = "find"


class QueryOrVerb(TyperGroup):
    """A group of verbs in which everything else is a query."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=QueryOrVerb,
    no_args_is_help=True,
    help="Search what was captured: `hemeroteca search QUERY`. Also: rebuild, explain, import, suggest, …",
)
app.command(_DEFAULT)(lookup.find)
app.command()(index.rebuild)
app.command()(lookup.explain)
app.command("import")(index.import_)
app.command()(index.query)
app.command()(lookup.suggest)
app.command()(index.learn)
app.command()(index.rank)
app.command()(index.prefer)
app.command()(saved.save)
app.command()(saved.saved)
app.command()(saved.unsave)
