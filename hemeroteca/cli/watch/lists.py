"""What is watched and what was seen: lists for people and as JSON."""

from enum import StrEnum
from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import facts, options, tables
from hemeroteca.cli.watch.session import watching

UNSAID = ("active", "fault", "failures", "last_error")  # said by the state


class Group(StrEnum):
    high = "high"
    medium = "medium"
    low = "low"


class Behaviour(StrEnum):
    steady = "steady"
    periodic = "periodic"
    bursty = "bursty"
    silent = "silent"


def listing(
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show the subscriptions."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries

        found = queries.subscriptions(collection=collection)
        figures = queries.figures([row.pk for row in found])
        if json:
            for row in found:
                facts.write({**facts.of(row), **figures.get(row.pk, {})})
            return
        rows = []
        for row in found:
            counts = figures.get(row.pk, {})
            state, reason = facts.state(row)
            about = ", ".join(filter(None, (row.scope["kind"], row.collection.name if row.collection else "")))
            cells = [str(row.pk), state, facts.mode(row)]
            cells += [f"{counts.get(name) or 0:,}" for name in ("pages", "visits", "changes")]
            named = f"{row.name}: " if row.name != row.url else ""
            rows.append(([*cells, f"{row.url}  ({named}{about})"], [reason]))
        nothing = f"the collection {collection!r} has no subscriptions" if collection else "nothing is watched yet"
        columns = ("number", "state", "mode", "pages", "visits", "changes", "address")
        tables.show(columns, rows, f"{nothing}; `hemeroteca watch add ADDRESS` begins")


def show(
    number: options.Number,
    pages: Annotated[int, typer.Option(min=0, help="Pages to show.")] = 10,
    language: Annotated[options.Language, typer.Option(help="Of the reasons.")] = options.Language.en,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show a subscription, its pages, and why each is visited when."""
    with watching(data, must_exist=True) as services:
        from hemeroteca.watch import change_feeds, queries
        from hemeroteca.watch.next_visit import sentence

        row = services.find(number)
        found = queries.pages(pages, subscription=number, listings=True)
        known = {
            **facts.of(row),
            **queries.figures([number]).get(number, {}),
            "feed": change_feeds.address(subscription=number),
        }
        if json:
            facts.write({**known, "shown": [facts.of_page(page, language.value) for page in found]})
            return
        state, reason = facts.state(row)
        known = {"id": row.pk, "state": f"{state} ({reason})" if reason else state, **known}
        for name, value in known.items():
            if value not in ("", None, [], {}, False) and name not in UNSAID:
                said = common.printable(", ".join(value) if isinstance(value, list) else value)
                typer.echo(f"{name:<16} {said}")
        rows = [
            (
                [
                    *(f"{page.visits:,}", f"{page.changes:,}", page.listing or page.group),
                    *(facts.moment(page.last_ms), facts.moment(page.next_ms), page.url),
                ],
                [sentence(page.reason, language.value), sentence(page.next_reason, language.value)],
            )
            for page in found
        ]
        typer.echo("")
        columns = ("visits", "changes", "group", "last visit", "next about", "page")
        tables.show(columns, rows, "none of its pages has been visited yet" + facts.who_visits(row) if pages else "")


def pages(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    group: Annotated[Group | None, typer.Option(help="By days with change / days observed.")] = None,
    behaviour: Annotated[Behaviour | None, typer.Option(help="As found in its history.")] = None,
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 50,
    language: Annotated[options.Language, typer.Option(help="Of the reasons.")] = options.Language.en,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """List watched pages by group and behaviour, with why each is visited when."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries
        from hemeroteca.watch.next_visit import sentence

        found = queries.pages(
            limit,
            subscription=subscription,
            site=site,
            group=group.value if group else "",
            behaviour=behaviour.value if behaviour else "",
            collection=collection,
        )
        if json:
            for page in found:
                facts.write(facts.of_page(page, language.value))
            return
        counts = queries.groups(site=site, collection=collection)
        for kind, numbers in counts.items():
            typer.echo(f"{kind}: " + (", ".join(f"{name} {count:,}" for name, count in numbers.items()) or "none"))
        rows = [
            (
                [
                    *(f"{page.visits:,}", f"{page.changes:,}", page.group, page.behaviour or "unknown"),
                    *(facts.moment(page.last_ms), page.url),
                ],
                [sentence(page.reason, language.value), facts.then(page, language.value)],
            )
            for page in found
        ]
        columns = ("visits", "changes", "group", "behaviour", "last visit", "page")
        tables.show(columns, rows, "no watched page is like that")


def changes(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    url: Annotated[str, typer.Option(help="Only of this page.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 20,
    diff: Annotated[bool, typer.Option("--diff", help="With what differs.")] = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show important changes, newest first."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries

        found = queries.changes(limit, url=url, site=site, subscription=subscription)
        if not found and not json:
            typer.echo("no important change has been seen")
        for change in found:
            if json:
                facts.write(
                    {
                        "url": change.url,
                        "title": change.title,
                        "seen_at": facts.moment(change.seen_ms),
                        "since": facts.moment(change.since_ms),
                        "view": change.view,
                        "form": change.form,
                        "content": change.content,
                        "total": change.total,
                        "capture": str(change.record_id or ""),
                        "diff": change.diff,
                    }
                )
                continue
            typer.echo(
                f"{facts.moment(change.seen_ms)}  {change.total:.2f}  {change.url}  {common.printable(change.title)}"
            )
            if diff:
                typer.echo(common.printable(change.diff))
