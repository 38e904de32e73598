"""/sites: how the pages of one host are visited, read and compared, and what was learned to be noise there."""

from typing import Annotated, Any, Literal

import msgspec
from django.http import HttpRequest
from ninja import Path, Schema
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.shapes import RequestBody
from hemeroteca.archive import learned_noise
from hemeroteca.frontier import services
from hemeroteca.frontier.site_settings import SiteSettings

HostName = Annotated[str, Path(max_length=255, description="Host name, like example.org.")]
Selectors = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=100)]
Patterns = Annotated[list[Annotated[str, Field(min_length=1, max_length=1000)]], Field(max_length=100)]


class SiteEdit(RequestBody):
    """What is left out stays as it is; null returns to the default."""

    include: Selectors | None = Field(None, description="Elements that hold its text, as `div[id=content]`; `*` any.")
    exclude: Selectors | None = Field(None, description="Elements that never do, as `aside` or `*[class=advert*]`.")
    origins: Selectors | None = Field(
        None, description="scheme://host[:port] that login, allow_private and insecure are for; administrators only."
    )
    paused: bool | None = Field(None, description="It is not visited for now.")
    render: Literal["auto", "always", "never"] | None = Field(None, description="Which pages a browser opens.")
    visits_per_day: int | None = Field(None, ge=0, le=1_000_000_000, description="Most visits a day of watched pages.")
    bytes_per_day: int | None = Field(None, ge=0, le=1 << 50, description="The same in bytes received.")
    threshold: float | None = Field(None, gt=0, lt=1, description="F(μ): a change is important above it; null: 0.05.")
    ignore: Patterns | None = Field(None, description="CSS selectors or XPath of parts that do not count.")
    keep: Patterns | None = Field(None, description="CSS selectors or XPath; when given, only these parts count.")
    ignore_text: Patterns | None = Field(None, description="Expressions (RE2) for text that does not count.")
    delay: float | None = Field(None, ge=0, le=86_400, description="Seconds between requests; administrators only.")
    ignore_robots: bool | None = Field(None, description="Do not ask robots.txt; administrators only.")
    allow_private: bool | None = Field(None, description="It may be a private address; administrators only.")
    insecure: bool | None = Field(None, description="Accept broken certificates; administrators only.")
    proxy: str | None = Field(None, max_length=500, description="Proxy for it; administrators only.")
    username: str | None = Field(None, max_length=200, description="Name to sign in with; administrators only.")
    password: str | None = Field(None, max_length=200, description="Password for that; administrators only.")


class SiteOut(Schema):
    host: str = Field(description="Host name.")
    include: list[str] = Field(description="Elements that hold its text; empty: found by themselves.")
    exclude: list[str] = Field(description="Elements that never do, besides navigation and the like.")
    origins: list[str] = Field(description="Origins that those are for; empty: https, and http without a login.")
    paused: bool = Field(description="It is not visited for now.")
    render: Literal["auto", "always", "never"] = Field(description="Which pages a browser opens.")
    visits_per_day: int = Field(description="Most visits a day of watched pages; 0: no limit of its own.")
    bytes_per_day: int = Field(description="The same in bytes received.")
    threshold: float | None = Field(description="F(μ): a change is important above it; null: 0.05.")
    ignore: list[str] = Field(description="Parts that do not count as a change.")
    keep: list[str] = Field(description="The only parts that count; empty: all.")
    ignore_text: list[str] = Field(description="Text that does not count.")
    noise: list[str] = Field(description="Parts of its pages learned to differ at every visit; they do not count.")
    delay: float | None = Field(description="Seconds between requests; null: adaptive.")
    ignore_robots: bool = Field(description="robots.txt is not asked.")
    allow_private: bool = Field(description="It may be a private address.")
    insecure: bool = Field(description="Broken certificates are accepted.")
    proxy: str = Field(description="Whether it has a proxy of its own: `set` or empty.")
    username: str = Field(description="Name it is signed in with.")
    password: str = Field(description="Whether there is one: `set` or empty.")


def site(request: HttpRequest, host: HostName) -> SiteOut:
    return _out(host, services.site(access.caller(request), host))


def set_site(request: HttpRequest, host: HostName, given: SiteEdit) -> SiteOut:
    """Text is read by new rules from the next visit on; `hemeroteca search rebuild` reads all pages again."""
    return _out(host, services.set_site(access.caller(request), host, given.dict(exclude_unset=True)))


def forget_noise(request: HttpRequest, host: HostName) -> None:
    learned_noise.forget(access.caller(request), _name(host))


def _out(host: str, settings: SiteSettings) -> SiteOut:
    values: dict[str, Any] = msgspec.structs.asdict(settings)
    for secret in ("proxy", "password"):
        values[secret] = "set" if values[secret] else ""
    return SiteOut(host=_name(host), noise=learned_noise.load(_name(host)).noisy(), **values)


def _name(host: str) -> str:
    return host.strip().lower().rstrip(".")
