"""/notes and /tags: what people wrote about pages, and the words they gave them."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.archive import notes

Url = Annotated[str, Query(min_length=1, max_length=8192, description="Address of the page.")]
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the note.")]


class NoteIn(RequestBody):
    url: str = Field(min_length=1, max_length=8192, description="Address of the page.")
    text: str = Field(min_length=1, max_length=notes.MAX_NOTE, description="For people, plain text.")


class TagsIn(RequestBody):
    url: str = Field(min_length=1, max_length=8192, description="Address of the page.")
    tags: list[str] = Field(max_length=notes.MAX_TAGS, description="All its tags from now on.")


class NoteOut(Schema):
    id: int = Field(description="Number of the note.")
    url: str = Field(description="Address of the page.")
    text: str = Field(description="What was written.")
    actor: str = Field(description="Who wrote it.")
    made_at: datetime | None = Field(description="When.")


class NotedOut(Schema):
    url: str = Field(description="Address of the page.")
    tags: list[str] = Field(description="Its tags.")
    notes: list[NoteOut] = Field(description="Its notes, newest first.")


class FoundOut(Schema):
    url: str = Field(description="Address of the page.")
    tags: list[str] = Field(description="Its tags.")
    notes: int = Field(description="How many notes it has.")
    last_at: datetime | None = Field(description="When it was last tagged or noted.")


class TagOut(Schema):
    tag: str = Field(description="The word.")
    pages: int = Field(description="How many pages have it.")


def of_page(request: HttpRequest, url: Url) -> NotedOut:
    return _of(url)


def find(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=500, description="Words of a note, a tag or the address.")] = "",
    tag: Annotated[str, Query(max_length=60, description="Only pages with this tag.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="Most pages in the answer.")] = 50,
    offset: Annotated[int, Query(ge=0, le=100_000, description="Pages to leave out at the beginning.")] = 0,
) -> list[FoundOut]:
    """The last noted first."""
    return [filled(FoundOut, one, tags=list(one.tags)) for one in notes.find(q, tag, limit, offset)]


def tags(request: HttpRequest) -> list[TagOut]:
    """The most used first."""
    return [TagOut(tag=tag, pages=pages) for tag, pages in notes.tags(1000)]


def set_tags(request: HttpRequest, order: TagsIn) -> NotedOut:
    notes.set_tags(access.caller(request), order.url, order.tags)
    return _of(order.url)


def add(request: HttpRequest, order: NoteIn) -> NoteOut:
    return _note(notes.add_note(access.caller(request), order.url, order.text))


def remove(request: HttpRequest, number: Number) -> None:
    """Of who wrote it, or an administrator."""
    notes.remove_note(access.caller(request), number)


def _of(url: str) -> NotedOut:
    return NotedOut(url=url, tags=notes.tags_of(url), notes=[_note(note) for note in notes.notes_of(url)])


def _note(row: Any) -> NoteOut:
    return filled(NoteOut, row, id=row.pk)
