"""What goes into a browser and what comes out, and how both travel between the two processes."""

import struct
from typing import Any, Final

import msgspec

from hemeroteca.fetch.body import Body
from hemeroteca.fetch.request import FetchSettings, Request, Result

HEADER: Final = struct.Struct(">IB")  # length of the msgpack body, kind
SETUP, ORDER, VERDICT, QUESTION, RENDERED, BROKEN = range(6)
MAX_FRAME = 256 << 20


class BrowserSettings(msgspec.Struct, frozen=True):
    """Limits of rendering; what is asked of the network goes by `fetch`."""

    fetch: FetchSettings
    executable: str = ""  # empty: the system's Chromium
    processes: int = 1

    timeout: float = 60.0  # s, a page with all it loads
    settle_seconds: float = 8.0  # longest wait for the network to fall quiet, each time
    quiet_seconds: float = 0.5
    answer_seconds: float = 10.0  # a page that does not answer for so long hangs: its scripts are stopped
    rules_seconds: float = 15.0  # longest wait for the rules of a host the page wants to load from
    scrolls: int = 30
    scroll_height: int = 30_000  # px
    width: int = 1280
    height: int = 1024
    screenshot_height: int = 12_000  # px
    dom_bytes: int = 8 << 20
    text_chars: int = 1_000_000

    page_requests: int = 400
    page_bytes: int = 96 << 20  # of bodies; responses under way when it is reached still come in
    body_bytes: int = 32 << 20  # of anything but the page itself
    connections: int = 24
    host_connections: int = 6

    pages_per_process: int = 50
    memory_bytes: int = 1536 << 20  # of Chromium's processes together
    idle_seconds: float = 60.0


class Rendered(msgspec.Struct, kw_only=True):
    """What became of a page. Whoever gets it calls `discard()`.

    `main` is the answer for the address asked for, `exchanges` everything else the browser asked for, in order of
    completion, refused requests (status 0) included. A redirect, and what is not HTML, is not rendered: there is a
    `main` and no `dom`. With a `failure` the exchanges that took place are here nevertheless.
    """

    request: Request
    main: Result
    exchanges: list[Result] = []
    screenshot: Body
    dom: Body  # HTML in UTF-8, shadow trees unfolded
    text: str = ""
    final_url: str = ""  # where scripts led; the DOM is that page's
    notes: list[str] = []
    failure: str = ""
    detail: str = ""
    transient: bool = False
    started_ms: int = 0
    elapsed: float = 0.0

    @property
    def ok(self) -> bool:
        """The page was answered and, where it is one to be rendered, rendered."""
        return not self.failure

    def bodies(self) -> list[Body]:
        """Everything that may lie on disk."""
        return [self.main.body, *(exchange.body for exchange in self.exchanges), self.screenshot, self.dom]

    def discard(self) -> None:
        """Frees the memory and removes the files."""
        for body in self.bodies():
            body.discard()


class RenderOrder(msgspec.Struct):
    """A page to render."""

    request: Request
    ask: bool  # whether each further address must be asked about


def encode(value: Any) -> bytes:
    """For the other process."""
    return msgspec.msgpack.encode(value, enc_hook=str)  # paths


def decode_settings(data: bytes) -> BrowserSettings:
    """The settings the engine sent."""
    return msgspec.msgpack.decode(data, type=BrowserSettings, dec_hook=lambda kind, value: kind(value))  # paths
