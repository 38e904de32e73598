"""Long and complicated queries take turns, so that short ones are answered at once however many of the others come.

A query made to hurt takes up to a second. Twenty of them at a time would fill every thread of the console and both
processors for as long as somebody sends them. They are answered one after the other, on all processors but one; a few
wait, and who comes after those is told so.
"""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hemeroteca.search.index import SearchError

LONG = 300  # characters
MANY = 8  # operators
WAITING = 3  # queries; each holds a thread of the console, which has eight
SECONDS = 5.0  # they wait at most
_OPERATOR = re.compile(r"[\w]:|[\"“«(|]|(?<!\S)[-+!]|\.\.")
_PATTERN = re.compile(r"[*~]")


class TooManyError(SearchError):
    """Too many queries that take long are being answered."""


class Throttle:
    def __init__(self, at_once: int, waiting: int = WAITING, seconds: float = SECONDS) -> None:
        self._free = threading.Semaphore(at_once)
        self._places = threading.Semaphore(at_once + waiting)
        self._seconds = seconds

    @contextmanager
    def turn_for(self, query: str) -> Iterator[None]:
        """Wait for a turn if the query may take long. Raises TooManyError."""
        if not takes_long(query):
            yield
            return
        if not self._places.acquire(blocking=False):
            raise TooManyError(_TOO_MANY)
        try:
            if not self._free.acquire(timeout=self._seconds):
                raise TooManyError(_TOO_MANY)
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._places.release()


_TOO_MANY = "many long or complicated queries are being answered; ask this one again in a moment, or make it shorter"


def takes_long(query: str) -> bool:
    """Whether a query may take long: by its length and operators, before anything of it is read."""
    return len(query) > LONG or _PATTERN.search(query) is not None or len(_OPERATOR.findall(query)) > MANY


THROTTLE = Throttle(max(1, (os.cpu_count() or 1) - 1))
