"""`hemeroteca user`: the people who may sign in."""

import secrets
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.accounts import Role
from hemeroteca.cli.common import Data, Json, actor, setup, stamp, tell

app = typer.Typer(no_args_is_help=True, help="People who may sign in, and their roles.")

Name = Annotated[str, typer.Argument(help="Name to sign in with.")]
Password = Annotated[
    str | None,
    typer.Option(help="`-` reads it from standard input; without this option a random one is made and printed."),
]


@app.command()
def add(
    name: Name,
    role: Annotated[Role, typer.Option(help="What the person may do.")] = Role.READER,
    password: Password = None,
    data: Data = None,
) -> None:
    """Let somebody sign in."""
    setup(data)
    from hemeroteca.accounts import services

    chosen, shown = _choose(password)
    user = services.add_user(actor(), name, role, chosen)
    typer.echo(f"{user.name} ({user.role}) can sign in" + (f" with the password {chosen}" if shown else ""))


@app.command("list")
def listing(data: Data = None, json: Json = False) -> None:
    """Show who may sign in."""
    setup(data)
    from hemeroteca.accounts import services

    people = services.users(actor())
    if json:
        for user in people:
            row = {"name": user.name, "role": user.role, "active": user.is_active}
            tell({**row, "created_at": user.created, "last_login_at": user.last_login})
        return
    table = Table("name", "role", "may sign in", "created", "last sign-in")
    for user in people:
        active = "yes" if user.is_active else "no"
        table.add_row(user.name, user.role, active, stamp(user.created), stamp(user.last_login) or "never")
    Console().print(table)


@app.command()
def password(name: Name, password: Password = None, data: Data = None) -> None:
    """Set a new password; it also ends the person's sessions."""
    setup(data)
    from hemeroteca.accounts import services

    chosen, shown = _choose(password)
    user = services.set_password(actor(), name, chosen)
    typer.echo(f"{user.name} has a new password" + (f": {chosen}" if shown else ""))


@app.command()
def role(name: Name, role: Annotated[Role, typer.Argument(help="The new one.")], data: Data = None) -> None:
    """Give somebody another role."""
    setup(data)
    from hemeroteca.accounts import services

    typer.echo(f"{name} is {services.change_user(actor(), name, role=role).role} now")


@app.command()
def invite(
    role: Annotated[Role, typer.Option(help="What the person may do.")] = Role.READER,
    days: Annotated[int, typer.Option(min=1, max=365, help="Valid for so many days.")] = 14,
    data: Data = None,
) -> None:
    """Print a link with which one person may make an account."""
    setup(data)
    from hemeroteca.accounts import services
    from hemeroteca.accounts.adapter import own_address

    typer.echo(own_address(services.invite(actor(), role, days=days).path))


@app.command("two-factor-off")
def two_factor_off(name: Name, data: Data = None) -> None:
    """For who lost their device and their codes: the password alone is enough again."""
    setup(data)
    from hemeroteca.accounts import services

    services.drop_two_factor(actor(), name)
    typer.echo(f"{name} signs in with the password alone")


@app.command()
def remove(name: Name, data: Data = None) -> None:
    """Remove somebody, with all their tokens."""
    setup(data)
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
