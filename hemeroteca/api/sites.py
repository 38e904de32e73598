"""/sites: how the pages of one host are visited and compared, and what was learned to be noise there."""

from typing import Annotated, Any, Literal

import msgspec
from django.conf import settings
from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.accounts.models import Role
from hemeroteca.api import access
from hemeroteca.archive import noise as learned
from hemeroteca.frontier import services
from hemeroteca.frontier.values import SiteSettings

router = Router()

HostName = Annotated[str, Path(max_length=255, description="Host name, like example.org.")]
Pattern = Annotated[str, Field(min_length=1, max_length=1000)]
Patterns = Annotated[list[Pattern], Field(max_length=100)]


class SiteIn(Schema):
    """What is left out stays as it is; null returns to the default."""

    delay: float | None = Field(None, ge=0, le=86_400, description="Seconds between two requests; null: adaptive.")
    ignore_robots: bool | None = Field(None, description="Visit what robots.txt forbids.")
    paused: bool | None = Field(None, description="Visit nothing there.")
    render: Literal["auto", "always", "never"] | None = Field(None, description="Which pages a browser opens.")
    visits_per_day: int | None = Field(
        None, ge=0, le=1_000_000_000, description="Most visits of watched pages; 0: any."
    )
    bytes_per_day: int | None = Field(None, ge=0, le=1 << 50, description="The same in bytes received.")
    threshold: float | None = Field(None, gt=0, lt=1, description="F(μ): a change is important above it; null: 0.05.")
    ignore: Patterns | None = Field(None, description="CSS selectors or XPath of parts that do not count.")
    keep: Patterns | None = Field(None, description="CSS selectors or XPath; when given, only these parts count.")
    ignore_text: Patterns | None = Field(None, description="Expressions (RE2) for text that does not count.")


class SiteOut(Schema):
    host: str = Field(description="Host name.")
    delay: float | None = Field(description="Seconds between two requests; null: adaptive.")
    ignore_robots: bool = Field(description="What robots.txt forbids is visited.")
    paused: bool = Field(description="Nothing is visited there.")
    render: str = Field(description="Which pages a browser opens: auto, always, never.")
    visits_per_day: int = Field(description="Most visits of watched pages; 0: any.")
    bytes_per_day: int = Field(description="The same in bytes received.")
    threshold: float | None = Field(description="F(μ): a change is important above it; null: 0.05.")
    ignore: list[str] = Field(description="Parts that do not count.")
    keep: list[str] = Field(description="The only parts that count; empty: all.")
    ignore_text: list[str] = Field(description="Text that does not count.")
    noise: list[str] = Field(description="Parts of its pages learned to differ at every visit; they do not count.")


@router.get("/{host}", response=SiteOut, auth=access.editor, summary="Settings of a site")
def site(request: HttpRequest, host: HostName) -> dict[str, Any]:
    try:
        return _out(host, services.site(host))
    except services.OrderError as error:
        raise Http404(str(error))


@router.patch("/{host}", response=SiteOut, auth=access.editor, summary="Change settings of a site")
def set_site(request: HttpRequest, host: HostName, wanted: SiteIn) -> dict[str, Any]:
    changes = wanted.dict(exclude_unset=True)
    hurry = changes.get("delay") is not None and changes["delay"] < settings.CONFIG.delay
    if changes.get("ignore_robots") or hurry:
        request.auth.require(Role.ADMINISTRATOR, "Ignoring robots.txt or hurrying")  # type: ignore[attr-defined]
    try:
        return _out(host, services.set_site(host, changes))
    except services.OrderError as error:
        raise HttpError(422, str(error))


@router.delete("/{host}/noise", response={204: None}, auth=access.editor, summary="Forget the learned noise of a site")
def forget_noise(request: HttpRequest, host: HostName) -> tuple[int, None]:
    if not learned.forget(_name(host)):
        raise Http404(f"Nothing was learned of {host}.")
    return 204, None


def _out(host: str, site: SiteSettings) -> dict[str, Any]:
    """Logins and proxies are not told, and cannot be set here: whoever has the machine sets them."""
    return {**msgspec.structs.asdict(site), "host": _name(host), "noise": learned.load(_name(host)).noisy()}


def _name(host: str) -> str:
    return host.strip().lower().rstrip(".")
