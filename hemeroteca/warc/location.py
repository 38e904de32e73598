"""Where a record lies."""

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from hemeroteca.warc.stored_record import Record


class Location(msgspec.Struct, array_like=True, frozen=True):
    """Where a record lies."""

    folder: str
    name: str
    offset: int
    length: int

    def read(self, max_payload: int | None = None) -> "Record":
        from hemeroteca.warc.stored_record import ANY, read  # only here: many say where a record lies, few read it

        return read(Path(self.folder), self.name, self.offset, self.length, ANY if max_payload is None else max_payload)
