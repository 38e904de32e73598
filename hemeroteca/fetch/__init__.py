"""Fetching over HTTP with libcurl: one thread, many hosts, hard limits, public addresses only.

A `Fetcher` takes a `Request` and gives back a `Result` with the raw heads and the raw body, ready for the archive. It
knows nothing of politeness, robots or databases, and never follows a redirect by itself: the frontier decides that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemeroteca.fetch.body import Body
    from hemeroteca.fetch.fetcher import Fetcher
    from hemeroteca.fetch.guard import Guard
    from hemeroteca.fetch.request import FetchSettings, Request, Result

__all__ = ["Body", "FetchSettings", "Fetcher", "Guard", "Request", "Result"]


def __getattr__(name: str) -> Any:
    """Loaded when asked for: who only reads HTTP heads (`heads`) needs no libcurl."""
    if name not in __all__:
        raise AttributeError(name)
    place = {"Body": "body", "Fetcher": "fetcher", "Guard": "guard"}.get(name, "request")
    return getattr(import_module(f"hemeroteca.fetch.{place}"), name)
