"""How somebody wants pages shown: language, time zone, results on a page, where titles lead, colours.

Kept with the account; a stranger's travels in a cookie. Whatever is kept is checked when it is read.
"""

from functools import cache
from typing import Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

import msgspec

from hemeroteca.errors import Invalid, in_words

COOKIE = "hemeroteca_display"
Language = Literal["", "es", "en"]
PageSize = Literal[10, 20, 50, 100]
Titles = Literal["", "archive", "live"]
Theme = Literal["", "light", "dark"]
PAGE_SIZES: tuple[int, ...] = get_args(PageSize)


class Display(msgspec.Struct, frozen=True, omit_defaults=True):
    language: Language = ""  # empty: what the browser asks for
    time_zone: str = ""  # a name of the IANA database; empty: that of the browser
    page_size: PageSize = 10  # results on a page of search
    titles: Titles = ""  # where the title of a result leads; empty: as the instance is set
    theme: Theme = ""  # empty: that of the system

    @property
    def zone(self) -> ZoneInfo | None:
        return zone_of(self.time_zone)

    def opens_live(self, usual: bool) -> bool:
        """Whether the title of a result leads to the live page."""
        return self.titles == "live" if self.titles else usual


def read(kept: object) -> Display:
    """What was kept; the usual in place of anything that cannot be."""
    try:
        return checked(kept)
    except Invalid:
        return Display()


def read_cookie(text: str) -> Display:
    try:
        return read(msgspec.json.decode(text[:1000]))
    except (msgspec.MsgspecError, UnicodeError):
        return Display()


def write_cookie(display: Display) -> str:
    return msgspec.json.encode(display).decode()


def checked(given: object) -> Display:
    """Raises Invalid, which names the field."""
    try:
        display = msgspec.convert(given, Display)
    except msgspec.ValidationError as error:
        raise Invalid(f"this cannot be chosen: {in_words(error)}")
    if display.time_zone and display.zone is None:
        raise Invalid(f"there is no time zone {display.time_zone[:60]!r}; write one like America/Caracas")
    return display


@cache
def zone_names() -> tuple[str, ...]:
    """Those that people live in: a continent and a city."""
    kept = ("Africa/", "America/", "Antarctica/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
    return ("UTC", *sorted(name for name in available_timezones() if name.startswith(kept)))


def zone_of(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if 0 < len(name) <= 64 and name.isascii() else None
    except (KeyError, ValueError, OSError):  # not found, no key, a folder of them
        return None
