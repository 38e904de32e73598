"""Waiting for what threads, processes and browsers bring about: for a condition, never for a time.

A wait ends as soon as its condition holds, so its bound costs nothing. It is there for hangs only and far beyond what
the slowest machine needs, yet below pytest's own limit for a test: a hang is told by the wait, which knows what it saw.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

PATIENCE = 240.0  # seconds
PAUSE = 0.02
MAX_PAUSE = 1.0  # twice as long as a look takes: looking must not take the processor from what is awaited

T = TypeVar("T")


def wait_for(
    condition: Callable[[], T], what: str | Callable[[], object] = "", turn: Callable[[], object] | None = None
) -> T:
    """The first true value of `condition`.

    `what` names what is awaited, or says at the end what was seen instead. `turn` lets something work meanwhile (a
    loop of the test's own); without it there is a short pause between two looks.
    """
    begun = time.monotonic()
    end = begun + PATIENCE
    while not (found := condition()):
        now = time.monotonic()
        if now > end:
            said = what if isinstance(what, str) else what()
            raise AssertionError(f"not within {PATIENCE:.0f} s: {said or 'the condition'}")
        if turn is None:
            time.sleep(max(PAUSE, min(2 * (now - begun), MAX_PAUSE)))
        else:
            turn()
        begun = time.monotonic()
    return found


@contextmanager
def held_port() -> Iterator[int]:
    """A port on loopback that no other program gets: connections to it are refused until somebody listens there.

    Whoever opens it with SO_REUSEADDR, as servers do, can listen all the same, because this socket never does.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
