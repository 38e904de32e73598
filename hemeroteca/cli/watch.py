"""`hemeroteca watch`: subscriptions, their pages and changes, channels and sources of signals."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli import watch_tables as tables

if TYPE_CHECKING:
    from hemeroteca.watch.models import Subscription

MOST_NUMBER = (1 << 63) - 1

app = typer.Typer(no_args_is_help=True, help="Pages and sites under watch: when they change, and who is told.")
channel = typer.Typer(no_args_is_help=True)
collection = typer.Typer(no_args_is_help=True)
app.add_typer(channel, name="channel", help="Where people are told about changes.")
app.add_typer(collection, name="collection", help="Subscriptions that belong together.")

Number = Annotated[int, typer.Argument(help="Number of the subscription.", min=1, max=MOST_NUMBER)]
ChannelNumber = Annotated[int, typer.Argument(help="Number of the channel.", min=1, max=MOST_NUMBER)]
UNSAID = ("active", "fault", "failures", "last_error")  # said by the state


class ScopeName(StrEnum):
    page = "page"
    prefix = "prefix"
    host = "host"
    domain = "domain"


class By(StrEnum):
    site = "site"
    group = "group"
    behaviour = "behaviour"
    collection = "collection"
    subscription = "subscription"
    all = "all"


class Group(StrEnum):
    high = "high"
    medium = "medium"
    low = "low"


class Behaviour(StrEnum):
    steady = "steady"
    periodic = "periodic"
    bursty = "bursty"
    silent = "silent"


class Language(StrEnum):
    es = "es"
    en = "en"


Include = Annotated[list[str] | None, typer.Option(help="A URL must match one of these expressions.")]
Exclude = Annotated[list[str] | None, typer.Option(help="A URL may match none of these expressions.")]
Ignore = Annotated[list[str] | None, typer.Option(help="CSS or XPath of parts that do not count.")]
Keep = Annotated[list[str] | None, typer.Option(help="CSS or XPath of the only parts that count.")]
IgnoreText = Annotated[list[str] | None, typer.Option(help="Expressions for text that does not count.")]
Windows = Annotated[list[str] | None, typer.Option(help="When, like `mon-fri 08:00-18:00 Europe/Madrid`.")]


@app.command()
def add(
    urls: Annotated[list[str], typer.Argument(help="Pages or sites to watch.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    scope: Annotated[ScopeName | None, typer.Option(help="What belongs to it; default: host for a front page.")] = None,
    include: Include = None,
    exclude: Exclude = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Most links away from the address.")] = None,
    collection: Annotated[str, typer.Option(help="Collection it belongs to; made when it is new.")] = "",
    purpose: Annotated[str, typer.Option(help="Why it is watched.")] = "",
    threshold: Annotated[float, typer.Option(help="F(μ): how much must differ to be important.")] = 0.05,
    ignore: Ignore = None,
    keep: Keep = None,
    ignore_text: IgnoreText = None,
    mode: Annotated[str, typer.Option(help="auto, `fixed HOURS`, or another policy.")] = "auto",
    min_hours: Annotated[float, typer.Option(help="Never visit a page more often.")] = 0.0,
    max_hours: Annotated[float, typer.Option(help="Never leave a page alone longer; 0: 720.")] = 0.0,
    weight: Annotated[float, typer.Option(help="What its changes are worth against others'.")] = 1.0,
    visits_per_day: Annotated[int, typer.Option(help="Most visits a day; 0: no limit of its own.")] = 0,
    bytes_per_day: Annotated[int, typer.Option(help="Most bytes a day; 0: no limit of its own.")] = 0,
    window: Windows = None,
    country: Annotated[str, typer.Option(help="Whose holidays count, like ES or VE.")] = "",
    requisites: Annotated[bool, typer.Option(help="Fetch images, styles and scripts too.")] = True,
    owner: Annotated[str, typer.Option(help="User it belongs to.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Watch pages or sites: `hemeroteca serve` visits them when they are likely to have changed."""
    with _watching(data) as services:
        user = _owner(owner)
        for url in urls:
            order = services.Order(
                url=url,
                name=name,
                scope=scope.value if scope else "",
                include=include or (),
                exclude=exclude or (),
                depth=depth,
                collection=collection,
                purpose=purpose,
                threshold=threshold,
                ignore=ignore or (),
                keep=keep or (),
                ignore_text=ignore_text or (),
                mode=mode,
                min_hours=min_hours,
                max_hours=max_hours,
                weight=weight,
                visits_per_day=visits_per_day,
                bytes_per_day=bytes_per_day,
                windows=window or (),
                country=country,
                requisites=requisites,
            )
            made, new = services.subscribe(order, user)
            if json:
                _json({**_facts(made), "new": new})
            else:
                typer.echo(f"{made.pk}  {made.url}" + ("" if new else "  (was watched already)"))


@app.command("list")
def listing(
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show the subscriptions."""
    with _watching(data, must_exist=True):
        from hemeroteca.watch import queries

        found = queries.subscriptions(collection=collection)
        figures = queries.figures([row.pk for row in found])
        if json:
            for row in found:
                _json({**_facts(row), **figures.get(row.pk, {})})
            return
        rows = []
        for row in found:
            counts = figures.get(row.pk, {})
            state, reason = _state(row)
            about = ", ".join(filter(None, (row.scope["kind"], row.collection.name if row.collection else "")))
            cells = [str(row.pk), state, _mode(row)]
            cells += [f"{counts.get(name) or 0:,}" for name in ("pages", "visits", "changes")]
            named = f"{row.name}: " if row.name != row.url else ""
            rows.append(([*cells, f"{row.url}  ({named}{about})"], [reason]))
        nothing = f"the collection {collection!r} has no subscriptions" if collection else "nothing is watched yet"
        columns = ("number", "state", "mode", "pages", "visits", "changes", "address")
        tables.show(columns, rows, f"{nothing}; `hemeroteca watch add ADDRESS` begins")


@app.command()
def show(
    number: Number,
    pages: Annotated[int, typer.Option(min=0, help="Pages to show.")] = 10,
    language: Annotated[Language, typer.Option(help="Of the reasons.")] = Language.en,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show a subscription, its pages, and why each is visited when."""
    with _watching(data, must_exist=True) as services:
        from hemeroteca.watch import feeds, queries
        from hemeroteca.watch.reasons import sentence

        row = services.find(number)
        found = queries.pages(pages, subscription=number, listings=True)
        facts = {**_facts(row), **queries.figures([number]).get(number, {}), "feed": feeds.address(subscription=number)}
        if json:
            _json({**facts, "shown": [_page(page, language.value) for page in found]})
            return
        state, reason = _state(row)
        facts = {"id": row.pk, "state": f"{state} ({reason})" if reason else state, **facts}
        for name, value in facts.items():
            if value not in ("", None, [], {}, False) and name not in UNSAID:
                said = common.printable(", ".join(value) if isinstance(value, list) else value)
                typer.echo(f"{name:<16} {said}")
        rows = [
            (
                [
                    *(f"{page.visits:,}", f"{page.changes:,}", page.listing or page.group),
                    *(_moment(page.last_ms), _moment(page.next_ms), page.url),
                ],
                [sentence(page.reason, language.value), sentence(page.next_reason, language.value)],
            )
            for page in found
        ]
        typer.echo("")
        columns = ("visits", "changes", "group", "last visit", "next about", "page")
        tables.show(columns, rows, "none of its pages has been visited yet" + _who_visits(row) if pages else "")


@app.command()
def edit(
    number: Number,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]…", help="The same as options; lists with `|` in them.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call it; empty: its address.")] = None,
    scope: Annotated[ScopeName | None, typer.Option(help="What belongs to it.")] = None,
    include: Include = None,
    exclude: Exclude = None,
    depth: Annotated[int | None, typer.Option(min=-1, help="Most links away from the address; -1: no limit.")] = None,
    collection: Annotated[str | None, typer.Option(help="Collection it belongs to; empty: none.")] = None,
    purpose: Annotated[str | None, typer.Option(help="Why it is watched.")] = None,
    threshold: Annotated[float | None, typer.Option(help="F(μ): how much must differ to be important.")] = None,
    ignore: Ignore = None,
    keep: Keep = None,
    ignore_text: IgnoreText = None,
    mode: Annotated[str | None, typer.Option(help="auto, `fixed HOURS`, or another policy.")] = None,
    min_hours: Annotated[float | None, typer.Option(help="Never visit a page more often; 0: no own limit.")] = None,
    max_hours: Annotated[float | None, typer.Option(help="Never leave a page alone longer; 0: 720.")] = None,
    weight: Annotated[float | None, typer.Option(help="What its changes are worth against others'.")] = None,
    visits_per_day: Annotated[int | None, typer.Option(help="Most visits a day; 0: no limit of its own.")] = None,
    bytes_per_day: Annotated[int | None, typer.Option(help="Most bytes a day; 0: no limit of its own.")] = None,
    window: Windows = None,
    country: Annotated[str | None, typer.Option(help="Whose holidays count, like ES or VE; empty: none.")] = None,
    requisites: Annotated[bool | None, typer.Option(help="Fetch images, styles and scripts too.")] = None,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Change a subscription; what is not named stays: `edit 3 --mode simple --max-hours 48`. `--window ''` empties."""
    given: dict[str, Any] = {
        "name": name,
        "scope": scope.value if scope else None,
        "include": include,
        "exclude": exclude,
        "collection": collection,
        "purpose": purpose,
        "threshold": threshold,
        "ignore": ignore,
        "keep": keep,
        "ignore_text": ignore_text,
        "mode": mode,
        "min_hours": min_hours,
        "max_hours": max_hours,
        "weight": weight,
        "visits_per_day": visits_per_day,
        "bytes_per_day": bytes_per_day,
        "windows": window,
        "country": country,
        "requisites": requisites,
    }
    wanted = {key: value for key, value in given.items() if value is not None}
    if depth is not None:
        wanted["depth"] = depth if depth >= 0 else None
    with _watching(data, must_exist=True) as services:
        wanted |= _changes(changes or [])
        if not wanted:
            raise services.WatchError("nothing to change was named; give options, such as --mode simple (see --help)")
        row = services.edit(number, wanted)
        if json:
            _json(_facts(row))
        else:
            typer.echo(f"{row.pk}  {row.url}  {_mode(row)}")


@app.command()
def pause(number: Number, data: common.Data = None) -> None:
    """Stop visiting a subscription until `resume`."""
    with _watching(data, must_exist=True) as services:
        typer.echo(f"{services.pause(number).url} is paused")


@app.command()
def resume(number: Number, data: common.Data = None) -> None:
    """Go on with a paused subscription."""
    with _watching(data, must_exist=True) as services:
        typer.echo(f"{services.resume(number).url} is active")


@app.command()
def remove(number: Number, data: common.Data = None) -> None:
    """End a subscription; everything captured and observed stays."""
    with _watching(data, must_exist=True) as services:
        services.remove(number)
        typer.echo(f"subscription {number} has ended")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="CSV (columns as the options of `add`) or OPML.", exists=True)],
    collection: Annotated[str, typer.Option(help="Collection of lines that name none.")] = "",
    mode: Annotated[str, typer.Option(help="Mode of lines that name none.")] = "auto",
    owner: Annotated[str, typer.Option(help="User they belong to.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Subscribe to everything a file lists; says which lines could not be used and why."""
    with _watching(data) as services:
        from hemeroteca.watch import imports

        if file.stat().st_size > imports.MOST_BYTES:
            raise services.WatchError(f"{file} is larger than {common.size(imports.MOST_BYTES)}; cut it into parts")
        defaults = {"collection": collection, "mode": mode}
        report = imports.read_file(file.read_bytes(), file.name, _owner(owner), defaults)
        if json:
            _json(asdict(report))
        else:
            for line in report.lines:
                typer.echo(common.printable(f"line {line.number}: {line.outcome} {line.url}  {line.detail}"))
            typer.echo(f"{report.new} new, {report.known} known already, {report.refused} refused")
        if report.refused:
            raise typer.Exit(1)


@app.command("export")
def export_(
    file: Annotated[
        Path | None, typer.Argument(help="Where to; ends in .opml for OPML. Default: CSV on the screen.")
    ] = None,
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    data: common.Data = None,
) -> None:
    """Write the subscriptions as CSV or OPML; `watch import` takes both back (OPML holds addresses and names only)."""
    with _watching(data, must_exist=True) as services:
        from hemeroteca.watch import imports, queries

        found = queries.subscriptions(imports.MOST_ROWS, collection=collection)
        opml = file is not None and file.suffix.lower() in (".opml", ".xml")
        text = imports.as_opml(found) if opml else imports.as_csv(found)
        if file is None:
            sys.stdout.write(text)
            return
        try:
            file.write_text(text, "utf-8")
        except OSError as error:
            raise services.WatchError(f"{file} cannot be written ({error.strerror}); choose another place")
        typer.echo(f"{len(found)} subscriptions are in {file}", err=True)


@app.command()
def pages(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    group: Annotated[Group | None, typer.Option(help="By days with change / days observed.")] = None,
    behaviour: Annotated[Behaviour | None, typer.Option(help="As found in its history.")] = None,
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 50,
    language: Annotated[Language, typer.Option(help="Of the reasons.")] = Language.en,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """List watched pages by group and behaviour, with why each is visited when."""
    with _watching(data, must_exist=True):
        from hemeroteca.watch import queries
        from hemeroteca.watch.reasons import sentence

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
                _json(_page(page, language.value))
            return
        counts = queries.groups(site=site, collection=collection)
        for kind, numbers in counts.items():
            typer.echo(f"{kind}: " + (", ".join(f"{name} {count:,}" for name, count in numbers.items()) or "none"))
        rows = [
            (
                [
                    *(f"{page.visits:,}", f"{page.changes:,}", page.group, page.behaviour or "unknown"),
                    *(_moment(page.last_ms), page.url),
                ],
                [sentence(page.reason, language.value), _then(page, language.value)],
            )
            for page in found
        ]
        columns = ("visits", "changes", "group", "behaviour", "last visit", "page")
        tables.show(columns, rows, "no watched page is like that")


@app.command()
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
    with _watching(data, must_exist=True):
        from hemeroteca.watch import queries

        found = queries.changes(limit, url=url, site=site, subscription=subscription)
        if not found and not json:
            typer.echo("no important change has been seen")
        for change in found:
            if json:
                _json(
                    {
                        "url": change.url,
                        "title": change.title,
                        "seen_at": _moment(change.seen_ms),
                        "since": _moment(change.since_ms),
                        "view": change.view,
                        "form": change.form,
                        "content": change.content,
                        "total": change.total,
                        "capture": str(change.record_id or ""),
                        "diff": change.diff,
                    }
                )
                continue
            typer.echo(f"{_moment(change.seen_ms)}  {change.total:.2f}  {change.url}  {common.printable(change.title)}")
            if diff:
                typer.echo(common.printable(change.diff))


@app.command()
def metrics(
    by: Annotated[By, typer.Option(help="What a row is.")] = By.site,
    days: Annotated[float, typer.Option(min=0, max=36_500, help="Only the last days; 0: all.")] = 0.0,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    fixed_hours: Annotated[float, typer.Option(min=0.01, max=87_600, help="Fixed frequency to compare with.")] = 24.0,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """What watching brought and what it cost, beside a fixed frequency."""
    with _watching(data, must_exist=True) as services:
        import msgspec

        from hemeroteca.watch import metrics as measuring

        since = services.now_ms() - int(days * 86_400_000) if days else 0
        rows = measuring.measure(by.value, since_ms=since, fixed_hours=fixed_hours, site=site)
        if as_csv:
            sys.stdout.write(measuring.as_csv(rows))
            return
        if json:
            for row in rows:
                _json(msgspec.structs.asdict(row))
            return
        table = []
        for row in rows:
            cells = [
                *(f"{row.pages:,}", f"{row.visits:,}", f"{row.changes:,}", f"{row.lost:.1f}", f"{row.unnecessary:,}"),
                *(common.size(row.generated), common.size(row.stored)),
                f"{row.freshness:.1%}" if row.freshness is not None else "",
                f"{row.delay_hours:.1f} h" if row.delay_hours is not None else "",
            ]
            fixed = f"every {fixed_hours:g} h: {row.fixed_visits:,.0f} visits, {common.size(row.fixed_bytes)}"
            table.append(([*cells, row.name], [fixed]))
        columns = ("pages", "visits", "changes", "lost ≈", "in vain", "received", "stored", "fresh", "delay", by.value)
        tables.show(columns, table, "no visit of a watched page has been counted yet")


@app.command()
def sources(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Who tells us that pages change, and how often that was true."""
    with _watching(data, must_exist=True):
        from hemeroteca.watch import queries, signals

        found = queries.sources(subscription)
        rows = []
        for row in found:
            precision, recall = signals.precision(row), signals.recall(row)
            if json:
                _json(
                    {
                        "id": row.pk,
                        "kind": row.kind,
                        "subscription": row.subscription_id,
                        "site": row.site,
                        "url": row.url,
                        "state": row.state,
                        "received": row.received,
                        "dropped": row.dropped,
                        "precision": precision,
                        "recall": recall,
                        "note": row.note,
                    }
                )
                continue
            cells = [str(row.pk), row.kind, row.state, f"{row.received:,}", f"{row.dropped:,}"]
            cells += ["" if share is None else f"{share:.0%}" for share in (precision, recall)]
            rows.append(([*cells, row.url or row.site], [row.note]))
        if not json:
            columns = ("number", "kind", "state", "heard", "dropped", "precision", "recall", "about")
            tables.show(
                columns, rows, "nobody tells of changes yet; `hemeroteca watch webhook NUMBER` makes an address"
            )


@app.command()
def webhook(number: Number, data: common.Data = None) -> None:
    """Make an address by which a site can tell that pages of a subscription changed. It is shown once."""
    with _watching(data, must_exist=True) as services:
        from django.conf import settings

        _, token = services.add_webhook(number)
        base = settings.CONFIG.public_url.rstrip("/") or f"http://{settings.CONFIG.host}:{settings.CONFIG.port}"
        typer.echo(f"{base}/api/v1/signals/{token}")


@app.command()
def learn(number: Number, data: common.Data = None) -> None:
    """Learn from the captures the archive already has of a subscription's pages."""
    with _watching(data, must_exist=True) as services:
        from django.conf import settings

        from hemeroteca.watch import learning

        count = learning.learn_from_archive(services.find(number))
        if count:
            learning.keep(settings.INSTANCE.data, *learning.rebuild())
        typer.echo(f"{count} observations learned")


# channels


@channel.command("add")
def channel_add(
    target: Annotated[str, typer.Argument(help="An https address that gets JSON, or an Apprise URL.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    subscription: Annotated[int | None, typer.Option(help="Tell only of this subscription.")] = None,
    collection: Annotated[str, typer.Option(help="Tell only of this collection.")] = "",
    digest_hours: Annotated[float, typer.Option(help="Gather changes for so many hours; 0: at once.")] = 0.0,
    changes: Annotated[bool, typer.Option(help="Tell of important changes.")] = True,
    errors: Annotated[bool, typer.Option(help="Tell when a subscription fails, and recovers.")] = True,
    language: Annotated[Language, typer.Option(help="Of the messages.")] = Language.en,
    data: common.Data = None,
) -> None:
    """Tell somebody about changes."""
    with _watching(data) as services:
        from hemeroteca.watch import notices

        order = services.ChannelOrder(
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
        made, secret = services.add_channel(order)
        typer.echo(f"{made.pk}  {made.name}")
        if secret:
            typer.echo(f"its messages are signed with {secret}; keep it now, it is shown once", err=True)


@channel.command("list")
def channel_list(data: common.Data = None, json: common.Json = False) -> None:
    """Show the channels."""
    with _watching(data, must_exist=True):
        from hemeroteca.watch import queries

        rows = []
        for row in queries.channels():
            about = (
                row.subscription.name if row.subscription else row.collection.name if row.collection else "everything"
            )
            when = f"every {row.digest_hours:g} h" if row.digest_hours else "at once"
            if json:
                _json(
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
            cells = [str(row.pk), row.kind, state, when, _moment(row.sent_ms), row.name]
            rows.append(([*cells, about], [f"failed {row.failures} times: {row.last_error}" if row.failures else ""]))
        if not json:
            columns = ("number", "kind", "state", "when", "last delivery", "name", "about")
            tables.show(columns, rows, "nobody is told yet; `hemeroteca watch channel add ADDRESS` begins")


@channel.command("test")
def channel_test(number: ChannelNumber, data: common.Data = None) -> None:
    """Send a message that is no change."""
    with _watching(data, must_exist=True) as services:
        from django.conf import settings

        from hemeroteca.watch import notices
        from hemeroteca.watch.outgoing import Outgoing

        try:
            notices.test_channel(services.find_channel(number), settings.CONFIG, Outgoing(settings.CONFIG))
        except notices.DeliveryError as error:
            common.give_up(f"the message was not delivered: {error}")
        typer.echo("delivered")


@channel.command("pause")
def channel_pause(number: ChannelNumber, data: common.Data = None) -> None:
    """Tell nothing until `resume`; what happens meanwhile is not told later."""
    with _watching(data, must_exist=True) as services:
        typer.echo(f"{services.set_channel_active(number, False).name} is paused")


@channel.command("resume")
def channel_resume(number: ChannelNumber, data: common.Data = None) -> None:
    """Go on with a channel that was paused, or given up after many failures."""
    with _watching(data, must_exist=True) as services:
        typer.echo(f"{services.set_channel_active(number, True).name} is active")


@channel.command("remove")
def channel_remove(number: ChannelNumber, data: common.Data = None) -> None:
    """End a channel."""
    with _watching(data, must_exist=True) as services:
        services.remove_channel(number)
        typer.echo(f"channel {number} has ended")


# collections


@collection.command("set")
def collection_set(
    name: Annotated[str, typer.Argument(help="Its name; made when it is new.")],
    category: Annotated[str | None, typer.Option(help="Topic it belongs to.")] = None,
    description: Annotated[str | None, typer.Option(help="What it is for.")] = None,
    visits_per_day: Annotated[int | None, typer.Option(help="Most visits a day; 0: no limit.")] = None,
    bytes_per_day: Annotated[int | None, typer.Option(help="Most bytes a day; 0: no limit.")] = None,
    data: common.Data = None,
) -> None:
    """Make a collection or change one."""
    with _watching(data) as services:
        made = services.set_collection(
            name,
            category=category,
            description=description,
            visits_per_day=visits_per_day,
            bytes_per_day=bytes_per_day,
        )
        typer.echo(f"{made.pk}  {made.name}")


@collection.command("list")
def collection_list(data: common.Data = None, json: common.Json = False) -> None:
    """Show the collections."""
    with _watching(data, must_exist=True):
        from hemeroteca.watch import queries

        rows = []
        for row in queries.collections():
            count = getattr(row, "subscriptions", 0)
            if json:
                _json(
                    {
                        "id": row.pk,
                        "name": row.name,
                        "category": row.category,
                        "subscriptions": count,
                        "visits_per_day": row.visits_per_day,
                        "bytes_per_day": row.bytes_per_day,
                        "description": row.description,
                    }
                )
                continue
            limits = (f"{limit:,}" if limit else "" for limit in (row.visits_per_day, row.bytes_per_day))
            rows.append(([str(row.pk), str(count), *limits, row.category, row.name], [row.description]))
        if not json:
            columns = ("number", "subscriptions", "visits a day", "bytes a day", "category", "name")
            tables.show(columns, rows, "there is no collection yet; `hemeroteca watch collection set NAME` makes one")


@collection.command("remove")
def collection_remove(name: str, data: common.Data = None) -> None:
    """Remove an empty collection."""
    with _watching(data, must_exist=True) as services:
        services.remove_collection(name)
        typer.echo(f"the collection {name} is gone")


# helpers


@contextmanager
def _watching(data: Path | None, must_exist: bool = False) -> Iterator[Any]:
    """The services, with their errors as one plain line."""
    common.setup(data, must_exist=must_exist)
    from hemeroteca import urls
    from hemeroteca.accounts.services import AccountError
    from hemeroteca.watch import services

    try:
        yield services
    except (services.WatchError, urls.UrlError, AccountError) as error:
        common.give_up(str(error), common.USAGE)


def _owner(name: str) -> Any:
    from hemeroteca.accounts import services

    return services.find_user(name) if name else None


def _changes(given: list[str]) -> dict[str, Any]:
    from hemeroteca.watch import imports, services

    changes: dict[str, Any] = {}
    for change in given:
        name, equals, value = change.partition("=")
        if not equals:
            raise services.WatchError(f"{change!r} is not NAME=VALUE, like max_hours=48")
        name = name.strip()
        if not value and name == "depth":
            changes[name] = None
        elif not value and name in imports.NUMBERS | imports.FLOATS:
            changes[name] = 0
        else:
            changes[name] = imports.convert(name, value)
    return changes


def _facts(row: "Subscription") -> dict[str, Any]:
    from hemeroteca.watch import services

    order = asdict(services.order_of(row))
    lists = {name: list(value) for name, value in order.items() if isinstance(value, tuple | list)}
    return {
        "id": row.pk,
        **order,
        **lists,
        "owner": row.owner.name if row.owner else None,
        "crawl": row.crawl_id,
        "failures": row.failures,
        "last_error": row.last_error,
        "fault": row.fault,
    }


def _page(page: Any, language: str) -> dict[str, Any]:
    from hemeroteca.watch.reasons import sentence

    return {
        "url": page.url,
        "site": page.site,
        "subscription": page.subscription_id,
        "listing": page.listing,
        "group": page.group,
        "behaviour": page.behaviour,
        "visits": page.visits,
        "changes": page.changes,
        "last_visit": _moment(page.last_ms),
        "next_visit": _moment(page.next_ms),
        "chance": page.chance,
        "why": sentence(page.reason, language),
        "then": sentence(page.next_reason, language),
    }


def _state(row: "Subscription") -> tuple[str, str]:
    """active, paused, failing or stopped, and why."""
    if not row.active:
        return "paused", ""
    if row.fault:
        return "stopped", f"the engine cannot work with it: {row.fault}"
    if row.failures >= 3:
        return (
            "failing",
            f"{row.failures} visits in a row since {_moment(row.failing_since_ms)}; last: {row.last_error}",
        )
    return "active", f"the last visit failed: {row.last_error}" if row.failures else ""


def _who_visits(row: "Subscription") -> str:
    """Why nothing was visited so far, as the end of a sentence."""
    if not row.active:
        return f"; `hemeroteca watch resume {row.pk}` lets it go on"
    return "; `hemeroteca serve` visits them" if not row.fault and not row.failures else ""


def _then(page: Any, language: str) -> str:
    from hemeroteca.watch.reasons import sentence

    said = sentence(page.next_reason, language)
    return f"{said} ({_moment(page.next_ms)})" if said and page.next_ms else said


def _mode(row: "Subscription") -> str:
    return f"fixed {row.fixed_hours:g} h" if row.mode == "fixed" else row.mode


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if ms else ""


def _json(value: Any) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
