"""`hemeroteca user`: the people who may sign in."""

import secrets
from typing import Annotated, Any

import typer

from hemeroteca.accounts import Role
from hemeroteca.cli.common import Json, Verbs, actor, setup, stamp, tell_all

app = Verbs()

Name = Annotated[str, typer.Argument(help="Name to sign in with.")]
Password = Annotated[
    str | None,
    typer.Option(help="`-` reads it from standard input; without this option a random one is made and printed."),
]


@app.command(action="account.user")
def add(
    name: Name,
    role: Annotated[Role, typer.Option(help="What the person may do.")] = Role.READER,
    password: Password = None,
) -> None:
    """Let somebody sign in."""
    setup()
    from hemeroteca.accounts import services

    chosen, shown = _choose(password)
    user = services.add_user(actor(), name, role, chosen)
    typer.echo(f"{user.name} ({user.role}) can sign in" + (f" with the password {chosen}" if shown else ""))


@app.command("list", action="account.users")
def listing(json: Json = False) -> None:
    """Show who may sign in."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    def cells(user: Any) -> tuple[object, ...]:
        active = "yes" if user.is_active else "no"
        return user.name, user.role, active, stamp(user.created), stamp(user.last_login) or "never"

    def facts(user: Any) -> dict[str, Any]:
        known = {"name": user.name, "role": user.role, "active": user.is_active}
        return {**known, "created_at": user.created, "last_login_at": user.last_login}

    tell_all(services.users(actor()), json, ("name", "role", "may sign in", "created", "last sign-in"), cells, facts)


@app.command(action="account.password")
def password(name: Name, password: Password = None) -> None:
    """Set a new password; it also ends the person's sessions."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    chosen, shown = _choose(password)
    user = services.set_password(actor(), name, chosen)
    typer.echo(f"{user.name} has a new password" + (f": {chosen}" if shown else ""))


@app.command(action="account.user")
def role(name: Name, role: Annotated[Role, typer.Argument(help="The new one.")]) -> None:
    """Give somebody another role."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    typer.echo(f"{name} is {services.change_user(actor(), name, role=role).role} now")


@app.command(action="account.invite")
def invite(
    role: Annotated[Role, typer.Option(help="What the person may do.")] = Role.READER,
    days: Annotated[int, typer.Option(min=1, max=365, help="Valid for so many days.")] = 14,
) -> None:
    """Print a link with which one person may make an account."""
    setup()
    from hemeroteca.accounts import services
    from hemeroteca.instance.public_url import own_address

    typer.echo(own_address(services.invite(actor(), role, days=days).path))


@app.command("two-factor-off", action="account.user")
def two_factor_off(name: Name) -> None:
    """For who lost their device and their codes: the password alone is enough again."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    services.drop_two_factor(actor(), name)
    typer.echo(f"{name} signs in with the password alone")


@app.command(action="account.user")
def remove(name: Name) -> None:
    """Remove somebody, with all their tokens."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    services.remove_user(actor(), name)
    typer.echo(f"{name} can no longer sign in")


def _choose(given: str | None) -> tuple[str, bool]:
    """A password, and whether it must be shown because nobody knows it yet."""
    if given is None:
        return secrets.token_urlsafe(15), True
    if given == "-":
        return typer.get_text_stream("stdin").readline().rstrip("\r\n"), False
    return given, False
