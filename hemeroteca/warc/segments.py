"""Records that a tool cut into several, because one would have been too long: put together again, across files too.

The first part says what the record is (`WARC-Segment-Number: 1`); `continuation` records bring the rest of its block,
in order, and the last of them says how long the whole is.
"""

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from hemeroteca.warc.stored_record import Record

IN_MEMORY = 1 << 20
MAX_OPEN = 100  # records whose last part has not come yet
NUMBER, ORIGIN, TOTAL = "warc-segment-number", "warc-segment-origin-id", "warc-segment-total-length"


@dataclass
class Segmented:
    """A record as far as its parts have come."""

    record: Record
    file: str
    offset: int
    parts: int = 1
    note: str = ""  # what is wrong with it

    @property
    def name(self) -> str:
        return self.record.headers.get("warc-record-id", "")


class Segments:
    def __init__(self) -> None:
        self._open: dict[str, Segmented] = {}

    def begin(self, record: Record, file: str, offset: int) -> Segmented | None:
        """Keep a first part until the others come; gives one that has waited too long."""
        body = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 - handed on
        record.body.seek(0)
        shutil.copyfileobj(record.body, body)
        found = Segmented(Record(dict(record.headers), record.head, body, record.size, record.missing), file, offset)
        stated = found.record.headers.pop("warc-block-digest", "")  # of the first part alone
        if stated and not record.has_block(stated):
            found.note = f"its first part does not have the digest it states ({stated})"
        waited = self._open.pop(found.name, None)  # the same record again
        self._open[found.name] = found
        if waited is None and len(self._open) > MAX_OPEN:
            waited = self._open.pop(next(iter(self._open)))
        return waited

    def add(self, part: Record, max_payload: int) -> Segmented | str | None:
        """The whole record when this was its last part; a reason when it belongs to nothing that is known."""
        fields = part.headers
        origin, number = fields.get(ORIGIN, ""), fields.get(NUMBER, "")
        found = self._open.get(origin)
        if found is None:
            return f"part {number[:10] or '?'} of {part.url[:200] or 'a record'} is here without its first"
        if number != str(found.parts + 1):
            return f"part {number[:10] or '?'} of {found.record.url[:200]} does not follow its part {found.parts}"
        size = len(part.head) + part.size
        if found.record.size + size > max_payload:
            return f"part {number} of {found.record.url[:200]} makes it longer than {max_payload} bytes"
        if (stated := fields.get("warc-block-digest", "")) and not part.has_block(stated):
            found.note = found.note or f"its part {number} does not have the digest it states ({stated})"
        whole = found.record.body
        whole.seek(0, 2)
        whole.write(part.head)
        part.body.seek(0)
        shutil.copyfileobj(part.body, whole)
        found.record.size += size
        found.record.missing += part.missing
        found.parts += 1
        if TOTAL not in fields:
            return None
        del self._open[origin]
        found.record.headers.pop(NUMBER, None)  # nothing is missing any more
        if (length := str(len(found.record.head) + found.record.size)) != fields[TOTAL]:
            found.note = found.note or f"it has {length} bytes, its last part says {fields[TOTAL][:20]}"
        if truncated := fields.get("warc-truncated"):
            found.record.headers.setdefault("warc-truncated", truncated)
        return found

    def rest(self) -> Iterator[Segmented]:
        """Those whose last part did not come."""
        while self._open:
            yield self._open.pop(next(iter(self._open)))
