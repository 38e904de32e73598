"""What shapes of the API have in common: bodies that refuse unknown fields, lists in parts, fields by name."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from ninja import Query, Schema
from ninja.errors import HttpError
from ninja.renderers import JSONRenderer
from ninja.responses import NinjaJSONEncoder
from pydantic import ConfigDict, Field

from hemeroteca.warc.timestamps import moment

Item = TypeVar("Item")
Shape = TypeVar("Shape", bound=Schema)

Limit = Annotated[int, Query(ge=1, le=1000, description="Most items in one answer.")]
Cursor = Annotated[str, Query(max_length=400, description="`next_cursor` of the answer before; empty: the beginning.")]


class AnswerEncoder(NinjaJSONEncoder):
    """Times have the shape they have in `--json` of the commands: `2026-01-31T12:00:00.000Z`, also on a full second."""

    def default(self, o: Any) -> Any:
        if isinstance(o, datetime):
            return o.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return super().default(o)


class JsonAnswers(JSONRenderer):
    encoder_class = AnswerEncoder


class RequestBody(Schema):
    """What a caller sends. A field that does not exist is a mistake, not something to pass over."""

    model_config = ConfigDict(extra="forbid")


class Listing(Schema, Generic[Item]):
    items: list[Item] = Field(description="This part of the list.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get what follows; null at the end.")


def filled(shape: type[Shape], source: object, **given: Any) -> Shape:
    """Every field that is not given is the source's attribute of that name; a time `…_at` is its `…_ms`."""
    same = {name: _value(source, name) for name in shape.model_fields if name not in given}
    return shape(**same, **given)


def listing(
    found: Sequence[Any],
    limit: int,
    out: Callable[[Any], Shape],
    position: Callable[[Any], Sequence[int]] = lambda row: (row.pk,),
) -> Listing[Any]:
    """A part of a list, of which one more was looked for than is shown."""
    after = write_cursor(*position(found[limit - 1])) if len(found) > limit else None
    return Listing[Any](items=[out(row) for row in found[:limit]], next_cursor=after)


def before(cursor: str) -> int | None:
    """The number of the last row that was shown."""
    position = read_cursor(cursor, 1)
    return position[0] if position else None


def write_cursor(*position: int) -> str:
    """An opaque text that says where the next part of a list begins."""
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def read_cursor(cursor: str, length: int) -> list[int] | None:
    """The position a cursor stands for, or None for the beginning."""
    if not cursor:
        return None
    try:
        position: Any = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        position = None
    if (
        not isinstance(position, list)
        or len(position) != length
        or not all(isinstance(part, int) and not isinstance(part, bool) and abs(part) < 1 << 63 for part in position)
    ):
        raise HttpError(400, "This cursor is not one of ours; begin again without it.")
    return position


def _value(source: object, name: str) -> Any:
    return moment(getattr(source, f"{name[:-2]}ms")) if name.endswith("_at") else getattr(source, name)
