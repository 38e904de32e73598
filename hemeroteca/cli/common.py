"""What the commands share: the data folder made ready, numbers for people, facts for programs, errors as one line."""

import inspect
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer
from typer.core import TyperCommand
from typer.main import get_params_convertors_ctx_param_name_from_function

from hemeroteca import config
from hemeroteca.accounts import SYSTEM, Actor, PermissionDenied
from hemeroteca.accounts.permissions import may_try
from hemeroteca.errors import CannotWrite, Denied, Invalid, NotFound, Refused
from hemeroteca.instance import Instance
from hemeroteca.outgoing import hand_over

if TYPE_CHECKING:
    from uuid import UUID

    from rich.table import Column

    from hemeroteca.archive.stats import Growth

Row = TypeVar("Row")
Function = TypeVar("Function", bound=Callable[..., Any])

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
MAX_BEGINNING = 60.0  # s after which a command has done more than begin
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Command(TyperCommand):
    """A command: for those who may do what it does. All have `--data`; what is refused ends them with one line and an
    exit code."""

    action: str  # in the table of permissions (`accounts.permissions`)

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.params += _data_option()

    def make_context(self, *given: Any, **more: Any) -> Any:
        if not may_try(actor(), self.action):
            raise PermissionDenied(actor(), self.action)
        context = super().make_context(*given, **more)
        _use_folder(context.params.pop("data", None))
        return context

    def invoke(self, ctx: Any) -> Any:
        beginning = Beginning()
        try:
            return self._do(ctx)
        except typer.Exit as end:
            if end.exit_code == USAGE:
                beginning.take_back()
            raise

    def _do(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Refused as error:
            refuse(error)
        except ValueError as error:
            from hemeroteca.urls import UrlError

            if not isinstance(error, UrlError):
                raise
            give_up(str(error), USAGE)


@cache
def doing(action: str) -> type[Command]:
    """The class of commands that do this."""
    return type("Command", (Command,), {"action": action})


class Verbs(typer.Typer):
    """The commands of a noun."""

    def __init__(self, **options: Any) -> None:
        super().__init__(no_args_is_help=True, **options)

    def command(self, name: str | None = None, *, action: str) -> Callable[[Function], Function]:  # type: ignore[override]
        return super().command(name, cls=doing(action))


def with_options(
    options: Sequence[inspect.Parameter], read: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options too; what `read` makes of their values comes in its parameter `given`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**arguments: Any) -> None:
            function(given=read({option.name: arguments.pop(option.name) for option in options}), **arguments)

        own = [one for one in inspect.signature(function, eval_str=True).parameters.values() if one.name != "given"]
        required = [one for one in own if one.default is one.empty]
        every = [*required, *options, *(one for one in own if one.default is not one.empty)]
        plain = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in every]
        command.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in plain}
        command.__doc__, command.__name__ = function.__doc__, function.__name__
        return command

    return decorate


@cache
def _data_option() -> list[Any]:
    """`--data`, made once for all commands."""
    return list(get_params_convertors_ctx_param_name_from_function(_use_folder)[0])


def _use_folder(
    data: Annotated[Path | None, typer.Option(help="Folder that holds everything.", show_default=False)] = None,
) -> None:
    """Put `--data` in force, for everything this process starts too."""
    if data is not None:
        os.environ["HEMEROTECA_DATA"] = str(Path(data).absolute())


class Beginning:
    """The folders a command may make: of a beginning that came to nothing, what was not there before goes again.

    What somebody uses by now stays: something was captured, an engine is at work, or the command went on for a while.
    """

    def __init__(self, data: Path | None = None) -> None:
        self._until = time.monotonic() + MAX_BEGINNING
        try:
            data = (data or config.load().data).absolute()
            self._new = [folder for folder in (data, *data.parents) if not folder.exists()]  # the innermost first
        except (config.ConfigError, OSError):  # told by whoever needs them
            self._new = []

    def take_back(self) -> None:
        if time.monotonic() > self._until or any(map(_is_used, self._new[:1])):
            return
        for folder in self._new[:1]:
            shutil.rmtree(folder, ignore_errors=True)
        for folder in self._new[1:]:
            with suppress(OSError):  # not there, or somebody else's by now
                folder.rmdir()


def _is_used(data: Path) -> bool:
    if not data.exists():
        return False
    if next((data / "warc").glob("*.warc*"), None) is not None:
        return True
    with suppress(OSError):
        lock = Instance(data).lock_engine()
        if lock is None:
            return True
        lock.close()
    return False


def settings() -> config.Config:
    """The instance's settings."""
    try:
        return config.load()
    except config.ConfigError as error:
        give_up(str(error), USAGE)


def setup(
    must_exist: bool = False,
    at_least: str = "hemeroteca.sqlite3",
    rooms: tuple[str, ...] = (),
    machinery: bool = False,
) -> config.Config:
    """Make Django and the tables ready. With `must_exist`, a folder without an instance is an error.

    `at_least`: what must be there of it. `rooms`: of a command that only reads, the rooms whose tables it reads; the
    others, and Django's own, are not loaded. `machinery`: without what only pages need.
    """
    found = settings()
    if must_exist and not found.database and not (found.data / at_least).exists():
        if next((found.data / "warc").glob("*.warc*"), None) is not None:
            lost = f"the database of {found.data} is gone, its WARC files are there"
            give_up(f"{lost}; `hemeroteca archive verify --repair` makes it anew from them")
        give_up(f"there is no instance in {found.data}; name its folder with --data, or begin with `hemeroteca crawl`")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    try:
        import django
        from django.apps import apps
        from django.db import DatabaseError, OperationalError

        from hemeroteca.instance import schema

        if rooms:
            # without what else `django.setup` does: it loads Django's views for an address prefix we do not have
            apps.populate([f"hemeroteca.{room}" for room in rooms])
        elif machinery:
            schema.load_machinery()
        else:
            django.setup()
        schema.prepare()
    except config.ConfigError as error:
        give_up(str(error), USAGE)
    except Refused as error:
        refuse(error)
    except (OperationalError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        give_up(f"the instance in {found.data} cannot be opened ({reason}); check the folder's rights and the disk")
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


def columns(rows: Sequence[Sequence[str]], header: Sequence[str] = (), caption: str = "") -> None:
    """Print rows one below the other in columns. Rich does it too, and takes longer to load than `status` to run."""
    texts = [[printable(cell).replace("\n", " ") for cell in row] for row in (*([header] if header else []), *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for place, row in enumerate(texts):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        typer.echo(typer.style(line, bold=True) if header and not place else line)
    if caption:
        typer.echo(caption)


def give_up(message: str, code: int = 1) -> NoReturn:
    """End with one line that names the thing, the reason and the next step."""
    typer.echo(f"hemeroteca: {printable(message)}", err=True)
    raise typer.Exit(code)


def refuse(error: Refused) -> NoReturn:
    """End with what a service refused to do. What is not there ends alike, whether it was looked for or only named."""
    misused = isinstance(error, Invalid) and error.code != NotFound.code
    give_up(str(error), USAGE if misused else NOT_ALLOWED if isinstance(error, Denied) else 1)


def say_contact(settings: config.Config, instance: Instance) -> None:
    """Say once that nobody can reach whoever crawls."""
    if not settings.contact and not settings.user_agent and instance.first_time("contact"):
        typer.echo(
            "hemeroteca: the setting `contact` is empty: sites cannot reach you, and some will refuse. Set it to an "
            "address or a page of yours in hemeroteca.toml, or as HEMEROTECA_CONTACT. (This is said once.)",
            err=True,
        )


def actor() -> Actor:
    """Who gives a command: whoever can read the data folder on this machine may do everything."""
    return SYSTEM


Force = Annotated[bool, typer.Option("--force", help="Replace the file if there is one.")]


@contextmanager
def outgoing(target: Path, force: bool, ending: str = "") -> Iterator[Path]:
    """Where to write a file for people: `-` is standard output, and what exists stays unless it may be replaced.

    Whoever writes gets a path in any case: some formats must go back and forth in their file. `ending` is that of the
    path behind `-`.
    """
    if str(target) == "-":
        import tempfile

        with tempfile.TemporaryDirectory(prefix="hemeroteca-") as folder:
            draft = Path(folder) / f"out{ending}"
            yield draft
            with draft.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    must_be_new(target, force)
    with writing(target):
        yield target
        if target.is_file():  # not a job for later, a device, a pipe
            hand_over(target)


def must_be_new(target: Path | None, force: bool) -> None:
    """End, before any work is done, when a file for people would replace another."""
    if target is not None and target.is_file() and not force:
        give_up(f"{target} exists already; name another file, or replace it with --force")


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """What cannot be written ends with its name and the reason, not with a trace."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(target, error)


def tell(facts: object) -> None:
    """Facts as one line of JSON. Every time in it has one shape, `2026-01-31T12:00:00.000Z`; never is null."""
    import msgspec

    plain = msgspec.to_builtins(facts, builtin_types=(datetime,), enc_hook=str)
    sys.stdout.write(msgspec.json.encode(with_times(plain)).decode() + "\n")


def answer(json: bool, facts: object, *lines: str) -> None:
    """Facts for a program, or lines for people."""
    if json:
        tell(facts)
    for line in () if json else lines:
        typer.echo(printable(line))


def by_id(text: str, what: str, listing: str) -> "UUID":
    """The id that somebody typed. What cannot be one is not there, like any other that nothing has."""
    from uuid import UUID

    try:
        return UUID(text)
    except ValueError:
        give_up(f"there is no {what} {text!r}; `hemeroteca {listing}` shows their ids")


def picked(row: object, *names: str) -> dict[str, Any]:
    """These attributes of a row, as facts."""
    return {name: getattr(row, name) for name in names}


def tell_all(
    rows: Iterable[Row],
    json: bool,
    titles: "Sequence[str | Column]",
    cells: Callable[[Row], Iterable[object]],
    facts: Callable[[Row], object] = lambda row: row,
) -> None:
    """Rows as a table for people, or the facts of each as a line of JSON."""
    from rich.console import Console
    from rich.table import Table

    if json:
        for row in rows:
            tell(facts(row))
        return
    table = Table(*titles)
    for row in rows:
        table.add_row(*(unmarked(cell) for cell in cells(row)))
    Console().print(table)


DURATIONS = ("response_ms", "interval_ms", "cost_ms")  # names that end like a moment and are none


def with_times(value: Any) -> Any:
    """Moments as text: datetimes, and what our values call `…_ms` (0: never), which gets the API's name `…_at`."""
    if isinstance(value, datetime):
        return rfc3339(round(value.timestamp() * 1000))
    if isinstance(value, list):
        return [with_times(one) for one in value]
    if not isinstance(value, dict):
        return value
    found: dict[object, object] = {}
    for name, one in value.items():
        if isinstance(name, str) and name.endswith("_ms") and name not in DURATIONS and isinstance(one, int | None):
            found[f"{name[:-3]}_at" if name != "at_ms" else "at"] = rfc3339(one)
        else:
            found[name] = with_times(one)
    return found


def rfc3339(ms: int | None) -> str | None:
    """A time for programs; None for never."""
    if not ms:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def counted(number: int, noun: str, several: str = "") -> str:
    """`1 article`, `2,000 articles`."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def size(count: float) -> str:
    """Bytes for people: 1.5 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def growth_line(growth: "Growth") -> str:
    """What is expected to come, for people."""
    like = "today" if growth.observed_days == 1 else f"in the last {growth.observed_days} days"
    facts = f"{growth.pages:,} new pages, {growth.captures:,} captures, {size(growth.bytes)}"
    return f"about {facts}, if every day is as {like}"


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
