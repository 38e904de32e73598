"""`hemeroteca archive verify|stats|prune|offload`: files checked, counted, thinned out, brought elsewhere."""

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.cli.archive.shared import SHOWN, Urls, format_of, moment, select
from hemeroteca.cli.common import (
    USAGE,
    Force,
    Json,
    Verbs,
    actor,
    answer,
    counted,
    give_up,
    growth_line,
    must_be_new,
    outgoing,
    picked,
    printable,
    setup,
    size,
    stamp,
    tell,
    unmarked,
)
from hemeroteca.cli.job import Background, run_job

Period = Literal["day", "week", "month", "year"]


def verify(
    repair: Annotated[bool, typer.Option(help="Correct the index by what the files say.")] = False,
    digests: Annotated[bool, typer.Option(help="Compute every digest again.")] = True,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """Check every record and the index against each other. Exit code 1 when something is wrong.

    With --repair a lost database is made anew from the WARC files.
    """
    setup(must_exist=True, at_least="warc" if repair else "hemeroteca.sqlite3")
    from hemeroteca.archive.verify import Verification
    from hemeroteca.engine.job_kinds import Verify

    kind = "archive.repair" if repair else "archive.verify"
    report = run_job(kind, Verify(digests), Verification, as_json, background)
    if as_json:
        tell({**asdict(report), "sound": report.sound})
    else:
        for trouble in report.troubles:
            mark = "repaired: " if trouble.repaired else ""
            typer.echo(printable(f"{trouble.file} at {trouble.offset}: {mark}{trouble.reason}"))
        if report.unlisted:
            typer.echo(f"… and {report.unlisted} more")
        typer.echo(
            f"{counted(report.files, 'file')}, {counted(report.records, 'record')}, "
            f"{counted(report.captures, 'capture')}, {size(report.bytes)}: "
            + ("all is well" if report.sound else f"{len(report.troubles) + report.unlisted} troubles")
        )
        if report.added:
            typer.echo(
                f"{report.added} captures were added to the index; `hemeroteca search rebuild`, or the next start of "
                "`hemeroteca serve`, makes them findable",
                err=True,
            )
        if not report.sound and not repair:
            typer.echo("what is wrong in the index only can be corrected with --repair", err=True)
    if not report.sound:
        raise typer.Exit(1)


def stats(as_json: Json = False) -> None:
    """What the archive holds, in numbers."""
    setup(must_exist=True)
    from hemeroteca.archive.stats import stats as count
    from hemeroteca.warc.timestamps import moment as moment_of

    found = count()
    if as_json:
        tell(found)
        return
    table = Table(show_header=False)
    table.add_row("captures", f"{found.captures:,}")
    table.add_row("versions", f"{found.versions:,}")
    table.add_row("addresses", f"{found.addresses:,}")
    table.add_row("first, last", f"{stamp(moment_of(found.first_ms))} – {stamp(moment_of(found.last_ms))}")
    table.add_row("received", size(found.received_bytes))
    table.add_row("not stored again", f"{size(found.repeated_bytes)} in {found.revisits:,} revisits")
    table.add_row("files", f"{found.files} with {size(found.file_bytes)}")
    for one in found.growth:
        table.add_row(f"next {one.days} days", growth_line(one))
    table.add_row("by year", ", ".join(f"{year}: {count:,}" for year, count in found.years.items()))
    table.add_row("by status", ", ".join(f"{status}: {count:,}" for status, count in found.statuses.items()))
    by_type = ", ".join(f"{mime}: {count:,}" for mime, count in list(found.media_types.items())[:10])
    table.add_row("by type", unmarked(by_type))
    Console().print(table)


def prune(
    urls: Urls = None,
    older_than: Annotated[str, typer.Option(help="Captures before this time may go: 2026, 2026-01-31, …")] = "",
    one_per: Annotated[Period | None, typer.Option(help="All but one capture of a page in each may go.")] = None,
    keep_newest: Annotated[int, typer.Option(min=1, help="Captures of each page that stay in any case.")] = 1,
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without this it is only said what would go.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go; so it is without --yes.")] = False,
    report: Annotated[
        Path | None,
        typer.Option(help="List each capture that goes in this file: .csv or .jsonl (JSON lines); - prints them."),
    ] = None,
    force: Force = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """Let go of captures that brought nothing new. Every version stays."""
    if yes and dry_run:
        give_up("--yes and --dry-run say the opposite; leave one out", USAGE)
    printed = str(report) == "-"
    if printed and (as_json or background):
        give_up("--report - prints the list; leave --json and --background away", USAGE)
    if report is not None and not printed and format_of(report) not in ("csv", "json"):
        give_up(f"{report} is to be a list; name it .csv or .jsonl", USAGE)
    must_be_new(report, force)
    setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.archive import prune as pruning
    from hemeroteca.archive.export import listed_in
    from hemeroteca.archive.job_kinds import Prune

    if not older_than and not one_per:
        give_up("say what may go: --older-than DATE or --one-per day|week|month|year", USAGE)
    rules = pruning.Retention(moment(older_than) if older_than else None, one_per or "", keep_newest)
    selection = select(urls, "", "", False)
    with outgoing(report, True, ".jsonl") if report is not None else nullcontext() as file:
        if yes:
            order = Prune(selection, rules, str(file.absolute()) if file else "")
            done = run_job("archive.prune", order, pruning.Pruned, as_json, background)
        else:
            with listed_in(file) as tell_each:
                done = pruning.prune(settings.INSTANCE.warc_dir, selection, rules, True, tell_each)
    if as_json:
        tell({**asdict(done), "dry_run": not yes})
    elif not printed:
        for url, count in list(done.pages.items())[:SHOWN]:
            typer.echo(printable(f"{count:6} of {url}"))
        if len(done.pages) > SHOWN:
            typer.echo(f"… and of {len(done.pages) - SHOWN} more addresses; --report FILE lists every capture")
        verb = "let go" if yes else "would go (--yes does it)"
        typer.echo(
            f"{done.captures} of {counted(done.looked_at, 'capture')}, {size(done.bytes)} and their requests, in "
            f"{counted(done.files, 'file')}: {verb}; every version stays"
        )


Match = Literal["exact", "prefix", "host", "domain"]


def erase(
    urls: Urls = None,
    capture: Annotated[str, typer.Option(help="Only this capture (its id) and those that repeat it there.")] = "",
    match: Annotated[Match, typer.Option(help="What belongs to an address.")] = "exact",
    since: Annotated[str, typer.Option("--from", help="Captures from this time on: 2026, 20260131.")] = "",
    until: Annotated[str, typer.Option("--to", help="Captures up to this time.")] = "",
    reason: Annotated[str, typer.Option(help="Who asked for it, and why; it stays in the audit.")] = "",
    keep_out: Annotated[
        bool | None, typer.Option(help="Also take it down: nothing captures it again. By default for whole addresses.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it. Without this it is only said what would go.")] = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """Erase pages or a capture for good: out of search, index, WARC files and the object store.

    Whole addresses are taken down too: crawls and imports leave them out until `archive takedown lift`. Backups,
    downloads and other archives are not reached. `hemeroteca archive erasures` is the audit.
    """
    setup(must_exist=True)
    from uuid import UUID

    from hemeroteca.archive import erasure
    from hemeroteca.engine.job_kinds import Erase

    try:
        wanted = erasure.ErasureScope(tuple(urls or ()), match, since, until, UUID(capture) if capture else None)
    except ValueError:
        give_up(f"{capture!r} is not the id of a capture; `hemeroteca archive versions URL` lists them", USAGE)
    if not yes:
        found = list(erasure.selected(wanted)) if urls or capture else []
        if as_json:
            tell({"captures": len(found), "bytes": sum(row.length for row in found)})
        else:
            records = size(sum(row.length for row in found))
            typer.echo(f"{len(found)} captures with {records} would be erased; --yes does it")
        return
    row = erasure.ask(actor(), wanted, reason, keep_out)
    done = run_job("archive.erase", Erase(row.pk), erasure.Erased, as_json, background)
    if as_json:
        tell({"erasure": row.pk, **asdict(done)})
        return
    addresses = counted(done.addresses, "address", "addresses")
    typer.echo(f"erasure {row.pk}: {counted(done.captures, 'capture')} of {addresses}, {size(done.bytes)}")
    if done.kept:
        typer.echo(f"{done.kept} captures elsewhere repeated them and now hold the payload themselves")


def erasures(as_json: Json = False) -> None:
    """The audit: what was erased, when, by whom and why."""
    setup(must_exist=True)
    from hemeroteca.archive import erasure
    from hemeroteca.warc.timestamps import iso

    for row in erasure.recent(actor(), 1000):
        what = ", ".join(row.urls) or str(row.capture)
        if as_json:
            facts = picked(row, "actor", "reason", "captures", "addresses", "bytes", "files", "records")
            moments = {"asked_at": iso(row.asked_ms), "done_at": iso(row.done_ms) if row.done_ms else None}
            tell({"id": row.pk, "what": what, **moments, **facts})
        else:
            typer.echo(printable(f"{row.pk}  {iso(row.asked_ms)}  {row.captures} captures  {what}  {row.reason}"))


takedown = Verbs(help="Addresses that are not captured any more, with reason.")


@takedown.command("add", action="archive.erase")
def take_down(
    url: Annotated[str, typer.Argument(help="Address; `example.org/*`: all that begin so; `*.example.org`: a domain.")],
    match: Annotated[Match, typer.Option(help="What belongs to the address.")] = "exact",
    reason: Annotated[str, typer.Option(help="Who asked for it, and why.")] = "",
    as_json: Json = False,
) -> None:
    """Let nothing capture an address again. What is archived stays; `archive erase` takes that out too."""
    setup()
    from hemeroteca.frontier import takedowns

    row = takedowns.take_down(actor(), url, match, reason)
    answer(
        as_json,
        {"id": row.pk, **picked(row, "url", "match", "reason")},
        f"takedown {row.pk}: {row.url} ({row.match}) is not captured any more",
    )


@takedown.command("list", action="archive.erase")
def taken_down(
    lifted: Annotated[bool, typer.Option("--all", help="Also those that were lifted.")] = False, as_json: Json = False
) -> None:
    """Addresses that are not captured, newest first."""
    setup(must_exist=True)
    from hemeroteca.frontier import takedowns
    from hemeroteca.warc.timestamps import iso

    for row in takedowns.listed(actor(), lifted):
        if as_json:
            moments = {"made_at": iso(row.made_ms), "lifted_at": iso(row.lifted_ms) if row.lifted_ms else None}
            tell({"id": row.pk, **picked(row, "url", "match", "reason", "actor", "lifted_by"), **moments})
        else:
            state = f"lifted by {row.lifted_by}" if row.lifted_ms else "holds"
            typer.echo(printable(f"{row.pk}  {iso(row.made_ms)}  {row.url} ({row.match})  {state}  {row.reason}"))


@takedown.command("lift", action="archive.erase")
def lift(number: Annotated[int, typer.Argument(min=1, help="Number of the takedown.")]) -> None:
    """Let an address be captured again."""
    setup(must_exist=True)
    from hemeroteca.frontier import takedowns

    row = takedowns.lift(actor(), number)
    typer.echo(printable(f"{row.url} may be captured again"))


def offload(
    keep_local: Annotated[bool, typer.Option("--keep-local", help="Copy only; the files stay here too.")] = False,
    background: Background = False,
    as_json: Json = False,
) -> None:
    """Bring closed files to the object store that `archive_store` names; they are read from there afterwards."""
    setup(must_exist=True)
    from hemeroteca.archive.job_kinds import Offload, Offloaded

    done = run_job("archive.offload", Offload(keep_local), Offloaded, as_json, background)
    answer(as_json, done, f"{counted(done.files, 'file')}, {size(done.bytes)}")
