"""Errors that a person meets: something was asked for and is not done.

Services raise them; the API answers them as problem details, the console as pages, commands as one line and an exit
code. A message names the thing, the reason and the next step. `code` is for programs and does not change.
"""

import errno
import re
from pathlib import Path
from typing import ClassVar


class Refused(Exception):  # noqa: N818 - what happened, in the word of the design
    """The base of all of them."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        if code:
            self.code = code  # type: ignore[misc]  # a case of its own among those of the class


class NotFound(Refused):
    """There is no such thing."""

    code = "not-found"


class Invalid(Refused):
    """What was given cannot be used: wrong, missing, out of range; with the code of `NotFound`, it names what is not
    there."""

    code = "invalid"


class Conflict(Refused):
    """It cannot be done as things stand now: it exists already, has ended, is under way."""

    code = "conflict"


class Denied(Refused):
    """Whoever asks may not do this."""

    code = "denied"


class Busy(Refused):
    """Too much of this is being done already; ask again in a moment."""

    code = "busy"


class Unavailable(Refused):
    """A part of the system cannot answer now; ask again later."""

    code = "unavailable"


class CannotWrite(Refused):
    """A file that somebody named cannot be written."""

    def __init__(self, target: Path, error: OSError) -> None:
        place, reason = Path(error.filename or target).parent, error.strerror or str(error)
        super().__init__(
            f"cannot write {target}: {reason} ({place}); name another place, or make room and rights there"
        )


def is_disk_full(error: BaseException) -> bool:
    """Whether there was no room to write. SQLite tells that in words."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "disk is full" in str(error)


def in_words(error: Exception) -> str:
    """What msgspec says of a value that does not fit, for people: `delta of tuning must be a number of at most 1`."""
    said, _, path = str(error).partition(" - at `$")
    names = [
        f"number {int(number) + 1}" if number else "a value" if some else name
        for name, number, some in _STEP.findall(path)
    ]
    place = " of ".join(reversed(names))
    if found := _WRONG_KIND(said):
        kind = " or ".join(_KINDS.get(one, one) for one in found[1].split(" | "))
        bound = {">=": " of at least ", "<=": " of at most "}.get(found[2] or "", "") + f"{float(found[3] or 0):g}"
        given = f", not {_GIVEN.get(found[4], found[4])}" if found[4] else ""
        return f"{place or 'it'} must be {kind}{bound if found[2] else ''}{given}"
    if found := _WRONG_FIELD(said):
        where = f" in {place}" if place else ""
        return f"there is no {found[2]!r}{where}" if found[1] else f"{found[2]!r} is missing{where}"
    return f"{place} cannot be {said.partition('enum value ')[2]}" if "enum value" in said else str(error)


_STEP = re.compile(r"\.(\w+)|\[(?:(\d+)|(\.\.\.))\]")
_WRONG_KIND = re.compile(r"Expected `([^`]+)`(?: (>=|<=) ([-\d.]+))?(?:, got `(\w+)`)?").fullmatch
_WRONG_FIELD = re.compile(r"Object (?:contains (unknown)|missing required) field `([^`]*)`").fullmatch
_KINDS = {
    "object": "a table of names and values",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "nothing",
}
_GIVEN = {**_KINDS, "float": "one with decimals"}
