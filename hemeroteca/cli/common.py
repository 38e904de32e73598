"""What the commands share: the data folder made ready, numbers for people, facts for programs, errors as one line."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from hemeroteca import config
from hemeroteca.accounts import SYSTEM, Actor
from hemeroteca.errors import CannotWrite, Denied, Invalid, Refused

Data = Annotated[Path | None, typer.Option("--data", help="Folder that holds everything.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Facts as JSON, for programs.")]

USAGE = 2
NOT_ALLOWED = 77  # EX_NOPERM of sysexits.h
INTERRUPTED = 130
EXIT_CODES = {
    0: "done",
    1: "not done, or something is wrong with what was looked at; the last line says what, and what to do",
    USAGE: "the command or a setting was not understood; nothing was done",
    NOT_ALLOWED: "whoever calls may not do this",
    INTERRUPTED: "ended by Ctrl-C; what was done stays, and the same command or `hemeroteca job resume` goes on",
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def settings(data: Path | None) -> config.Config:
    """The instance's settings, with `--data` in force for everything this process starts."""
    if data is not None:
        os.environ["HEMEROTECA_DATA"] = str(data.absolute())
    try:
        return config.load()
    except config.ConfigError as error:
        give_up(str(error), USAGE)


def setup(
    data: Path | None,
    must_exist: bool = False,
    at_least: str = "hemeroteca.sqlite3",
    rooms: tuple[str, ...] = (),
) -> config.Config:
    """Make Django and the tables ready. With `must_exist`, a folder without an instance is an error.

    `at_least`: what must be there of it. `rooms`: of a command that only reads, the rooms whose tables it reads; the
    others, and Django's own, are not loaded.
    """
    found = settings(data)
    if must_exist and not found.database and not (found.data / at_least).exists():
        if next((found.data / "warc").glob("*.warc*"), None) is not None:
            lost = f"the database of {found.data} is gone, its WARC files are there"
            give_up(f"{lost}; `hemeroteca archive verify --repair` makes it anew from them")
        give_up(f"there is no instance in {found.data}; name its folder with --data, or begin with `hemeroteca crawl`")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    try:
        import django
        from django.conf import settings as django_settings
        from django.db import DatabaseError, OperationalError

        if rooms:
            django_settings.INSTALLED_APPS = [f"hemeroteca.{room}" for room in rooms]
        django.setup()
        from hemeroteca.instance import schema

        schema.prepare()
    except config.ConfigError as error:
        give_up(str(error), USAGE)
    except (OperationalError, OSError) as error:
        give_up(f"the instance in {found.data} cannot be opened ({error}); check the folder's rights and the disk")
    except DatabaseError as error:
        give_up(_damaged(found, error))
    return found


def printable(text: object) -> str:
    """What pages and servers say, without what a terminal would obey: escapes, and marks that turn text around."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", str(text))


def unmarked(text: object) -> str:
    """The same for Rich, which would take `[/x]` for markup."""
    from rich.markup import escape

    return escape(printable(text))


def give_up(message: str, code: int = 1) -> NoReturn:
    """End with one line that names the thing, the reason and the next step."""
    typer.echo(f"hemeroteca: {printable(message)}", err=True)
    raise typer.Exit(code)


def refuse(error: Refused) -> NoReturn:
    """End with what a service refused to do."""
    give_up(str(error), USAGE if isinstance(error, Invalid) else NOT_ALLOWED if isinstance(error, Denied) else 1)


def actor() -> Actor:
    """Who gives a command: whoever can read the data folder on this machine may do everything."""
    return SYSTEM


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """What cannot be written ends with its name and the reason, not with a trace."""
    try:
        yield
    except OSError as error:
        refuse(CannotWrite(target, error))


def tell(facts: object) -> None:
    """Facts as one line of JSON."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(facts, enc_hook=str).decode() + "\n")


def size(count: float) -> str:
    """Bytes for people: 1.5 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def stamp(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC") if moment else ""


def duration(seconds: float) -> str:
    """Seconds for people: 1 h 02 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _damaged(found: config.Config, error: Exception) -> str:
    if found.database:
        return f"the database cannot be used ({error})"
    path = found.data / "hemeroteca.sqlite3"
    return f"{path} is damaged ({error}); move it away and `hemeroteca archive verify --repair` makes it from the WARCs"
