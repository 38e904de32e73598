"""/audit and /favourites: who did what, and the pages somebody keeps for themselves."""

from datetime import datetime
from typing import Annotated

from django.http import HttpRequest
from ninja import Query, Schema
from pydantic import Field

from hemeroteca.accounts import audit, services
from hemeroteca.accounts.models import AuditEntry, Favourite
from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, Listing, RequestBody, before, filled
from hemeroteca.api.shapes import listing as part_of

Address = Annotated[str, Query(min_length=1, max_length=4096, description="Address of the page.")]


class AuditOut(Schema):
    id: int = Field(description="Number of the entry.")
    at: datetime = Field(description="When.")
    who: str = Field(description="Name of who did it, as it was then.")
    act: str = Field(description="What was done.")
    thing: str = Field(description="To what: a name, an address, a number.")
    detail: str = Field(description="More about it: a role, a reason.")
    address: str = Field(description="Network address it came from; empty: a command.")


class FavouriteIn(RequestBody):
    url: str = Field(min_length=1, max_length=4096, description="Address of the page.")
    title: str = Field("", max_length=300, description="What to call it.")


class FavouriteOut(Schema):
    url: str = Field(description="Address of the page.")
    title: str = Field(description="What it is called.")
    created_at: datetime = Field(description="When it was kept.")


def entries(
    request: HttpRequest,
    limit: Limit = 100,
    cursor: Cursor = "",
    who: Annotated[str, Query(max_length=64, description="Only by this person.")] = "",
    act: Annotated[str, Query(max_length=40, description="Only of this kind.")] = "",
    thing: Annotated[str, Query(max_length=300, description="Only about what contains this.")] = "",
    since: Annotated[datetime | None, Query(description="Only from then on.")] = None,
) -> Listing[AuditOut]:
    """Newest first."""
    actor = access.caller(request)
    found = audit.entries(actor, limit + 1, before=before(cursor), who=who, act=act, thing=thing, since=since)
    return part_of(found, limit, _entry_out)


def favourites(request: HttpRequest) -> list[FavouriteOut]:
    """Of whoever asks, the newest first."""
    return [_favourite_out(one) for one in services.favourites(access.caller(request))]


def keep(request: HttpRequest, given: FavouriteIn) -> FavouriteOut:
    return _favourite_out(services.keep_favourite(access.caller(request), given.url, given.title))


def forget(request: HttpRequest, url: Address) -> None:
    services.forget_favourites(access.caller(request), url)


def _entry_out(row: AuditEntry) -> AuditOut:
    return filled(AuditOut, row)


def _favourite_out(row: Favourite) -> FavouriteOut:
    return FavouriteOut(url=row.url, title=row.title, created_at=row.created)
