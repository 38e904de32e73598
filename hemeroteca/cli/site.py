"""`hemeroteca site`: settings of one host, kept in the database."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.frontier.values import SiteSettings

app = typer.Typer(no_args_is_help=True)


@app.command("set")
def set_(
    host: Annotated[str, typer.Argument(help="Host name, like example.org.")],
    changes: Annotated[list[str], typer.Argument(metavar="NAME=VALUE…", help="An empty value returns to the default.")],
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Set a host's delay, ignore_robots, allow_private, insecure, proxy, username, password, paused, render, include
    and exclude (elements that hold its text or do not: `exclude=aside; div[class=teaser]`)."""
    values: dict[str, str | None] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            common.give_up(f"{change!r} is not NAME=VALUE, like delay=2.5", common.USAGE)
        values[name.strip()] = value if value != "" else None
    common.setup(data)
    from hemeroteca.frontier import services

    try:
        settings = services.set_site(host, values)
    except services.OrderError as error:
        common.give_up(str(error), common.USAGE)
    _print(host, settings, json)


@app.command("show")
def show(
    host: Annotated[str, typer.Argument(help="Host name, like example.org.")],
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Show the settings of a host (a password is not shown)."""
    common.setup(data, must_exist=True)
    from hemeroteca.frontier import services

    try:
        _print(host, services.site(host), json)
    except services.OrderError as error:
        common.give_up(str(error))


def _print(host: str, settings: "SiteSettings", json: bool) -> None:
    import msgspec

    shown = msgspec.structs.asdict(settings)
    if shown["password"]:
        shown["password"] = "(set)"  # noqa: S105 it hides one
    if json:
        sys.stdout.write(msgspec.json.encode({"host": host, **shown}).decode() + "\n")
        return
    for name, value in shown.items():
        typer.echo(f"{name:<14} {'' if value is None else value}")
