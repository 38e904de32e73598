"""`hemeroteca backup`: a copy of the data folder that is whole, also while the system runs."""

from pathlib import Path
from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.job import Background, run_job


def backup(
    target: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    with_key: Annotated[
        bool, typer.Option(help="Copy secret.key too; whoever has the copy can then open it all.")
    ] = False,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Copy the data folder, also while the system runs. The copy is an instance of its own."""
    common.setup(must_exist=True)
    from hemeroteca.engine.job_kinds import Backup
    from hemeroteca.instance.backup import BackupReport

    report = run_job("instance.backup", Backup(str(target.absolute()), with_key), BackupReport, json, background)
    if json:
        common.tell(report)
    else:
        typer.echo(f"{common.counted(report.files, 'file')}, {common.size(report.bytes)} in {target}")
        if not with_key:
            typer.echo(
                "Without secret.key: keep a copy of it apart, once, and put it into the folder before the copy is "
                "started first. Else the passwords of sites and channels must be typed in again."
            )
