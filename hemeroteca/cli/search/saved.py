"""Verbs of saved searches: be told when something new matches."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.common import rfc3339, stamp
from hemeroteca.cli.search.shared import errors_in_a_line
from hemeroteca.warc.timestamps import moment

if TYPE_CHECKING:
    from hemeroteca.watch.models import SavedSearch


def save(
    query: Annotated[list[str], typer.Argument(help="Words and operators; every word is required.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    channel: Annotated[int | None, typer.Option(help="Channel to tell; default: all that tell of everything.")] = None,
    owner: Annotated[str, typer.Option(help="User it belongs to.")] = "",
    json: common.Json = False,
) -> None:
    """Be told when something new matches: `hemeroteca serve` looks, the channels of `hemeroteca watch` tell."""
    common.setup(must_exist=True)
    from hemeroteca.accounts.services import find_user
    from hemeroteca.watch import saved_searches

    user = find_user(owner) if owner else None
    with errors_in_a_line():
        made = saved_searches.save(common.actor(), " ".join(query), name, channel, user)
    for note in saved_searches.ignored(made.query):
        typer.echo(f"note: {common.printable(note)}", err=True)
    common.answer(json, _saved_facts(made), f"{made.pk}  {made.name}")


def saved(json: common.Json = False) -> None:
    """Show the saved searches."""
    common.setup(must_exist=True)
    from hemeroteca.watch import saved_searches

    for row in saved_searches.saved():
        if json:
            common.tell(_saved_facts(row))
        else:
            told = f"channel {row.channel_id}" if row.channel_id else "all channels"
            last = f", last {stamp(moment(row.found_ms))}" if row.found else ""
            typer.echo(
                f"{row.pk}  {row.name}  ({row.found:,} new since {(rfc3339(row.created_ms) or '')[:10]}{last}; {told})"
            )
            if row.name != row.query:
                typer.echo(f"   {row.query}")


def unsave(
    number: Annotated[int, typer.Argument(min=1, help="Number of the saved search.")], json: common.Json = False
) -> None:
    """Forget a saved search."""
    common.setup(must_exist=True)
    from hemeroteca.watch import saved_searches

    saved_searches.remove(common.actor(), number)
    common.answer(json, {"removed": number}, f"saved search {number} is forgotten")


def _saved_facts(row: "SavedSearch") -> dict[str, Any]:
    facts = {"id": row.pk, "name": row.name, "query": row.query, "channel": row.channel_id, "found": row.found}
    return facts | {"created_at": rfc3339(row.created_ms), "found_at": rfc3339(row.found_ms)}
