"""`hemeroteca token`: secrets that let programs use the API in somebody's name."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from hemeroteca.accounts import Role
from hemeroteca.cli.common import Json, Verbs, actor, setup, stamp, tell_all

app = Verbs()


@app.command(action="account.token")
def create(
    user: Annotated[str, typer.Argument(help="Whose name the program acts in.")],
    label: Annotated[str, typer.Option(help="What it is for.")] = "",
    role: Annotated[Role | None, typer.Option(help="The most it may do; default: its owner's role.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="Only this: search, archive, crawl, site, watch, …")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=36500, help="Valid for so many days; default: no end.")] = None,
) -> None:
    """Make a token and print it. It cannot be shown again."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    expires = datetime.now(UTC) + timedelta(days=days) if days else None
    owner = services.find_user(user)
    new = services.create_token(actor(), owner, label, role, expires, scope or ())
    typer.echo(new.secret)
    limits = ", ".join([new.token.role, *new.token.scopes])
    typer.echo(f"for {owner.name} ({limits}); keep it now, only its hash is stored", err=True)


@app.command("list", action="account.tokens")
def listing(json: Json = False) -> None:
    """Show which tokens exist."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    def cells(token: Any) -> tuple[object, ...]:
        may = ", ".join([token.role, *token.scopes])
        times = stamp(token.created), stamp(token.expires) or "no end", stamp(token.last_used) or "never"
        return f"{token.prefix}…", token.label, token.user.name, may, *times

    def facts(token: Any) -> dict[str, Any]:
        known = {"prefix": token.prefix, "label": token.label, "user": token.user.name, "role": token.role}
        times = {"created_at": token.created, "expires_at": token.expires, "last_used_at": token.last_used}
        return {**known, "scopes": token.scopes, **times}

    titles = ("begins with", "label", "user", "may do", "created", "expires", "last used")
    tell_all(services.tokens(actor()), json, titles, cells, facts)


@app.command(action="account.token")
def revoke(
    prefix: Annotated[str, typer.Argument(help="Its first characters, as `hemeroteca token list` shows them.")],
) -> None:
    """End a token at once."""
    setup(must_exist=True)
    from hemeroteca.accounts import services

    services.revoke_token(actor(), prefix)
    typer.echo(f"{prefix} is no longer valid")
