"""What the commands of `hemeroteca archive` have in common."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hemeroteca.cli.common import USAGE, give_up

if TYPE_CHECKING:
    from hemeroteca.archive.selection import Selection

Urls = Annotated[
    list[str] | None,
    typer.Argument(help="Addresses; `example.org/*` and `*.example.org` mean all that begin so. None: everything."),
]
SHOWN = 30


Format = Literal["warc", "wacz", "csv", "json"]


def select(
    urls: list[str] | None, since: str, until: str, versions_only: bool, collection: str = "", search: str = ""
) -> "Selection":
    from hemeroteca.archive.cdx import CdxError
    from hemeroteca.archive.selection import Selection

    crawls: tuple[int, ...] = ()
    if collection:
        from hemeroteca.watch.queries import crawls_of

        crawls = crawls_of(collection)
    match = "exact" if search else ""
    selection = Selection(
        urls=tuple(urls or ()), match=match, since=since, until=until, versions_only=versions_only, crawls=crawls
    )
    try:
        selection.check()
    except CdxError as error:
        give_up(str(error), USAGE)
    return selection


def moment(text: str) -> int:
    from hemeroteca.warc.timestamps import read_moment

    moment = read_moment(text)
    if moment is None:
        give_up(f"{text!r} is not a time; write for instance 2026-01-31 or 2026-01-31T12:00:00Z", USAGE)
    return moment


def format_of(target: Path) -> Format:
    endings: dict[str, Format] = {
        ".warc.gz": "warc", ".wacz": "wacz", ".csv": "csv", ".json": "json", ".jsonl": "json",
    }  # fmt: skip
    if str(target) == "-":
        give_up("standard output does not tell the format; say --format warc, wacz, csv or json", USAGE)
    found = next((form for ending, form in endings.items() if target.name.endswith(ending)), None)
    if found is None:
        give_up(f"{target} does not tell the format; name it .warc.gz, .wacz, .csv or .jsonl, or use --format", USAGE)
    return found
