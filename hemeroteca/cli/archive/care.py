"""`hemeroteca archive verify|stats|prune|offload`: files checked, counted, thinned out, brought elsewhere."""

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.cli.archive.shared import SHOWN, Format, Urls, format_of, moment, select
from hemeroteca.cli.common import (
    USAGE,
    Data,
    Force,
    Json,
    give_up,
    growth_line,
    printable,
    refuse,
    setup,
    size,
    stamp,
    tell,
    unmarked,
)
from hemeroteca.cli.job import Background, run_job
from hemeroteca.errors import Refused


class Period(StrEnum):
    day = "day"
    week = "week"
    month = "month"
    year = "year"


def verify(
    repair: Annotated[bool, typer.Option(help="Correct the index by what the files say.")] = False,
    digests: Annotated[bool, typer.Option(help="Compute every digest again.")] = True,
    background: Background = False,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Check every record and the index against each other. Exit code 1 when something is wrong.

    With --repair a lost database is made anew from the WARC files.
    """
    setup(data, must_exist=True, at_least="warc" if repair else "hemeroteca.sqlite3")
    from hemeroteca.archive.verify import Verification
    from hemeroteca.engine.jobs import Verify

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
            f"{report.files} files, {report.records} records, {report.captures} captures, {size(report.bytes)}: "
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


def stats(as_json: Json = False, data: Data = None) -> None:
    """What the archive holds, in numbers."""
    setup(data, must_exist=True)
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
        Path | None, typer.Option(help="List each capture that goes in this file: .csv, or .jsonl (JSON lines).")
    ] = None,
    force: Force = False,
    background: Background = False,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Let go of captures that brought nothing new. Every version stays."""
    if yes and dry_run:
        give_up("--yes and --dry-run say the opposite; leave one out", USAGE)
    if report is not None and report.is_file() and not force:
        give_up(f"{report} exists already; name another file, or replace it with --force")
    if report is not None and format_of(report) not in (Format.csv, Format.json):
        give_up(f"{report} is to be a list; name it .csv or .jsonl", USAGE)
    setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.archive import prune as pruning
    from hemeroteca.archive.export import listed_in
    from hemeroteca.archive.jobs import Prune

    if not older_than and not one_per:
        give_up("say what may go: --older-than DATE or --one-per day|week|month|year", USAGE)
    rules = pruning.Retention(moment(older_than) if older_than else None, one_per.value if one_per else "", keep_newest)
    selection = select(urls, "", "", False)
    if yes:
        order = Prune(selection, rules, str(report.absolute()) if report else "")
        done = run_job("archive.prune", order, pruning.Pruned, as_json, background)
    else:
        try:
            with listed_in(report) as tell_each:
                done = pruning.prune(settings.INSTANCE.warc_dir, selection, rules, True, tell_each)
        except Refused as error:
            refuse(error)
    if as_json:
        tell({**asdict(done), "dry_run": not yes})
    else:
        for url, count in list(done.pages.items())[:SHOWN]:
            typer.echo(printable(f"{count:6} of {url}"))
        if len(done.pages) > SHOWN:
            typer.echo(f"… and of {len(done.pages) - SHOWN} more addresses; --report FILE lists every capture")
        verb = "let go" if yes else "would go (--yes does it)"
        typer.echo(
            f"{done.captures} of {done.looked_at} captures, {size(done.bytes)} in {done.files} files: {verb}; "
            "every version stays"
        )


def offload(
    keep_local: Annotated[bool, typer.Option("--keep-local", help="Copy only; the files stay here too.")] = False,
    background: Background = False,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Bring closed files to the object store that `archive_store` names; they are read from there afterwards."""
    setup(data, must_exist=True)
    from hemeroteca.archive.jobs import Offload, Offloaded

    done = run_job("archive.offload", Offload(keep_local), Offloaded, as_json, background)
    if as_json:
        tell(done)
    else:
        typer.echo(f"{done.files} files, {size(done.bytes)}")
