"""/preferences: hosts whose results are raised, lowered or never shown."""

from typing import Annotated

from django.conf import settings
from django.http import HttpRequest
from ninja import Path, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.search import SearchError
from hemeroteca.search.preferences import MAX_FACTOR, MIN_FACTOR, load_preferences, prefer
from hemeroteca.search.ranking import Preferences

router = Router()
HostName = Annotated[str, Path(max_length=255, description="Host name, like example.org.")]


class Judged(Schema):
    boosts: dict[str, float] = Field(description="Factors of hosts: above 1 raised, below 1 lowered.")
    blocks: list[str] = Field(description="Hosts never shown, with their subdomains.")


class Judgement(Schema):
    factor: float = Field(
        ge=0, le=MAX_FACTOR, description=f"Above 1 raises, below 1 lowers (least {MIN_FACTOR:g}), 0 blocks."
    )


@router.get("", response=Judged, auth=access.reader, summary="Hosts that were judged")
def preferences(request: HttpRequest) -> Judged:
    try:
        return _out(load_preferences(settings.INSTANCE.index_dir))
    except SearchError as error:
        raise HttpError(503, str(error))


@router.put("/{host}", response=Judged, auth=access.editor, summary="Raise, lower or block a host")
def judge(request: HttpRequest, host: HostName, given: Judgement) -> Judged:
    return _judged(host, given.factor)


@router.delete("/{host}", response=Judged, auth=access.editor, summary="Judge a host like any other again")
def forget(request: HttpRequest, host: HostName) -> Judged:
    return _judged(host, None)


def _judged(host: str, factor: float | None) -> Judged:
    try:
        return _out(prefer(settings.INSTANCE.index_dir, host, factor))
    except SearchError as error:
        raise HttpError(422, str(error))


def _out(now: Preferences) -> Judged:
    return Judged(boosts=dict(now.boosts), blocks=list(now.blocks))
