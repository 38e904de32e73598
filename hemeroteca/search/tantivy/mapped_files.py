"""How much of a process's memory is files it has mapped.

The engine maps the files of the index and every page it ever read stays with the process until the system is short of
memory: after some thousand queries that is the whole index. The index therefore opens its files anew when they take
more than its bound (`TantivyIndex.reader`): what was read stays in the system's cache and costs microseconds to map
again, but belongs to nobody. Nothing is measured where there is no /proc; there the system alone decides.
"""

import os

DEFAULT_BYTES = 160 << 20
_EVERY = 4  # calls
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = "/proc/self/statm"


class MappedFiles:
    """A bound for the memory of mapped files, program and libraries included."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._limit = bound
        self._calls = 0

    def exceeded(self) -> bool:
        """Whether it is time to let go of what was mapped. Looks every few calls: about a microsecond each."""
        self._calls += 1
        if self._calls % _EVERY:
            return False
        mapped = mapped_bytes()
        if mapped <= self._bound:
            self._limit = self._bound
        return mapped > self._limit

    def released(self) -> None:
        """To be called when it was done: what could not be released must not be tried again at once."""
        self._limit = max(self._bound, mapped_bytes() + self._bound // 2)


def mapped_bytes() -> int:
    """Resident memory that is shared or belongs to files; 0 where the system does not tell."""
    try:
        with open(_STATM, "rb", buffering=0) as file:
            return int(file.read(200).split()[2]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0
