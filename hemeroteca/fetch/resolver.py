"""Host names to addresses: getaddrinfo in a few threads, with a bounded cache of answers and failures.

Threads only look up; everything else happens in the loop's thread, which they wake through `wake`.
"""

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

from hemeroteca.fetch.guard import Guard

Lookup = Callable[[str], Iterable[str]]  # name → addresses; OSError when there are none


class Resolution(NamedTuple):
    """What is known about a name until `expires` (monotonic seconds)."""

    addresses: tuple[str, ...]
    public: tuple[str, ...]  # those the guard lets pass
    refused: list[tuple[str, str]]  # (address, reason)
    error: str
    transient: bool
    expires: float


class Resolver:
    """Answers from the cache at once; asks for others and wakes the loop when they are known."""

    def __init__(
        self,
        wake: Callable[[], None],
        *,
        lookup: Lookup | None = None,
        threads: int = 8,
        seconds: float = 300.0,
        failure_seconds: float = 30.0,
        entries: int = 20_000,
        guard: Guard | None = None,
    ) -> None:
        self._wake = wake
        self._lookup = lookup or system_lookup
        self._most_threads = threads
        self._seconds = seconds
        self._failure_seconds = failure_seconds
        self._entries = entries
        self._guard = guard or Guard()
        self._cache: dict[str, Resolution] = {}
        self._asked: set[str] = set()
        self._questions: SimpleQueue[str | None] = SimpleQueue()
        self._answers: deque[tuple[str, list[str], OSError | None]] = deque()
        self._threads: list[threading.Thread] = []

    def known(self, host: str, now: float) -> Resolution | None:
        """The answer, when it is known and still fresh."""
        answer = self._cache.get(host)
        return answer if answer is not None and answer.expires > now else None

    def ask(self, host: str) -> None:
        """Starts looking up a name, unless that is under way."""
        if host in self._asked:
            return
        self._asked.add(host)
        if len(self._threads) < min(self._most_threads, len(self._asked)):
            # Daemons: nothing can interrupt getaddrinfo, and a slow name server must not delay the program's end.
            thread = threading.Thread(target=self._work, name=f"names-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._questions.put(host)

    def collect(self) -> list[tuple[str, Resolution]]:
        """The answers that came since the last call; they are in the cache now."""
        found = []
        while self._answers:
            host, addresses, error = self._answers.popleft()
            self._asked.discard(host)
            answer = self._judge(addresses, error)
            self._cache.pop(host, None)
            if len(self._cache) >= self._entries:
                del self._cache[next(iter(self._cache))]  # the one asked longest ago
            self._cache[host] = answer
            found.append((host, answer))
        return found

    def close(self) -> None:
        """Lets the threads end; those in a lookup end after it."""
        for _ in self._threads:
            self._questions.put(None)

    def _judge(self, found: list[str], error: OSError | None) -> Resolution:
        addresses, public, refused = [], [], []
        for text in found:
            if "%" in text:  # bound to one interface: never a public address, and libcurl could not be given it
                refused.append((text, "link-local address"))
                continue
            try:
                ip = str(ip_address(text))
            except ValueError:
                continue
            if ip in addresses:
                continue
            addresses.append(ip)
            reason = self._guard.check(ip)
            if reason is None:
                public.append(ip)
            else:
                refused.append((ip, reason))
        message, transient = "", False
        if error is not None:
            message, transient = _explain(error)
        elif not addresses and not refused:
            message = "the name has no address"
        seconds = self._failure_seconds if message else self._seconds
        return Resolution(
            addresses=tuple(addresses),
            public=tuple(public),
            refused=refused,
            error=message,
            transient=transient,
            expires=monotonic() + seconds,
        )

    def _work(self) -> None:
        while (host := self._questions.get()) is not None:
            try:
                self._answers.append((host, list(self._lookup(host)), None))
            except OSError as error:
                self._answers.append((host, [], error))
            except Exception as error:  # an answer is owed in any case
                self._answers.append((host, [], OSError(f"{type(error).__name__}: {error}")))
            self._wake()


def system_lookup(host: str) -> list[str]:
    """The addresses the system's resolver gives, in its order of preference."""
    # bytes: Python's own IDNA step is left out, names are in ASCII already and some real ones would not pass it
    found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(entry[4][0]) for entry in found]


def _explain(error: OSError) -> tuple[str, bool]:
    if isinstance(error, socket.gaierror):
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            return "no such host", False
        if error.errno == socket.EAI_AGAIN:
            return "the name server gave no answer", True
    return str(error.strerror or error), True
