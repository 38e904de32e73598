"""/publications: collections that everybody may read."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Path, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody, filled
from hemeroteca.watch import publications

Name = Annotated[str, Path(max_length=100, description="Name of the collection.")]


class PublicationIn(RequestBody):
    slug: str = Field("", max_length=60, description="Address under /c/; empty: made of the name.")
    title: str = Field("", max_length=200, description="Heading; empty: the name of the collection.")
    description: str = Field("", max_length=10_000, description="For its readers, plain text.")
    colour: str = Field("", max_length=7, description="Of the heading, #rrggbb; empty: the console's.")


class PublicationOut(Schema):
    collection: str = Field(description="Name of the collection.")
    slug: str = Field(description="Its address is /c/ and this.")
    title: str = Field(description="Heading.")
    description: str = Field(description="For its readers.")
    colour: str = Field(description="Of the heading; empty: the console's.")
    published_at: datetime | None = Field(description="Since when everybody may read it.")


def listing(request: HttpRequest) -> list[PublicationOut]:
    """For everybody, as the collections are."""
    return [_out(row) for row in publications.listed()]


def publish(request: HttpRequest, name: Name, given: PublicationIn) -> PublicationOut:
    """Or change how it is shown. A picture is sent from the page of the console."""
    return _out(publications.publish(access.caller(request), name, **given.dict()))


def unpublish(request: HttpRequest, name: Name) -> None:
    publications.unpublish(access.caller(request), name)


def _out(row: Any) -> PublicationOut:
    return filled(PublicationOut, row, collection=row.collection.name)
