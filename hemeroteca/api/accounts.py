"""/account, /favourites, /people, /invitations and /audit: one's own account, and those of others for whoever may."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Path, Query, Schema
from pydantic import Field

from hemeroteca.accounts import Actor, Role, audit, require, services
from hemeroteca.accounts.adapter import send_invitation
from hemeroteca.accounts.display import Display, Language, PageSize, Theme, Titles, read
from hemeroteca.accounts.models import AuditEntry, Favourite, Invitation, User
from hemeroteca.api import access
from hemeroteca.api.shapes import Cursor, Limit, Listing, RequestBody, before, filled
from hemeroteca.api.shapes import listing as part_of
from hemeroteca.errors import NotFound
from hemeroteca.instance.public_url import own_address
from hemeroteca.search import portal

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


class DisplayOut(Schema):
    language: Language = Field(description="Of pages and mails; empty: what the browser asks for.")
    time_zone: str = Field(description="Name of the IANA database, like America/Caracas; empty: the browser's.")
    page_size: PageSize = Field(description="Results on a page of search.")
    titles: Titles = Field(description="Where the title of a result leads: archive or live; empty: as is usual here.")
    theme: Theme = Field(description="light or dark; empty: that of the system.")


class DisplayIn(RequestBody):
    language: Language | None = Field(None, description="es or en; empty: what the browser asks for.")
    time_zone: str | None = Field(None, max_length=64, description="Like America/Caracas; empty: the browser's.")
    page_size: PageSize | None = Field(None, description="Results on a page of search.")
    titles: Titles | None = Field(None, description="archive or live; empty: as is usual here.")
    theme: Theme | None = Field(None, description="light or dark; empty: that of the system.")


class AccountOut(Schema):
    name: str = Field(description="Name to sign in with.")
    role: Role = Field(description="What the person may do.")
    email: str = Field(description="Where mail goes; may be empty.")
    roles: list[Role] = Field(description="Every one of them must allow what this call's token does.")
    scopes: list[str] = Field(description="The areas this call's token is for; empty: all.")
    created: datetime = Field(description="When the account was made.")
    preferences: DisplayOut = Field(description="How pages are shown.")


class PersonOut(Schema):
    name: str = Field(description="Name to sign in with.")
    role: Role = Field(description="What the person may do.")
    active: bool = Field(description="False: locked out.")
    email: str = Field(description="Where mail goes; may be empty.")
    two_factor: bool = Field(description="Whether a code of an app is asked for besides the password.")
    created: datetime = Field(description="When the account was made.")
    last_login: datetime | None = Field(description="Last sign-in; null never.")


class PersonIn(RequestBody):
    name: str = Field(min_length=1, max_length=64, description="Name to sign in with.")
    role: Role = Field(Role.READER, description="What the person may do.")
    password: str = Field(min_length=1, max_length=1024, description="At least ten characters.")


class PersonChanges(RequestBody):
    role: Role | None = Field(None, description="Another role; null: as before.")
    active: bool | None = Field(None, description="False locks out and ends every session; null: as before.")


class InvitationIn(RequestBody):
    role: Role = Field(Role.READER, description="Role of whoever registers with it.")
    email: str = Field("", max_length=254, description="Where it is sent, if the instance can send mail.")
    days: int = Field(services.INVITATION_DAYS, ge=1, le=365, description="How long it is valid.")


class InvitationOut(Schema):
    id: int = Field(description="Number of the invitation.")
    role: Role = Field(description="Role of whoever registers with it.")
    email: str = Field(description="Where it was sent; may be empty.")
    inviter: str | None = Field(description="Who invited; null: a command.")
    created: datetime = Field(description="When it was made.")
    expires: datetime = Field(description="Not valid from then on.")


class NewInvitationOut(InvitationOut):
    link: str = Field(description="Where to register; shown once, never kept.")
    sent: bool = Field(description="Whether it went out by mail.")


Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the invitation.")]
Name = Annotated[str, Path(max_length=64, description="Name of the person.")]


def own(request: HttpRequest) -> AccountOut:
    actor, user = _person(request)
    return AccountOut(
        name=user.name, role=Role(user.role), email=user.email, roles=list(actor.roles), created=user.created,
        scopes=sorted(actor.scopes or ()), preferences=_display_out(read(user.display)),
    )  # fmt: skip


def display(request: HttpRequest) -> DisplayOut:
    return _display_out(read(_person(request)[1].display))


def set_display(request: HttpRequest, given: DisplayIn) -> DisplayOut:
    """What is not named, or null, stays."""
    changes = {name: value for name, value in given.model_dump().items() if value is not None}
    return _display_out(services.set_display(access.caller(request), **changes))


def history(request: HttpRequest) -> list[str]:
    """What you searched for and found lately, the newest first; nobody else sees it."""
    return portal.history(access.caller(request))


def forget_history(request: HttpRequest) -> None:
    portal.forget_history(access.caller(request))


def people(request: HttpRequest) -> list[PersonOut]:
    """By name."""
    found = services.users(access.caller(request))
    safe = services.with_two_factor(found)
    return [_person_out(user, safe) for user in found]


def person(request: HttpRequest, name: Name) -> PersonOut:
    require(access.caller(request), "account.users")
    user = services.find_user(name)
    return _person_out(user, services.with_two_factor([user]))


def add(request: HttpRequest, given: PersonIn) -> PersonOut:
    return _person_out(services.add_user(access.caller(request), given.name, given.role, given.password), set())


def change(request: HttpRequest, name: Name, given: PersonChanges) -> PersonOut:
    """The last administrator stays one."""
    user = services.change_user(access.caller(request), name, given.role, given.active)
    return _person_out(user, services.with_two_factor([user]))


def invitations(request: HttpRequest) -> list[InvitationOut]:
    """Those that can still be used, the newest first."""
    return [InvitationOut(**_invitation(one)) for one in services.invitations(access.caller(request))]


def invite(request: HttpRequest, given: InvitationIn) -> NewInvitationOut:
    """A link with which one person may register, with this role."""
    actor = access.caller(request)
    made = services.invite(actor, given.role, given.email, given.days)
    sent = send_invitation(actor, made)
    return NewInvitationOut(**_invitation(made.invitation), link=own_address(made.path), sent=sent)


def withdraw(request: HttpRequest, number: Number) -> None:
    services.withdraw_invitation(access.caller(request), number)


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


def forget_all(request: HttpRequest) -> None:
    services.forget_favourites(access.caller(request))


def _person(request: HttpRequest) -> tuple[Actor, User]:
    actor = access.caller(request)
    if actor.user is None:
        raise NotFound("this is a program without a person's account")
    return actor, actor.user


def _display_out(kept: Display) -> DisplayOut:
    return filled(DisplayOut, kept)


def _person_out(user: User, two_factor: set[int]) -> PersonOut:
    return filled(PersonOut, user, active=user.is_active, two_factor=user.pk in two_factor)


def _invitation(row: Invitation) -> dict[str, Any]:
    return {
        "id": row.pk, "role": Role(row.role), "email": row.email, "created": row.created, "expires": row.expires,
        "inviter": row.inviter.name if row.inviter else None,
    }  # fmt: skip


def _entry_out(row: AuditEntry) -> AuditOut:
    return filled(AuditOut, row)


def _favourite_out(row: Favourite) -> FavouriteOut:
    return FavouriteOut(url=row.url, title=row.title, created_at=row.created)
