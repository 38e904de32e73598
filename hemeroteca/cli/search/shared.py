"""What the verbs of search share: opening the index, errors in a line, facts for programs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.config import Config
    from hemeroteca.search.query.clauses import Tagged
    from hemeroteca.search.searcher import Searcher

Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Most results.")]


def open_for(query: str = "", versions: bool = False, create: bool = False) -> "tuple[Config, Searcher, Path]":
    """The index a query is for and the folder of all of them, without Django: a search must start fast."""
    from hemeroteca.instance import Instance
    from hemeroteca.search.index.version_index import choose
    from hemeroteca.search.searcher import open_searcher

    config = common.settings()
    instance = Instance(config.data)
    folder = instance.index_dir
    if create:
        with common.writing(config.data):
            instance.create()
    elif not (folder / "main").exists():
        if any(instance.warc_dir.glob("*.warc.*")):
            common.give_up(f"{config.data} has an archive but no index; `hemeroteca search rebuild` makes it anew")
        common.give_up(f"nothing was indexed yet in {config.data}; begin with `hemeroteca crawl` or name --data")
    with errors_in_a_line():
        return config, open_searcher(config, choose(folder, query, versions or None)), folder


def tagged_for(query: str) -> "Tagged | None":
    """Where `tag:` looks: in the database, which is opened only for a query that has one."""
    from hemeroteca.search.query.parser import asks_for_tags

    if not asks_for_tags(query):
        return None
    common.setup(must_exist=True, rooms=("frontier", "archive"))
    from hemeroteca.archive import notes

    return notes.tagged


def readable(file: Path) -> Path:
    if file.is_dir():
        common.give_up(f"{file} is a folder; name a file in it", common.USAGE)
    if not file.exists():
        common.give_up(f"there is no file {file}", common.USAGE)
    return file


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """Ends with the one line of an error of search, or of the disk, instead of a trace."""
    from hemeroteca.search.index import SearchError

    try:
        yield
    except (SearchError, OSError) as error:
        common.give_up(str(error))
