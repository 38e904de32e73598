"""Signs that this is no time or place to work: battery, a busy machine, a network that lies, sites that refuse us.
Where a sign cannot be read on this system, it says nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from hemeroteca.fleet.device.caps import Caps
from hemeroteca.fleet.device.records import Answer

REST_SECONDS = 3600.0
REFUSALS = 3  # of unrelated hosts …
REFUSAL_SECONDS = 600.0  # … within so long: they do not want this address
CHALLENGES = (b"cf-challenge", b"captcha", b"challenge-platform", b"are you a robot", b"unusual traffic")


def machine(caps: Caps) -> str:
    """Why the machine itself should be left alone now."""
    if not caps.on_battery and on_battery():
        return "the machine runs on its battery"
    if caps.max_load and hasattr(os, "getloadavg") and os.getloadavg()[0] / (os.cpu_count() or 1) > caps.max_load:
        return "the machine is busy with something else"
    if not caps.on_metered and is_metered():
        return "the network is paid by volume"
    return ""


def on_battery() -> bool:
    supplies = Path("/sys/class/power_supply")
    try:
        kinds = {one: (one / "type").read_text().strip() for one in supplies.iterdir()}
        mains = [one for one, kind in kinds.items() if kind in ("Mains", "USB")]
        batteries = [one for one, kind in kinds.items() if kind == "Battery"]
        plugged = any((one / "online").read_text().strip() == "1" for one in mains)
        return (
            bool(batteries)
            and any((b / "status").read_text().strip() == "Discharging" for b in batteries)
            and not plugged
        )
    except OSError:
        return False


def is_metered() -> bool:
    """As NetworkManager says, where it is."""
    try:
        told = subprocess.run(
            ["nmcli", "-t", "-f", "GENERAL.METERED", "dev", "show"],
            capture_output=True,
            text=True,
            timeout=3,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return any(line.endswith(":yes") for line in told.stdout.splitlines())


def network(resolve: Callable[..., object] = socket.getaddrinfo) -> str:
    """Whether names that cannot exist have addresses: a captive portal, or a name server that lies."""
    for name in (f"no-such-name-{os.urandom(6).hex()}.invalid", f"x{os.urandom(8).hex()}.example.invalid"):
        try:
            resolve(name, 80, type=socket.SOCK_STREAM)
        except OSError:
            continue
        return "this network answers for names that do not exist (a captive portal, or a name server that lies)"
    return ""


def intercepted(answer: Answer) -> str:
    """Whether an answer shows that somebody stands between: TLS that nobody signed."""
    told = answer.detail.lower()
    if answer.failure == "tls" and (("self" in told and "signed" in told) or "unable to get local issuer" in told):
        return "TLS is intercepted on this network"
    return ""


class Refusals:
    """403, 429 and challenges. Three of unrelated hosts in a short time: the device rests, its owner is told."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, str]] = deque()
        self._until = 0.0

    def note(self, host: str, answer: Answer) -> None:
        blocked = answer.status in (403, 429) or (
            answer.status == 503 and any(mark in answer.body[:20_000].lower() for mark in CHALLENGES)
        )
        if not blocked:
            return
        now = self._clock()
        self._seen.append((now, _site(host)))
        while self._seen and self._seen[0][0] < now - REFUSAL_SECONDS:
            self._seen.popleft()
        if len({site for _, site in self._seen}) >= REFUSALS:
            self._until = now + REST_SECONDS
            self._seen.clear()

    @property
    def reason(self) -> str:
        left = self._until - self._clock()
        return f"sites refuse this address; it rests for {left / 60:.0f} min" if left > 0 else ""


def _site(host: str) -> str:
    """What is one party, roughly: the last two labels."""
    return ".".join(host.split(".")[-2:])
