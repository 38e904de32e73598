"""Which results of a query are shown, and the cursors that lead from one page of them to the next."""

import base64

import msgspec
import numpy as np

from hemeroteca.search.notes import Note

MOST_RESULTS = 1000  # that can be reached by paging
HALF = 0xFFFFFFFF  # of a key: enough to tell results apart


class Wanted(msgspec.Struct, frozen=True):
    """Which results: `limit` of them after the first `offset`."""

    limit: int
    offset: int
    start: int  # place of the first of them among those that were not shown
    shown: frozenset[int]  # lower halves of keys of results on the pages before

    @property
    def end(self) -> int:
        return self.offset + self.limit


def write_cursor(offset: int, shown: list[int]) -> str:
    """What was shown travels with the cursor, so that nothing is shown twice while the index changes."""
    packed = msgspec.msgpack.encode((1, offset, np.array(shown[-MOST_RESULTS:], dtype="<u4").tobytes()))
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def read_cursor(cursor: str, notes: list[str]) -> tuple[int, frozenset[int]]:
    try:
        packed = base64.urlsafe_b64decode(cursor[:10_000] + "=" * (-len(cursor) % 4))
        version, offset, shown = msgspec.msgpack.decode(packed, type=tuple[int, int, bytes])
        if version != 1 or not 0 <= offset <= MOST_RESULTS or len(shown) % 4:
            raise ValueError(cursor)
    except (ValueError, msgspec.MsgspecError):
        notes.append(Note("the page asked for is not known; this is the first one"))
        return 0, frozenset()
    return offset, frozenset(np.frombuffer(shown, dtype="<u4").tolist())
