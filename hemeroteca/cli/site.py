"""`hemeroteca site`: settings of one host, kept in the database."""

from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.frontier.site_settings import SiteSettings

app = common.Verbs()

LISTS = ("ignore", "keep", "ignore_text")
Host = Annotated[str, typer.Argument(help="Host name, like example.org.")]


@app.command("set", action="site.change")
def set_(
    host: Host,
    changes: Annotated[list[str], typer.Argument(metavar="NAME=VALUE…", help="An empty value returns to the default.")],
    json: common.Json = False,
) -> None:
    """Set a host's delay, ignore_robots, allow_private, insecure, proxy, username, password (for
    `origins=https://example.org:8443` if not for https at its usual port), paused, render; which
    elements hold its text (include) or do not (`exclude=aside; div[class=teaser]`); and how versions of its pages are
    compared: threshold, ignore, keep, ignore_text (these three may be given several times).
    """
    values: dict[str, str | list[str] | None] = {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            common.give_up(f"{change!r} is not NAME=VALUE, like delay=2.5", common.USAGE)
        name = name.strip()
        given = values.get(name)
        if name in LISTS and value:
            values[name] = [*(given if isinstance(given, list) else ()), value]
        else:
            values[name] = value if value != "" else None
    common.setup()
    from hemeroteca.frontier import services

    _print(host, services.set_site(common.actor(), host, values), json)


@app.command("show", action="site.read")
def show(host: Host, json: common.Json = False) -> None:
    """Show the settings of a host (a password is not shown)."""
    common.setup(must_exist=True)
    from hemeroteca.frontier import services

    _print(host, services.site(common.actor(), host), json)


@app.command("noise", action="site.change")
def noise(
    host: Host,
    forget: Annotated[bool, typer.Option("--forget", help="Let what was learned go; it is learned anew.")] = False,
    json: common.Json = False,
) -> None:
    """The parts of a host's pages that differ at every visit and no longer count as a change."""
    common.setup(must_exist=True)
    from hemeroteca.archive import learned_noise

    name = host.strip().lower().rstrip(".")
    if forget:
        learned_noise.forget(common.actor(), name)
    model = learned_noise.load(name)
    if json:
        common.tell({"host": name, "blocks": len(model.blocks), "noise": model.noisy()})
        return
    for path in model.noisy():
        typer.echo(path)
    if not forget:
        typer.echo(f"{len(model.noisy())} of {len(model.blocks)} parts that were seen to differ", err=True)


def _print(host: str, settings: "SiteSettings", json: bool) -> None:
    import msgspec

    from hemeroteca.frontier.site_settings import SECRETS

    shown = msgspec.structs.asdict(settings)
    shown |= {name: "(set)" for name in SECRETS if shown[name]}
    if json:
        common.tell({"host": host, **shown})
        return
    for name, value in shown.items():
        text = ", ".join(value) if isinstance(value, tuple) else "" if value is None else value
        typer.echo(f"{name:<14} {text}")
