"""What a process uses of the machine, and how it gives memory back.

Peaks are read from /proc where it exists: `ru_maxrss` of a process also counts the memory of the one that started it
(Linux keeps it across `exec`), so a small engine started by a large program would look large.
"""

import ctypes
import gc
import os
import resource
import sys

TRIM_THRESHOLD = 4 << 20  # what a giant page needed goes back to the system …
MMAP_THRESHOLD = 1 << 20  # … but not what every page needs: to map it anew costs more than to use it


def return_memory(arenas: int) -> None:
    """From now on; with glibc, which else keeps what was needed once, and a heap for each thread beyond `arenas`."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-1, TRIM_THRESHOLD)  # the numbers of malloc.h
        libc.mallopt(-3, MMAP_THRESHOLD)
        libc.mallopt(-8, arenas)


def begin_work() -> None:
    """Modules are loaded, and they stay: from now on garbage is collected, without looking at them again."""
    gc.freeze()
    gc.set_threshold(20_000)


def resident_bytes(pid: int) -> int:
    """Memory of a process now; 0 when it is gone or cannot be asked."""
    return _status(pid, "VmRSS:")


def peak_bytes(pid: int) -> int:
    """The most memory a process has had; 0 when it is gone or cannot be asked."""
    return _status(pid, "VmHWM:")


def own_peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_bytes(os.getpid()) or (peak if sys.platform == "darwin" else peak * 1024)


def own_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far; 0 when it is gone or cannot be asked."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int, name: str) -> int:
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0
