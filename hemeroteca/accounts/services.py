"""What can be done with people and tokens. The only writer of these tables, whoever asks: page, API or command."""

import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import structs, to_builtins

from hemeroteca import urls
from hemeroteca.accounts import audit, throttle
from hemeroteca.accounts.display import Display
from hemeroteca.accounts.display import checked as checked_display
from hemeroteca.accounts.display import read as read_display
from hemeroteca.accounts.models import ApiToken, Favourite, Invitation, User
from hemeroteca.accounts.permissions import SCOPES, SYSTEM, Actor, Role, covers, require
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound
from hemeroteca.instance.sealed_secrets import digest

if TYPE_CHECKING:
    from allauth.usersessions.models import UserSession

FIRST_ADMINISTRATOR = "admin"
TOKEN_MARK = "hem_"  # noqa: S105 - lets people and secret scanners recognise a leaked token
PREFIX_LENGTH = 12
LAST_USED_STEP = timedelta(minutes=10)  # a read through the API must not become a write each time


KNOWN_COOKIE = "hemeroteca_known"  # says, signed, who has signed in with this browser before
KNOWN_SECONDS = 180 * 86_400
INVITATION_DAYS = 14
MAX_FAVOURITES = 1000


class SignInRefused(Denied):
    """A sign-in that failed; the message is for the person at the keyboard and tells nothing about other accounts."""

    code = "sign-in-failed"


class NewToken(NamedTuple):
    token: ApiToken
    secret: str  # shown once, never kept


class NewInvitation(NamedTuple):
    invitation: Invitation
    path: str  # of the page to register; its secret is shown once, never kept


def ensure_administrator() -> tuple[User, str] | None:
    """On first start make an administrator with a random password; None when there has ever been anybody."""
    with transaction.atomic():
        if User.objects.exists():
            return None
        password = secrets.token_urlsafe(15)
        return add_user(SYSTEM, FIRST_ADMINISTRATOR, Role.ADMINISTRATOR, password), password


def add_user(actor: Actor, name: str, role: Role, password: str) -> User:
    require(actor, "account.user")
    user = User(name=name, role=role)
    user.clean()
    if User.objects.filter(name=user.name).exists():
        raise Conflict(f"there is already a user {user.name!r}; choose another name or change that one")
    _check_password(password, user)
    user.set_password(password)
    try:
        user.full_clean()
    except ValidationError as error:
        raise Invalid(f"{name!r} cannot be a user: {' '.join(error.messages)}")
    user.save()
    audit.note(actor, "user added", user.name, str(user.role))
    return user


def set_password(actor: Actor, name: str, password: str) -> User:
    """A new password; it ends every session of that person (Django signs sessions with the hash)."""
    user = find_user(name)
    require(actor, "account.password", user)
    _check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    throttle.forget(User.spelling(name)[:64])
    audit.note(actor, "password set", user.name)
    return user


def change_password(actor: Actor, user: User, old: str, new: str, address: str) -> User:
    """A person changes their own, and proves with the old one that it is they and not somebody at their desk."""
    require(actor, "account.password", user)
    if throttle.wait(user.name, address, known=True) is not None:
        raise SignInRefused(_("Too many wrong passwords. Try again in %(minutes)d min.") % {"minutes": 15})
    if not user.check_password(old[:1024]):
        throttle.failed(user.name, address)
        raise Invalid(_("The present password is wrong."))
    return set_password(actor, user.name, new)


def change_user(actor: Actor, name: str, role: Role | None = None, active: bool | None = None) -> User:
    """Another role, or locked out, or let in again. The last administrator stays one."""
    require(actor, "account.user")
    with transaction.atomic():
        user = find_user(name)
        was = user.role
        if (role not in (None, Role.ADMINISTRATOR)) or active is False:
            _keep_an_administrator(user)
        user.role = role or user.role
        user.is_active = user.is_active if active is None else active
        user.save(update_fields=["role", "is_active"])
    if active is False:
        end_sessions(SYSTEM, user)
    if user.role != was:
        audit.note(actor, "role changed", user.name, f"{was} → {user.role}")
    if active is not None:
        audit.note(actor, "let in again" if active else "locked out", user.name)
    return user


def remove_user(actor: Actor, name: str) -> None:
    require(actor, "account.user")
    with transaction.atomic():
        user = find_user(name)
        _keep_an_administrator(user)
        user.delete()
    audit.note(actor, "user removed", name)


def end_sessions(actor: Actor, user: User, but: str = "") -> int:
    """Sign a person out of every browser, except the one whose session is named; how many those were."""
    from django.contrib.sessions.models import Session  # the machinery, which has no sessions, loads this module too

    require(actor, "account.password", user)
    ended = 0
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.session_key != but and session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
            ended += 1
    if ended:
        audit.note(actor, "sessions ended", user.name, str(ended))
    return ended


def sessions(actor: Actor, user: User) -> "list[UserSession]":
    """The browsers somebody is signed in with, the last used first."""
    from allauth.usersessions.models import UserSession

    require(actor, "account.password", user)
    return sorted(UserSession.objects.purge_and_list(user), key=lambda one: one.last_seen_at, reverse=True)


def end_session(actor: Actor, user: User, number: int) -> None:
    found = next((one for one in sessions(actor, user) if one.pk == number), None)
    if found is None:
        raise NotFound("that session has ended already")
    found.end()
    audit.note(actor, "sessions ended", user.name, "1")


def drop_two_factor(actor: Actor, name: str) -> None:
    """For who lost their device and their codes: the password alone is enough again."""
    from allauth.mfa.models import Authenticator

    require(actor, "account.user")
    user = find_user(name)
    if not Authenticator.objects.filter(user=user).delete()[0]:
        raise Conflict(f"{user.name!r} has no two-factor sign-in")
    audit.note(actor, "two-factor off", user.name)


def free_name(wanted: str) -> str:
    """The name, or the name with the first number that makes it free."""
    taken = set(User.objects.filter(name__startswith=wanted).values_list("name", flat=True))
    number = 2
    name = wanted
    while name in taken:
        name, number = f"{wanted}{number}", number + 1
    return name


def invite(actor: Actor, role: Role, email: str = "", days: int = INVITATION_DAYS) -> NewInvitation:
    """A link with which one person may register, with this role."""
    require(actor, "account.invite")
    if not 1 <= days <= 365:
        raise Invalid(f"an invitation is valid for 1 to 365 days, not {days}")
    secret = secrets.token_urlsafe(24)
    expires = timezone.now() + timedelta(days=days)
    invitation = Invitation(digest=digest(secret), role=role, email=email.strip(), inviter=actor.user, expires=expires)
    try:
        invitation.full_clean(exclude=["user", "used", "inviter"])
    except ValidationError as error:
        raise Invalid(f"nobody can be invited so: {' '.join(error.messages)}")
    invitation.save()
    audit.note(actor, "invited", email or "–", str(role))
    return NewInvitation(invitation, f"/register?invitation={secret}")


def invitations(actor: Actor) -> list[Invitation]:
    """Those that can still be used, the newest first."""
    require(actor, "account.invite")
    found = Invitation.objects.select_related("inviter").filter(used=None, expires__gt=timezone.now())
    return list(found.order_by("-created")[:200])


def withdraw_invitation(actor: Actor, number: int) -> None:
    require(actor, "account.invite")
    if not Invitation.objects.filter(pk=number, used=None).delete()[0]:
        raise NotFound(f"there is no open invitation {number}")


def find_invitation(secret: str) -> Invitation | None:
    if not 20 <= len(secret) <= 100:
        return None
    return Invitation.objects.filter(digest=digest(secret), used=None, expires__gt=timezone.now()).first()


def use_invitation(invitation: Invitation, user: User) -> None:
    """Once. Raises Conflict when somebody was quicker; the registration is undone then."""
    used = Invitation.objects.filter(pk=invitation.pk, used=None).update(used=timezone.now(), user=user)
    if not used:
        user.delete()
        raise Conflict(_("This invitation was used already; ask for another one."))


def favourites(actor: Actor) -> list[Favourite]:
    """Of whoever asks, the newest first."""
    require(actor, "account.favourites")
    return list(Favourite.objects.filter(user=actor.user).order_by("-pk")[:MAX_FAVOURITES])


def is_favourite(actor: Actor, url: str) -> bool:
    require(actor, "account.favourites")
    return Favourite.objects.filter(user=actor.user, url=url).exists()


def keep_favourite(actor: Actor, url: str, title: str = "") -> Favourite:
    require(actor, "account.favourites")
    url = url.strip()
    if actor.user is None or not url or len(url) > 4096 or "\0" in url + title:
        raise Invalid("name the address of a page to keep; no text here has a NUL character")
    urls.typed(url)  # raises Invalid
    if Favourite.objects.filter(user=actor.user).count() >= MAX_FAVOURITES:
        raise Conflict(f"there are {MAX_FAVOURITES} favourites already; remove some first")
    kept, _new = Favourite.objects.update_or_create(user=actor.user, url=url, defaults={"title": title.strip()[:300]})
    return kept


def forget_favourites(actor: Actor, url: str = "") -> int:
    """One, or all; how many those were."""
    require(actor, "account.favourites")
    found = Favourite.objects.filter(user=actor.user)
    return (found.filter(url=url) if url else found).delete()[0]


def forget_titles(addresses: Iterable[str]) -> None:
    """Of favourites whose pages are erased; the address somebody kept stays."""
    names = list(addresses)
    for start in range(0, len(names), 400):
        Favourite.objects.filter(url__in=names[start : start + 400]).update(title="")


def set_display(actor: Actor, **changes: Any) -> Display:
    """How pages are shown to somebody from now on; what is not named stays. Raises Invalid, which names the field."""
    require(actor, "account.self")
    if actor.user is None:
        raise Invalid("preferences are kept for people; sign in")
    now = read_display(actor.user.display)
    display = checked_display(structs.asdict(now) | changes)
    actor.user.display = to_builtins(display)
    actor.user.save(update_fields=["display"])
    return display


def find_user(name: str) -> User:
    try:
        return User.objects.get_by_natural_key(name)
    except User.DoesNotExist:
        raise NotFound(f"there is no user {name!r}; `hemeroteca user list` shows who exists")


def sign_in(request: HttpRequest, name: str, password: str, address: str) -> User:
    """The user with that name and password, or SignInRefused. Does not begin the session."""
    name = User.spelling(name)[:64]
    known = request.get_signed_cookie(KNOWN_COOKIE, "", salt=KNOWN_COOKIE, max_age=KNOWN_SECONDS) == name
    wait = throttle.wait(name, address, known=known)
    if wait is not None:
        minutes = max(1, round(wait.total_seconds() / 60))
        raise SignInRefused(_("Too many wrong passwords. Try again in %(minutes)d min.") % {"minutes": minutes})
    # Hashing a password costs time in proportion to its length only beyond any real one.
    user = authenticate(request, username=_named(name), password=password[:1024])
    if not isinstance(user, User):
        throttle.failed(name, address)
        audit.note(Actor(name or "?"), "sign-in refused", name)
        raise SignInRefused(_("Name or password is wrong."))
    throttle.succeeded(name, address)
    return user


def create_token(
    actor: Actor,
    user: User,
    label: str,
    role: Role | None = None,
    expires: datetime | None = None,
    scopes: Iterable[str] = (),
) -> NewToken:
    """A token for a program. `role` and `scopes` limit it; its owner's role always limits it too."""
    require(actor, "account.token", user)
    role, scopes = role or Role(user.role), sorted(set(scopes))
    if not covers(Role(user.role), role):
        raise Invalid(f"{user.name!r} is {user.role} and cannot give a token the role {role}")
    if not set(scopes).issubset(SCOPES):
        raise Invalid(f"a token can be limited to {', '.join(SCOPES)}, not to {', '.join(scopes)}")
    if expires is not None and expires <= timezone.now():
        raise Invalid("a token cannot expire in the past; give a later date")
    secret = TOKEN_MARK + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user,
        label=label[:100],
        prefix=secret[:PREFIX_LENGTH],
        digest=digest(secret),
        role=role,
        scopes=scopes,
        expires=expires,
    )
    audit.note(actor, "token made", token.prefix, f"{user.name}, {', '.join([role, *scopes])}")
    return NewToken(token, secret)


def token_actor(secret: str) -> Actor | None:
    """Whom a bearer token stands for; None when it is unknown, ended or its owner locked."""
    if not secret.startswith(TOKEN_MARK) or len(secret) > 200 or not secret.isprintable():
        return None
    token = ApiToken.objects.select_related("user").filter(prefix=secret[:PREFIX_LENGTH]).first()
    now = timezone.now()
    if token is None or not hmac.compare_digest(token.digest, digest(secret)):
        return None
    if (token.expires is not None and token.expires <= now) or not token.user.is_active:
        return None
    if token.last_used is None or token.last_used < now - LAST_USED_STEP:
        ApiToken.objects.filter(pk=token.pk).update(last_used=now)
    return Actor.with_token(token)


def revoke_token(actor: Actor, prefix: str) -> None:
    found = list(ApiToken.objects.select_related("user").filter(prefix__startswith=prefix.removesuffix("…"))[:2])
    if len(prefix) <= len(TOKEN_MARK) or len(found) != 1:
        raise NotFound(f"{prefix!r} does not name one token; `hemeroteca token list` shows their first characters")
    require(actor, "account.token", found[0])
    found[0].delete()
    audit.note(actor, "token revoked", found[0].prefix, found[0].user.name)


def users(actor: Actor) -> list[User]:
    require(actor, "account.users")
    return list(User.objects.order_by("name"))


def with_two_factor(people: Iterable[User]) -> set[int]:
    """Numbers of those among them who sign in with a code of an app, too."""
    from allauth.mfa.models import Authenticator

    found = Authenticator.objects.filter(type=Authenticator.Type.TOTP, user__in=list(people))
    return set(found.values_list("user", flat=True))


def tokens(actor: Actor, of: User | None = None) -> list[ApiToken]:
    """All tokens, oldest first; those of one person with `of`."""
    require(actor, "account.tokens", of)
    found = ApiToken.objects.select_related("user").order_by("created")
    return list(found.filter(user=of) if of else found)


def _named(given: str) -> str:
    """People may sign in with an address they have proven, too."""
    from allauth.account.models import EmailAddress

    if "@" not in given or User.objects.filter(name=given).exists():
        return given
    proven = EmailAddress.objects.select_related("user").filter(email__iexact=given, verified=True).first()
    return str(proven.user.name) if proven else given


def _keep_an_administrator(user: User) -> None:
    others = User.objects.filter(role=Role.ADMINISTRATOR, is_active=True).exclude(pk=user.pk)
    if user.is_superuser and not others.exists():
        raise Conflict(
            f"{user.name!r} is the last administrator; first add another: "
            "`hemeroteca user add NAME --role administrator`"
        )


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages))
