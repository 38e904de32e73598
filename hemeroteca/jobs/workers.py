"""Names of processes that run jobs, and whether one of this machine still lives.

A name is `machine:pid:start`. Machine is the boot and the space of process numbers (a container has its own), start the
moment at which the process began: numbers are given away again.
"""

import functools
import os
from pathlib import Path


def process_names(count: int) -> list[str]:
    """What the processes are called that `hemeroteca serve` has for jobs."""
    return ["jobs", *(f"jobs-{number}" for number in range(2, max(1, count) + 1))]


def name() -> str:
    pid = os.getpid()
    return f"{machine()}:{pid}:{_start(pid)}"


def is_gone(worker: str) -> bool:
    """Whether a process of this machine has ended; False for one of another machine, whose lease must tell."""
    at, _, process = worker.partition(":")
    pid, _, start = process.partition(":")
    return at == machine() and pid.isdigit() and _start(int(pid)) != start


@functools.cache
def machine() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")[:13]
        return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino:x}"
    except OSError:
        return os.uname().nodename.replace(":", "-")


def _start(pid: int) -> str:
    """When a process began, in ticks since the boot; empty when there is none."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if state in "ZX" else fields[18]
    except OSError:
        pass
    if Path("/proc/self").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "0"
