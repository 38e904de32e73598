"""Signs that this is no time or place to work: battery, a busy machine, a network that lies, sites that refuse us.
Where a sign cannot be read on this system, it says nothing."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from hemeroteca.fleet.device.caps import Caps
from hemeroteca.fleet.device.result_file import FetchedUrl

LOOK_SECONDS = 15.0  # between looks at the machine
REST_SECONDS = 3600.0
TAMPERED_SECONDS = 900.0
REFUSALS = 3  # of unrelated hosts …
REFUSAL_SECONDS = 600.0  # … within so long: they do not want this address
CHALLENGES = (b"cf-challenge", b"captcha", b"challenge-platform", b"are you a robot", b"unusual traffic")


class Machine:
    """Why the machine itself should be left alone now. Looked at now and then: a sign may cost a process."""

    def __init__(self, caps: Caps, clock: Callable[[], float] = time.monotonic) -> None:
        self._caps = caps
        self._clock = clock
        self._due = 0.0
        self._why = ""

    @property
    def reason(self) -> str:
        now = self._clock()
        if now >= self._due:
            self._due = now + LOOK_SECONDS
            self._why = self._look()
        return self._why

    def _look(self) -> str:
        caps = self._caps
        if not caps.on_battery and on_battery():
            return "the machine runs on its battery"
        if caps.max_load and hasattr(os, "getloadavg") and os.getloadavg()[0] / (os.cpu_count() or 1) > caps.max_load:
            return f"the machine is busy with something else (a load above {caps.max_load:g} per core: --max-load)"
        if not caps.on_metered and is_metered():
            return "the network is paid by volume"
        return ""


def on_battery(system: str = sys.platform, supplies: Path = Path("/sys/class/power_supply")) -> bool:
    if system == "darwin":
        return "'Battery Power'" in _output("pmset", "-g", "batt")
    if system == "win32":
        import ctypes

        power = (ctypes.c_ubyte * 12)()  # SYSTEM_POWER_STATUS; its first byte: 0 no mains, 1 mains, 255 unknown
        known = ctypes.windll.kernel32.GetSystemPowerStatus(ctypes.byref(power))  # type: ignore[attr-defined]
        return bool(known) and power[0] == 0
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
        return '"status": "DISCHARGING"' in _output("termux-battery-status")  # Android tells nobody else


def is_metered() -> bool:
    """As NetworkManager says or guesses, where it is."""
    output = _output("nmcli", "-t", "-f", "GENERAL.METERED", "dev", "show")
    return any(line.partition(":")[2].startswith("yes") for line in output.splitlines())


def _output(*command: str) -> str:
    """What a program of the system says; nothing where it is not."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=3, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def network(resolve: Callable[..., object] = socket.getaddrinfo) -> str:
    """Whether names that cannot exist have addresses: a captive portal, or a name server that lies."""
    for name in (f"no-such-name-{os.urandom(6).hex()}.invalid", f"x{os.urandom(8).hex()}.example.invalid"):
        try:
            resolve(name, 80, type=socket.SOCK_STREAM)
        except OSError:
            continue
        return "this network answers for names that do not exist (a captive portal, or a name server that lies)"
    return ""


def intercepted(answer: FetchedUrl) -> str:
    """Whether an answer shows that somebody stands between: TLS that nobody signed."""
    detail = answer.detail.lower()
    if answer.failure == "tls" and (
        ("self" in detail and "signed" in detail) or "unable to get local issuer" in detail
    ):
        return "TLS is intercepted on this network"
    return ""


class Tampering:
    """Somebody stands between this device and the sites: TLS that nobody signed, everything leads to one place, or a
    portal that says so. Seen at three unrelated sites, the device takes no work for a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, str, str]] = deque()  # when, at which site, what
        self._until = 0.0
        self._why = ""

    def note(self, host: str, answer: FetchedUrl) -> bool:
        """Whether this answer settles it: what was brought lately is not to be trusted."""
        what = "a portal wants to be answered first" if answer.status == 511 else intercepted(answer)
        here = _site(host)
        if not what and 300 <= answer.status < 400:
            there = _site(urlsplit(answer.header("location")).hostname or "")
            what = f"everything leads to {there}" if there and there != here else ""
        if not what:
            return False
        now = self._clock()
        self._seen.append((now, here, what))
        while self._seen[0][0] < now - REFUSAL_SECONDS:
            self._seen.popleft()
        if answer.status != 511 and len({site for _, site, found in self._seen if found == what}) < REFUSALS:
            return False
        self._until, self._why = now + TAMPERED_SECONDS, what
        self._seen.clear()
        return True

    @property
    def reason(self) -> str:
        return self._why if self._until > self._clock() else ""


class Refusals:
    """403, 429 and challenges. Three of unrelated hosts in a short time: the device rests, its owner is output."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, str]] = deque()
        self._until = 0.0

    def note(self, host: str, answer: FetchedUrl) -> None:
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
