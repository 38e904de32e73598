"""Subscriptions from files and into files: CSV and OPML."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import facts
from hemeroteca.cli.watch.session import find_owner, watching
from hemeroteca.errors import Invalid


def import_(
    file: Annotated[Path, typer.Argument(help="CSV (columns as the options of `add`) or OPML.", exists=True)],
    collection: Annotated[str, typer.Option(help="Collection of lines that name none.")] = "",
    mode: Annotated[str, typer.Option(help="Mode of lines that name none.")] = "auto",
    owner: Annotated[str, typer.Option(help="User they belong to.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Subscribe to everything a file lists; says which lines could not be used and why."""
    with watching(data):
        from hemeroteca.watch import subscription_files

        if file.stat().st_size > subscription_files.MAX_FILE_BYTES:
            most = common.size(subscription_files.MAX_FILE_BYTES)
            raise Invalid(f"{file} is larger than {most}; cut it into parts")
        defaults = {"collection": collection, "mode": mode}
        report = subscription_files.read_file(common.actor(), file.read_bytes(), file.name, find_owner(owner), defaults)
        if json:
            facts.write(asdict(report))
        else:
            for line in report.lines:
                typer.echo(common.printable(f"line {line.number}: {line.outcome} {line.url}  {line.detail}"))
            typer.echo(f"{report.new} new, {report.known} known already, {report.refused} refused")
        if report.refused:
            raise typer.Exit(1)


def export_(
    file: Annotated[
        Path | None, typer.Argument(help="Where to; ends in .opml for OPML. Default: CSV on the screen.")
    ] = None,
    collection: Annotated[str, typer.Option(help="Only of this collection.")] = "",
    data: common.Data = None,
) -> None:
    """Write the subscriptions as CSV or OPML; `watch import` takes both back (OPML holds addresses and names only)."""
    with watching(data, must_exist=True):
        from hemeroteca.watch import queries, subscription_files

        found = queries.subscriptions(subscription_files.MAX_ROWS, collection=collection)
        opml = file is not None and file.suffix.lower() in (".opml", ".xml")
        text = subscription_files.as_opml(found) if opml else subscription_files.as_csv(found)
        if file is None:
            sys.stdout.write(text)
            return
        try:
            file.write_text(text, "utf-8")
        except OSError as error:
            raise Invalid(f"{file} cannot be written ({error.strerror}); choose another place")
        typer.echo(f"{len(found)} subscriptions are in {file}", err=True)
