"""Fetching over HTTP with libcurl: one thread, many hosts, hard limits, public addresses only.

A `Fetcher` takes a `Request` and gives back a `Result` with the raw heads and the raw body, ready for the archive. It
knows nothing of politeness, robots or databases, and never follows a redirect by itself: the frontier decides that.
"""

from typing import TYPE_CHECKING

from hemeroteca.lazy import lazily

if TYPE_CHECKING:
    from hemeroteca.fetch.body import Body
    from hemeroteca.fetch.fetcher import Fetcher
    from hemeroteca.fetch.guard import Guard
    from hemeroteca.fetch.request import FetchSettings, Request, Result
else:  # who only reads HTTP heads (`heads`) needs no libcurl
    __getattr__ = lazily(
        __name__, body="Body", fetcher="Fetcher", guard="Guard", request="FetchSettings Request Result"
    )

__all__ = ["Body", "FetchSettings", "Fetcher", "Guard", "Request", "Result"]
