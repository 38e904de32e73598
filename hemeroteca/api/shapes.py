"""What shapes of the API have in common: bodies that refuse unknown fields, lists in parts, fields by name."""

import base64
import binascii
import json
from typing import Annotated, Any, Generic, TypeVar

from ninja import Query, Schema
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

Item = TypeVar("Item")
Shape = TypeVar("Shape", bound=Schema)

Limit = Annotated[int, Query(ge=1, le=1000, description="Most items in one answer.")]
Cursor = Annotated[str, Query(max_length=400, description="`next_cursor` of the answer before; empty: the beginning.")]


class Body(Schema):
    """What a caller sends. A field that does not exist is a mistake, not something to pass over."""

    model_config = ConfigDict(extra="forbid")


class Listing(Schema, Generic[Item]):
    items: list[Item] = Field(description="This part of the list.")
    next_cursor: str | None = Field(description="Give it as `cursor` to get what follows; null at the end.")


def filled(shape: type[Shape], source: object, **given: Any) -> Shape:
    """Every field that is not given is the source's attribute of that name."""
    same = {name: getattr(source, name) for name in shape.model_fields if name not in given}
    return shape(**same, **given)


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
