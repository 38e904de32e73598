"""`hemeroteca config`: every setting, its value and what it is for."""

import typer

from hemeroteca import config as settings
from hemeroteca.cli import common


def config(json: common.Json = False) -> None:
    """Show every setting with its present value (file hemeroteca.toml, environment HEMEROTECA_*)."""
    present = common.settings()
    if json:
        common.tell({name: settings.shown(name, getattr(present, name)) for name, _, _ in settings.describe()})
        return
    for name, default, purpose in settings.describe():
        value = settings.shown(name, getattr(present, name))
        shown = ", ".join(value) if isinstance(value, tuple) else value
        changed = "" if str(value) == default else "  (changed)"
        typer.echo(f"{name} = {shown}{changed}\n    {purpose}")
