"""What `user` and `token` share: the accounts of a data folder, with errors as plain lines."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from hemeroteca.cli import common


class RoleName(StrEnum):
    """The roles, known without loading Django, so that `--help` stays fast."""

    reader = "reader"
    editor = "editor"
    administrator = "administrator"


@contextmanager
def accounts(data: Path | None) -> Iterator[ModuleType]:
    """The services of the accounts room."""
    common.setup(data)
    from hemeroteca.accounts import services

    try:
        yield services
    except services.AccountError as error:
        common.give_up(str(error))


def stamp(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M UTC") if moment else ""
