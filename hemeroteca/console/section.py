"""A section of the console: its pages with the permissions they need, and what the navigation shows of it.

Each module of pages declares one (`SECTION`); `routes.SECTIONS` lists them in the order of the navigation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponseBase

View = Callable[..., HttpResponseBase]


@dataclass(frozen=True)
class ConsolePage:
    address: str
    name: str
    view: View
    see: str  # the permission to see it, of `accounts.permissions`
    send: str = ""  # the permission to send its form; the services it calls ask for their own besides


@dataclass(frozen=True)
class Section:
    name: str
    label: Any  # in the navigation; empty: not there
    pages: tuple[ConsolePage, ...]
    menu: tuple[tuple[str, Any], ...] = ()  # names of pages with their labels: the second line of the navigation

    @property
    def front(self) -> ConsolePage:
        """Where the navigation leads."""
        return self.pages[0]

    def page(self, name: str) -> ConsolePage:
        return next(page for page in self.pages if page.name == name)
