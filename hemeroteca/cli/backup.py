"""`hemeroteca backup`: a copy of the data folder that is whole, also while the system runs."""

from pathlib import Path
from typing import Annotated

import typer

from hemeroteca.cli import common


def backup(
    target: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Copy the data folder, also while the system runs. Start an instance on the copy with --data."""
    common.setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.instance.backup import BackupError, copy

    try:
        with common.progress_line(quiet=json) as show:
            report = copy(settings.INSTANCE, target, lambda file: show(f"copying {file}"))
    except BackupError as error:
        common.give_up(str(error))
    if json:
        import msgspec

        typer.echo(msgspec.json.encode(report).decode())
    else:
        typer.echo(f"{report.files:,} files, {common.size(report.bytes)} in {target}")
