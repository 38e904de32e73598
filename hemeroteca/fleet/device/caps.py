"""How much of the machine is lent: bandwidth, data in a month, disk, hours, CPU. Bounds of the owner; the coordinator
cannot change them."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Caps:
    bytes_per_second: int = 0  # 0: no limit, as everywhere here
    bytes_per_month: int = 0
    disk_bytes: int = 256 << 20  # of results that wait for their upload
    hours: str = ""  # `22-7`: only then, local time
    cpu_percent: int = 0  # of one core
    on_battery: bool = False
    on_metered: bool = False
    max_load: float = 0.0  # per core; 0: does not matter
    min_delay: float = 0.5  # s between two requests to one host, whatever a block says
    per_network: int = 4  # requests under way to one public network (/24, /48): many hosts may be one machine


class Meter:
    """What was used, remembered between starts in `file`."""

    def __init__(self, caps: Caps, file: Path | None) -> None:
        self.caps = caps
        self._file = file
        self._lock = threading.Lock()
        self._month, self._used = time.strftime("%Y-%m"), 0
        self._tokens, self._at = float(caps.bytes_per_second), time.monotonic()
        self._saved = 0.0
        self._cpu_left, self._cpu, self._cpu_at = 0.0, time.process_time(), time.monotonic()
        if file is not None and file.exists():
            try:
                kept = json.loads(file.read_text("utf-8"))
                if kept.get("month") == self._month:
                    self._used = int(kept.get("used", 0))
            except (ValueError, OSError):
                pass

    @property
    def used(self) -> int:
        return self._used

    def count(self, size: int) -> None:
        """Bytes that came or went."""
        with self._lock:
            month = time.strftime("%Y-%m")
            if month != self._month:
                self._month, self._used = month, 0
            self._used += size
            self._tokens -= size
            if time.monotonic() - self._saved > 10:
                self._save()

    def pause(self) -> float:
        """Seconds to wait before the next request, so that bandwidth and processor time are kept."""
        rate = self.caps.bytes_per_second
        busy = self._cpu_pause()
        if not rate:
            return busy
        with self._lock:
            now = time.monotonic()
            self._tokens = min(float(rate), self._tokens + (now - self._at) * rate)
            self._at = now
            return max(busy, -self._tokens / rate)

    def _cpu_pause(self) -> float:
        """The same, for the processor: at most a second's worth is saved up."""
        share = self.caps.cpu_percent / 100
        if not share:
            return 0.0
        with self._lock:
            now, used = time.monotonic(), time.process_time()
            self._cpu_left = min(share, self._cpu_left + (now - self._cpu_at) * share - (used - self._cpu))
            self._cpu, self._cpu_at = used, now
            return max(0.0, -self._cpu_left / share)

    def reason(self, waiting_bytes: int) -> str:
        """Why no work is taken now; empty when it may be."""
        caps = self.caps
        if caps.bytes_per_month and self._used >= caps.bytes_per_month:
            return "the data of this month are used up"
        if caps.disk_bytes and waiting_bytes >= caps.disk_bytes:
            return "results wait for their upload and fill the room they have"
        if caps.hours and not _within(caps.hours, time.localtime().tm_hour):
            return f"it is not between {caps.hours} o'clock"
        return ""

    def close(self) -> None:
        with self._lock:
            self._save()

    def _save(self) -> None:
        self._saved = time.monotonic()
        if self._file is not None:
            draft = self._file.with_suffix(".new")
            try:
                draft.write_text(json.dumps({"month": self._month, "used": self._used}), "utf-8")
                os.replace(draft, self._file)
            except OSError:
                pass


def begin_and_end(hours: str) -> tuple[int, int]:
    """`22-7` as numbers. Raises ValueError."""
    first, _, last = (part.strip() for part in hours.partition("-"))
    if not (first.isdecimal() and last.isdecimal() and int(first) < 24 and int(last) <= 24 and int(first) != int(last)):
        raise ValueError(f"{hours!r} are no hours of a day; write them like 22-7, from 0 to 24, local time")
    return int(first), int(last)


def _within(hours: str, hour: int) -> bool:
    begin, end = begin_and_end(hours)
    return begin <= hour < end if begin <= end else hour >= begin or hour < end
