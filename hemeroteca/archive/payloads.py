"""Which payloads the archive has already: decided here, for crawls and imports alike."""

from collections.abc import Iterable

from hemeroteca.archive import queries
from hemeroteca.archive.capture_rows import NewCapture
from hemeroteca.warc import Capture, Original, keys


class Payloads:
    """Captures that hold a payload whole: committed ones, and those about to be."""

    def __init__(self) -> None:
        self._pending: dict[str, Original] = {}

    def originals(self, digests: Iterable[str]) -> dict[str, Original]:
        """For each of these digests that the archive has: the capture that holds it."""
        wanted = set(digests)
        known = {digest: self._pending[digest] for digest in wanted if digest in self._pending}
        return queries.originals(wanted - known.keys()) | known

    def original(self, digest: str) -> Original | None:
        return self.originals([digest]).get(digest) if digest else None

    def note(self, row: NewCapture) -> None:
        """A capture that is not committed yet. Not one that is cut, nor the answer to a POST, which no reader of a
        revisit would ask for."""
        if row.kind == "response" and not row.truncated and keys.MARK not in row.urlkey:
            self._pending[row.digest] = Original(row.record_id, row.url, row.captured_ms, row.digest)

    def clear(self) -> None:
        """What was noted is committed."""
        self._pending.clear()


def may_repeat(capture: Capture) -> bool:
    """Whether it may be kept as a revisit of a capture with the same payload: not when it is empty, cut, or the answer
    to a POST, or no HTTP."""
    return bool(capture.size and capture.response_head and not capture.truncated) and capture.filed == capture.url
