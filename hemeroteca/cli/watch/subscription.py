"""What people order: begin, change, pause and end subscriptions, let them learn; files of them in CSV and OPML."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import structs

from hemeroteca.cli import common
from hemeroteca.cli.job import Background, run_job
from hemeroteca.cli.watch import options
from hemeroteca.cli.watch.shared import find_owner, mode, must_be_there, subscription_facts
from hemeroteca.errors import Invalid
from hemeroteca.watch.fields import SUBSCRIPTION, Order

if TYPE_CHECKING:
    from hemeroteca.watch.models import Subscription
    from hemeroteca.watch.queries import Checked


@options.with_fields(SUBSCRIPTION)
def add(
    urls: Annotated[list[str], typer.Argument(help="Pages or sites to watch.")],
    given: dict[str, Any],
    owner: Annotated[str, typer.Option(help="User it belongs to.")] = "",
    json: common.Json = False,
) -> None:
    """Watch pages or sites: `hemeroteca serve` visits them when they are likely to have changed."""
    common.setup()
    from django.db import transaction

    from hemeroteca.watch import services

    user = find_owner(owner)
    with transaction.atomic():  # all of them, or none when one is refused
        watched = [services.subscribe(common.actor(), Order(url=url, **given), user) for url in urls]
    for made, new in watched:
        if json:
            common.tell({**subscription_facts(made), "new": new})
        else:
            waits = "  (waits for approval)" if made.proposed_ms else ""
            typer.echo(f"{made.pk}  {made.url}" + (waits if new else "  (was watched already)"))


@options.with_fields(SUBSCRIPTION, edit=True)
def edit(
    number: options.Number,
    given: dict[str, Any],
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]…", help="The same as options; lists with `|` in them.")
    ] = None,
    json: common.Json = False,
) -> None:
    """Change a subscription; what is not named stays: `edit 3 --mode simple --max-hours 48`. `--window ''` empties."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    wanted = given | _changes(changes or [])
    if not wanted:
        raise Invalid("nothing to change was named; give options, such as --mode simple (see --help)")
    row = services.edit(common.actor(), number, wanted)
    common.answer(json, subscription_facts(row), f"{row.pk}  {row.url}  {mode(row)}")


def pause(number: options.Number) -> None:
    """Stop visiting a subscription until `resume`."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    typer.echo(f"{services.pause(common.actor(), number).url} is paused")


def resume(number: options.Number) -> None:
    """Go on with a paused subscription."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    typer.echo(f"{services.resume(common.actor(), number).url} is active")


def check(
    what: Annotated[str, typer.Argument(metavar="NUMBER|URL", help="A subscription, or an address that is watched.")],
    wait: Annotated[
        float, typer.Option(min=0, max=86_400, help="Seconds to wait for the visits, and tell what they found.")
    ] = 0.0,
    json: common.Json = False,
) -> None:
    """Have the pages of a subscription visited now, whatever was planned; `hemeroteca serve` does it.

    Of a large site, the hundred that waited longest. With --wait it ends with 1 when not all answered in time.
    """
    common.setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.watch import queries, services

    actor = common.actor()
    row = services.check_now(actor, services.find_watched(what, actor, "watch.change").pk)
    served = bool(settings.INSTANCE.served_at())
    if wait and not served:
        common.give_up("`hemeroteca serve` is not running: the pages are visited when it starts; nothing to wait for")
    found = _wait_for(row, wait) if wait else queries.checked(row)
    if json:
        asked = {"id": row.pk, "url": row.url, "asked_ms": row.check_ms, "serving": served}
        common.tell(asked | structs.asdict(found))
    elif not wait:
        what = common.counted(found.pages, "page") if found.pages else "its first page"
        verb = "are" if found.pages > 1 else "is"
        typer.echo(f"{row.url}: {what} {verb} visited {'now' if served else 'when `hemeroteca serve` runs'}")
    else:
        what = f"{found.visited} of {common.counted(found.pages, 'page')} visited, {len(found.changed)} changed"
        typer.echo(f"{row.url}: {what}{_missing(row, found)}")
        for url in found.changed:
            typer.echo(common.printable(f"  {url}"))
    if wait and found.visited < found.pages:
        raise typer.Exit(1)


def _missing(row: "Subscription", found: "Checked") -> str:
    """Why not all pages were visited, and where to look for the rest."""
    if found.failed:
        from hemeroteca.frontier.reasons import explained_at

        row.refresh_from_db(fields=["last_error"])
        return f", {found.failed} without an answer ({explained_at(row.last_error)}); they are tried again later"
    if found.visited < found.pages:
        return f"; the others are still under way: `hemeroteca watch show {row.pk}` tells of them"
    return ""


def _wait_for(row: "Subscription", seconds: float) -> "Checked":
    from hemeroteca.watch import queries

    until = time.monotonic() + seconds
    while True:
        found = queries.checked(row)
        if (found.pages and found.visited + found.failed >= found.pages) or time.monotonic() >= until:
            return found
        time.sleep(min(0.5, max(until - time.monotonic(), 0.0)))


def remove(number: options.Number) -> None:
    """End a subscription; everything captured and observed stays."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    services.remove(common.actor(), number)
    typer.echo(f"subscription {number} has ended")


def approve(
    number: options.Number,
    version: Annotated[str, typer.Option(help="What you looked at, as the API names it; else what is there now.")] = "",
) -> None:
    """Have a proposed site watched."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    seen = version or services.version_of(services.find(number))
    typer.echo(f"{services.approve(common.actor(), number, seen).url} is watched now")


def refuse(
    number: options.Number, reason: Annotated[str, typer.Option(help="Why; whoever proposed it reads it.")]
) -> None:
    """Refuse a proposed site; it stays in its owner's list with the reason."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services

    typer.echo(f"{services.refuse(common.actor(), number, reason).url} is refused")


def learn(
    number: options.Number,
    cdx: Annotated[
        str, typer.Option(help="File or address of another archive's index (Wayback-style CDX); may be gzip.")
    ] = "",
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Learn from the captures the archive already has of a subscription's pages, or from another archive's index."""
    common.setup(must_exist=True)
    from hemeroteca.watch import services
    from hemeroteca.watch.job_kinds import Learn, LearnCdx, LearnReport

    services.find(number)
    kind, order = ("watch.learn_cdx", LearnCdx(number, cdx)) if cdx else ("watch.learn", Learn(number))
    done = run_job(kind, order, LearnReport, json, background)
    nothing = f"no line of {cdx} is about its pages" if cdx else "the archive has no captures of its pages yet"
    why = "" if done.observations else f": {nothing}"
    common.answer(json, done, f"{common.counted(done.observations, 'observation')} learned{why}")


def webhook(number: options.Number) -> None:
    """Make an address by which a site can tell that pages of a subscription changed. It is shown once."""
    common.setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.instance.public_url import own_address
    from hemeroteca.watch import services

    _, token = services.add_webhook(common.actor(), number)
    typer.echo(own_address(f"/api/v1/signals/{token}"))
    if not (settings.CONFIG.public_url or settings.INSTANCE.served_at()):
        typer.echo("`hemeroteca serve` is not running: the address is that of the settings", err=True)


def import_(
    file: Annotated[Path, typer.Argument(help="CSV (columns as the options of `add`) or OPML.", exists=True)],
    collection: Annotated[str, typer.Option(help="Collection of lines that name none.")] = "",
    mode: Annotated[str, typer.Option(help="Mode of lines that name none.")] = "auto",
    owner: Annotated[str, typer.Option(help="User they belong to.")] = "",
    json: common.Json = False,
) -> None:
    """Subscribe to everything a file lists; says which lines could not be used and why."""
    common.setup()
    from hemeroteca.watch import subscription_files

    if file.stat().st_size > subscription_files.MAX_FILE_BYTES:
        most = common.size(subscription_files.MAX_FILE_BYTES)
        raise Invalid(f"{file} is larger than {most}; cut it into parts")
    defaults = {"collection": collection, "mode": mode}
    report = subscription_files.read_file(common.actor(), file.read_bytes(), file.name, find_owner(owner), defaults)
    if json:
        common.tell(asdict(report))
    else:
        for line in report.lines:
            typer.echo(common.printable(f"line {line.number}: {line.outcome} {line.url}  {line.detail}"))
        typer.echo(f"{report.new} new, {report.known} known already, {report.refused} refused")
    if report.refused:
        raise typer.Exit(1)


def export_(
    file: Annotated[
        Path | None, typer.Argument(help="Where to; ends in .opml for OPML. `-` or none: CSV on standard output.")
    ] = None,
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    force: common.Force = False,
) -> None:
    """Write the subscriptions as CSV or OPML; `watch import` takes both back (OPML holds addresses and names only)."""
    common.setup(must_exist=True)
    from hemeroteca.watch import queries, subscription_files

    must_be_there(collection=collection)
    found = queries.subscriptions(subscription_files.MAX_ROWS, collection=collection)
    opml = file is not None and file.suffix.lower() in (".opml", ".xml")
    text = subscription_files.as_opml(found) if opml else subscription_files.as_csv(found)
    if file is None or str(file) == "-":
        sys.stdout.write(text)
        return
    with common.outgoing(file, force) as path:
        path.write_text(text, "utf-8")
    typer.echo(f"{len(found)} subscriptions are in {file}", err=True)


def _changes(given: list[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for change in given:
        name, equals, value = change.partition("=")
        if not equals:
            raise Invalid(f"{change!r} is not NAME=VALUE, like max_hours=48")
        name = name.strip()
        changes[name] = SUBSCRIPTION[name].read(value) if name in SUBSCRIPTION else value
    return changes
