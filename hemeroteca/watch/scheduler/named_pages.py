"""Pages nobody knows but a signal: how many a source may name, learned from how many of them were there."""

from dataclasses import dataclass

from hemeroteca.watch.scheduler.state import State

NAMED = 10_000  # on their way at a time
PER_HOUR = 500  # visits of unknown pages that a source may bring about in an hour, when all it named were there …
UNPROVEN = 100  # … and as long as nothing is known of it
LEAST = 5  # one that lied may show that it does no longer
PROVEN = 20  # named pages that were looked for, from which on their share counts


@dataclass
class _Record:
    right: int = 0
    wrong: int = 0
    brought: int = 0  # since …
    since: float = 0.0


class NamedPages:
    def __init__(self, state: State) -> None:
        self._state = state
        self._named: dict[int, int] = {}  # page → source
        self._records: dict[int, _Record] = {}

    def __contains__(self, key: int) -> bool:
        return key in self._named

    def take(self, key: int, source: int, now: float) -> bool:
        """Whether an unknown page is looked for because this source named it."""
        record = self._records.setdefault(source, _Record())
        if not 0 <= now - record.since < 3600:
            record.brought, record.since = 0, now
        if record.brought >= _most(record):
            return False
        record.brought += 1
        self._named[key] = source
        if len(self._named) > NAMED:
            del self._named[next(iter(self._named))]
        return True

    def settle(self, key: int, there: bool) -> None:
        """It was looked for."""
        source = self._named.pop(key)
        record = self._records.setdefault(source, _Record())
        record.right += there
        record.wrong += not there
        self._state.records.verdict(source, "right" if there else "wrong")


def _most(record: _Record) -> float:
    looked = record.right + record.wrong
    if looked < PROVEN:
        return UNPROVEN
    return max(PER_HOUR * record.right / looked, LEAST)
