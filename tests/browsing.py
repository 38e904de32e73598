"""What a browser saw, told with the failure of a test: whoever reads the log of a machine far away has nothing else.

And pages that are left only when they are at rest: a form that was just sent would be sent no more, and a navigation
of the page's own would end the one of the test (`net::ERR_ABORTED`).
"""

import re
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE

PICTURES = Path(__file__).with_name(".failures")
MAX_LINES = 60
MAX_TEXT = 1000


class Witness:
    """Opens the windows of a browser, and remembers what they complain of and what they could not load."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self._make = browser.new_context
        self._lines: deque[str] = deque(maxlen=MAX_LINES)
        browser.new_context = self._new_context

    def _new_context(self, **options: Any) -> Any:
        context = self._make(**options)
        context.set_default_timeout(PATIENCE * 1000)
        context.on("console", lambda message: self._lines.append(f"console {message.type}: {message.text}"))
        context.on("weberror", lambda error: self._lines.append(f"error: {error.error}"))
        context.on("requestfailed", lambda request: self._lines.append(f"failed: {request.url} ({request.failure})"))
        context.on("response", self._on_response)
        make_page = context.new_page
        context.new_page = lambda: steady(make_page())
        return context

    def _on_response(self, response: Any) -> None:
        if response.status >= 400:
            self._lines.append(f"answer {response.status}: {response.url}")

    def forget(self) -> None:
        self._lines.clear()

    def account(self, test: str) -> str:
        """Every page that is open now, in words and as a picture, and what went before."""
        told = []
        for number, page in enumerate(page for context in self._browser.contexts for page in context.pages):
            for frame in page.frames:
                told.append(f"{'page' if frame == page.main_frame else 'frame'} {frame.url}: {_text(frame)}")
            told.append(f"picture: {_picture(page, test, number)}")
        return "\n".join([*told, *self._lines])


def steady(page: Any) -> Any:
    """The page, whose `goto` waits for navigations that are under way, and begins again when one came in between."""
    leave, under_way = page.goto, set()

    def ended(request: Any) -> None:
        under_way.discard(request)

    page.on("request", lambda request: under_way.add(request) if request.is_navigation_request() else None)
    page.on("requestfinished", ended)
    page.on("requestfailed", ended)

    def goto(url: str, **options: Any) -> Any:
        _rest(page, under_way)
        try:
            return leave(url, **options)
        except Exception as error:
            if not re.search("ERR_ABORTED|interrupted by another navigation", str(error)):
                raise
        _rest(page, under_way)
        return leave(url, **options)

    page.goto = goto
    return page


def _rest(page: Any, under_way: set[Any]) -> None:
    """Until no navigation of the page is under way."""
    with suppress(Exception):  # the page may be leaving
        page.evaluate("0")  # what was clicked before has begun by then
    end = time.monotonic() + PATIENCE
    while under_way and not page.is_closed():
        assert time.monotonic() < end, f"never at rest: {[request.url for request in under_way]}"
        page.wait_for_timeout(10)  # lets the browser's events come in


def _text(frame: Any) -> str:
    try:
        return " ".join(frame.locator("body").inner_text(timeout=5000).split())[:MAX_TEXT]
    except Exception as error:  # it must not hide the failure it is to explain
        return f"cannot be read ({str(error).partition(chr(10))[0]})"


def _picture(page: Any, test: str, number: int) -> str:
    file = PICTURES / f"{re.sub(r'[^a-z0-9]+', '-', test.lower()).strip('-')[-100:]}-{number}.png"
    try:
        page.screenshot(path=file, timeout=10_000)
    except Exception as error:
        return f"none ({str(error).partition(chr(10))[0]})"
    return str(file)
