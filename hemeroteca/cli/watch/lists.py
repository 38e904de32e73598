"""What is watched, what was seen, what it cost and who told of it: lists for people and as JSON."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import options, shared

if TYPE_CHECKING:
    from hemeroteca.watch.models import Subscription, WatchedPage

UNSAID = ("active", "fault", "failures", "last_error")  # said by the state
Group = Literal["high", "medium", "low"]
Behaviour = Literal["steady", "periodic", "bursty", "silent"]
By = Literal["site", "group", "behaviour", "collection", "category", "subscription", "all"]


def proposals(json: common.Json = False) -> None:
    """Show the sites that people proposed and no director decided on."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries

    rows = []
    for row in queries.subscriptions(proposed=True):
        cells = [str(row.pk), row.owner.name if row.owner else "", shared.moment(row.proposed_ms)]
        cells.append(f"{row.url}  ({row.scope['kind']})")
        rows.append((shared.subscription_facts(row), cells, row.purpose))
    shared.tell_all(json, ("number", "who", "when", "address"), rows, "nobody waits for a decision")


def listing(
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    category: Annotated[str, typer.Option(help="Only of this category, by name or code.")] = "",
    group: Annotated[Group | None, typer.Option(help="Only of this group.")] = None,
    address: Annotated[str, typer.Option(help="Only those that watch this address.")] = "",
    json: common.Json = False,
) -> None:
    """Show the subscriptions."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries

    shared.must_be_there(collection=collection, category=category)
    found = queries.subscriptions(collection=collection, category=category, group=group or "", address=address)
    figures = queries.figures([row.pk for row in found])
    rows = []
    for row in found:
        counts = figures.get(row.pk, {})
        state, reason = shared.state(row)
        about = ", ".join(filter(None, (row.scope["kind"], row.collection.name if row.collection else "")))
        cells = [str(row.pk), state, shared.mode(row), shared.group(row.group, row.daily_chance)]
        cells += [f"{counts.get(name) or 0:,}" for name in ("pages", "visits", "changes")]
        named = f"{row.name}: " if row.name != row.url else ""
        cells.append(f"{row.url}  ({named}{about})")
        rows.append(({**shared.subscription_facts(row), **counts}, cells, reason))
    asked = collection or category or group or address
    nothing = f"the collection {collection!r} has no subscriptions" if collection else "nothing is watched yet"
    nothing = "no subscription is like that" if asked and not collection else nothing
    columns = ("number", "state", "mode", "P", "pages", "visits", "changes", "address")
    shared.tell_all(json, columns, rows, f"{nothing}; `hemeroteca watch add ADDRESS` begins")


def show(
    number: options.Number,
    pages: Annotated[int, typer.Option(min=0, help="Pages to show.")] = 10,
    language: Annotated[options.Language, typer.Option(help="Of the reasons.")] = "en",
    json: common.Json = False,
) -> None:
    """Show a subscription, its pages, and why each is visited when."""
    common.setup(must_exist=True)
    from hemeroteca.watch import change_feeds, queries, services
    from hemeroteca.watch.next_visit import sentence

    row = services.find(number)
    found = queries.pages(pages, subscription=number, listings=True)
    known = {
        **shared.subscription_facts(row),
        **queries.figures([number]).get(number, {}),
        "feed": change_feeds.address(subscription=number),
    }
    if json:
        common.tell({**known, "shown": [shared.page_facts(page, language) for page in found]})
        return
    state, reason = shared.state(row)
    known = {"id": row.pk, "state": "", **known} | {"state": f"{state} ({reason})" if reason else state}
    for name, value in known.items():
        if value not in ("", None, [], {}, False) and name not in UNSAID:
            said = common.printable(", ".join(value) if isinstance(value, list) else value)
            typer.echo(f"{name:<16} {said}")
    rows = [
        (
            [
                *(f"{page.visits:,}", f"{page.changes:,}", page.listing or page.group or "unknown"),
                *(shared.moment(page.last_ms), shared.moment(page.next_ms), page.url),
            ],
            [sentence(page.reason, language), sentence(page.next_reason, language)],
        )
        for page in found
    ]
    typer.echo("")
    columns = ("visits", "changes", "group", "last visit", "next about", "page")
    nothing = "none of its pages has answered yet" if row.failures else "none of its pages has been visited yet"
    shared.show(columns, rows, f"{nothing}{_who_visits(row)}" if pages else "")


def pages(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    group: Annotated[Group | None, typer.Option(help="By P: above .7, .4 to .7, below.")] = None,
    behaviour: Annotated[Behaviour | None, typer.Option(help="As found in its history.")] = None,
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 50,
    language: Annotated[options.Language, typer.Option(help="Of the reasons.")] = "en",
    json: common.Json = False,
) -> None:
    """List watched pages by group and behaviour, with why each is visited when."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries
    from hemeroteca.watch.next_visit import sentence

    shared.must_be_there(subscription, collection)
    found = queries.pages(
        limit,
        subscription=subscription,
        site=site,
        group=group or "",
        behaviour=behaviour or "",
        collection=collection,
    )
    if json:
        for page in found:
            common.tell(shared.page_facts(page, language))
        return
    counts = queries.groups(site=site, collection=collection)
    for kind, numbers in counts.items():
        typer.echo(f"{kind}: " + (", ".join(f"{name} {count:,}" for name, count in numbers.items()) or "none"))
    rows = []
    for page in found:
        chance = "" if page.daily_chance is None else f"{page.daily_chance:.2f}"
        cells = [f"{page.visits:,}", f"{page.changes:,}", page.group or "unknown", chance, page.behaviour or "unknown"]
        cells += [shared.moment(page.last_ms), page.url]
        rows.append((cells, [sentence(page.reason, language), _then(page, language)]))
    columns = ("visits", "changes", "group", "P", "behaviour", "last visit", "page")
    shared.show(columns, rows, "no watched page is like that")


def changes(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    url: Annotated[str, typer.Option(help="Only of this page.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100_000)] = 20,
    diff: Annotated[bool, typer.Option("--diff", help="With what differs.")] = False,
    json: common.Json = False,
) -> None:
    """Show important changes, newest first."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries

    shared.must_be_there(subscription)
    found = queries.changes(limit, url=url, site=site, subscription=subscription)
    if not found and not json:
        typer.echo("no important change has been seen")
    for change in found:
        if json:
            facts = common.picked(change, "url", "title", "view", "form", "content", "total", "diff")
            facts |= {"seen_ms": change.seen_ms, "since_ms": change.since_ms}
            common.tell(facts | {"capture": str(change.record_id or "")})
            continue
        seen, title = shared.moment(change.seen_ms), common.printable(change.title)
        typer.echo(f"{seen}  {change.total:.2f}  {change.url}  {title}")
        if diff:
            typer.echo(common.printable(change.diff))


def metrics(
    by: Annotated[By, typer.Option(help="What a row is.")] = "site",
    days: Annotated[float, typer.Option(min=0, max=36_500, help="Only the last days; 0: all.")] = 0.0,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    fixed_hours: Annotated[float, typer.Option(min=0.01, max=87_600, help="Fixed frequency to compare with.")] = 24.0,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    json: common.Json = False,
) -> None:
    """What watching brought and what it cost, beside a fixed frequency."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services
    from hemeroteca.watch import site_metrics as measuring

    since = services.now_ms() - int(days * 86_400_000) if days else 0
    rows = measuring.measure(by, since_ms=since, fixed_hours=fixed_hours, site=site)
    if as_csv:
        sys.stdout.write(measuring.as_csv(rows))
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
        table.append((row, [*cells, row.name], fixed))
    columns = ("pages", "visits", "changes", "lost ≈", "in vain", "received", "stored", "fresh", "delay", by)
    shared.tell_all(json, columns, table, "no visit of a watched page has been counted yet")


def report(
    name: Annotated[
        str, typer.Argument(help="rounds, admission, storage, weekdays, intervals, bursts or frequencies.")
    ],
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    chart: Annotated[bool, typer.Option("--chart", help="As a Vega-Lite chart.")] = False,
    json: common.Json = False,
) -> None:
    """Reports of what was seen: rounds of visits, admission, storage, weekdays, exceptional days and more."""
    common.setup(must_exist=True)
    import msgspec

    from hemeroteca.watch import site_reports

    found = site_reports.report(name, subscription)
    if as_csv:
        sys.stdout.write(found.as_csv())
    elif json or chart:
        common.tell(found.as_chart() if chart else msgspec.to_builtins(found))
    else:
        rows = [([str(msgspec.to_builtins(value)) for value in row], [""]) for row in found.rows]
        shared.show(found.columns, rows, "nothing has been seen yet that this report could tell of")
        for title, text in (*found.summary.items(), *found.definitions.items()):
            typer.echo(f"{title}: {text}")


def sources(
    subscription: Annotated[int | None, typer.Option(help="Only of this subscription.")] = None,
    json: common.Json = False,
) -> None:
    """Who tells us that pages change, and how often that was true."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries, signals

    shared.must_be_there(subscription)
    rows = []
    for row in queries.sources(subscription):
        precision, recall = signals.precision(row), signals.recall(row)
        facts = common.picked(row, "id", "kind", "site", "url", "state", "received", "dropped", "note")
        facts |= {"subscription": row.subscription_id, "precision": precision, "recall": recall}
        cells = [str(row.pk), row.kind, row.state, f"{row.received:,}", f"{row.dropped:,}"]
        cells += ["" if share is None else f"{share:.0%}" for share in (precision, recall)]
        rows.append((facts, [*cells, row.url or row.site], row.note))
    columns = ("number", "kind", "state", "heard", "dropped", "precision", "recall", "about")
    nobody = "nobody tells of changes yet; `hemeroteca watch webhook NUMBER` makes an address"
    shared.tell_all(json, columns, rows, nobody)


def _who_visits(row: "Subscription") -> str:
    """Why nothing was visited so far, as the end of a sentence."""
    if not row.active:
        return f"; `hemeroteca watch resume {row.pk}` lets it go on"
    return "; `hemeroteca serve` visits them" if not row.fault and not row.failures else ""


def _then(page: "WatchedPage", language: str) -> str:
    from hemeroteca.watch.next_visit import sentence

    said = sentence(page.next_reason, language)
    return f"{said} ({shared.moment(page.next_ms)})" if said and page.next_ms else said
