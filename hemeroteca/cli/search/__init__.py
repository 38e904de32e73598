"""`hemeroteca search`: words look something up; a few verbs care for the index.

`hemeroteca search QUERY` is the common case, so anything that is not a verb is a query. A query that begins with a
verb or a dash goes after `--`: `hemeroteca search -- rebuild`.
"""

from typing import Any

from typer.core import TyperGroup

from hemeroteca.cli.common import Verbs
from hemeroteca.cli.search import index, lookup, saved

_DEFAULT = "find"


class QueryOrVerb(TyperGroup):
    """A group of verbs in which everything else is a query."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = Verbs(cls=QueryOrVerb)
app.command(_DEFAULT, action="search.read")(lookup.find)
app.command(action="search.rebuild")(index.rebuild)
app.command(action="search.read")(lookup.explain)
app.command("import", action="search.import")(index.import_)
app.command(action="search.read")(index.query)
app.command(action="search.read")(lookup.suggest)
app.command(action="search.learn")(index.learn)
app.command(action="search.rank")(index.rank)
app.command(action="search.prefer")(index.prefer)
app.command(action="search.save")(saved.save)
app.command(action="search.saved")(saved.saved)
app.command(action="search.forget")(saved.unsave)
