"""What Tantivy's own list of segments says, without Tantivy: a command that only counts starts in half the time."""

from pathlib import Path

import msgspec


class Deletes(msgspec.Struct):
    num_deleted_docs: int


class Segment(msgspec.Struct):
    max_doc: int
    deletes: Deletes | None = None


class Meta(msgspec.Struct):
    segments: list[Segment]


def count(folder: Path) -> int:
    """Documents of the last commit; 0 where there is no index, or one that cannot be read."""
    return sum(segment.max_doc for segment in _segments(folder)) - deleted(folder)


def deleted(folder: Path) -> int:
    """Documents that are deleted and still lie in the files: their segments were not merged since."""
    return sum(segment.deletes.num_deleted_docs for segment in _segments(folder) if segment.deletes)


def _segments(folder: Path) -> list[Segment]:
    try:
        return msgspec.json.decode((folder / "meta.json").read_bytes(), type=Meta).segments
    except (OSError, msgspec.MsgspecError):
        return []
