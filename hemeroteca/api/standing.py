"""How the instance stands now, cheap enough to be asked by many pages every two seconds.

Counting a frontier of millions takes a while: the counts are kept and counted again so seldom that they cost at most a
tenth of a core, however many people look. The engine's live figures are one small file and always fresh.
"""

import threading
import time
from collections import deque
from typing import NamedTuple

from django.conf import settings

from hemeroteca.engine.overview import Status, status
from hemeroteca.instance.status import EngineStatus, read_engine_status

MIN_AGE = 2.0  # seconds
SHARE = 0.1
SAMPLES = 120
SAMPLE_SECONDS = 2.0


class Standing(NamedTuple):
    status: Status
    engine: EngineStatus | None
    pace: list[float]  # pages per second of the last minutes, oldest first


def now() -> Standing:
    engine = _pace.sample()
    return Standing(_counts.read(), engine, _pace.values())


def watch_pace() -> None:
    """Remember the pace from now on, whether or not somebody looks. For the web process; ends with it."""
    threading.Thread(target=_watch, name="pace", daemon=True).start()


class _Counts:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: Status | None = None
        self._good_until = 0.0

    def read(self) -> Status:
        known = self._known
        if known is not None and time.monotonic() < self._good_until:
            return known
        # One thread counts; the others do not wait for it when they have an older answer.
        if not self._lock.acquire(blocking=known is None):
            assert known is not None
            return known
        try:
            if self._known is not None and time.monotonic() < self._good_until:
                return self._known
            began = time.monotonic()
            self._known = status()
            took = time.monotonic() - began
            self._good_until = time.monotonic() + max(MIN_AGE, took / SHARE)
            return self._known
        finally:
            self._lock.release()

    def forget(self) -> None:
        self._good_until = 0.0


class _Pace:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._samples: deque[float] = deque(maxlen=SAMPLES)
        self._last = 0.0

    def sample(self) -> EngineStatus | None:
        engine = read_engine_status(settings.INSTANCE)
        with self._lock:
            if time.monotonic() - self._last >= SAMPLE_SECONDS * 0.9:
                self._last = time.monotonic()
                self._samples.append(engine.pages_per_second if engine else 0.0)
        return engine

    def values(self) -> list[float]:
        with self._lock:
            return list(self._samples)


_counts = _Counts()
_pace = _Pace()
forget = _counts.forget


def _watch() -> None:
    while True:
        _pace.sample()
        time.sleep(SAMPLE_SECONDS)
