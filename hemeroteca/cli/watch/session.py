"""The instance opened for a command of `hemeroteca watch`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hemeroteca.cli import common


@contextmanager
def watching(data: Path | None, must_exist: bool = False) -> Iterator[Any]:
    """The services, with their errors as one plain line."""
    common.setup(data, must_exist=must_exist)
    from hemeroteca import urls
    from hemeroteca.errors import Denied, Refused
    from hemeroteca.watch import services

    try:
        yield services
    except Denied as error:
        common.refuse(error)
    except (Refused, urls.UrlError) as error:
        common.give_up(str(error), common.USAGE)


def find_owner(name: str) -> Any:
    from hemeroteca.accounts import services

    return services.find_user(name) if name else None
