"""What can be done with people and tokens. The only writer of these tables, whoever asks: page, API or command."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from django.contrib.auth import authenticate
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _

from hemeroteca.accounts import throttle
from hemeroteca.accounts.models import ApiToken, User
from hemeroteca.accounts.permissions import SCOPES, SYSTEM, Actor, Role, covers, require
from hemeroteca.errors import Conflict, Denied, Invalid, NotFound

FIRST_ADMINISTRATOR = "admin"
TOKEN_MARK = "hem_"  # noqa: S105 - lets people and secret scanners recognise a leaked token
PREFIX_LENGTH = 12
LAST_USED_STEP = timedelta(minutes=10)  # a read through the API must not become a write each time


KNOWN_COOKIE = "hemeroteca_known"  # says, signed, who has signed in with this browser before
KNOWN_SECONDS = 180 * 86_400


class SignInRefused(Denied):
    """A sign-in that failed; the message is for the person at the keyboard and tells nothing about other accounts."""

    code = "sign-in-failed"


class NewToken(NamedTuple):
    token: ApiToken
    secret: str  # shown once, never kept


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
    return user


def set_password(actor: Actor, name: str, password: str) -> User:
    """A new password; it ends every session of that person (Django signs sessions with the hash)."""
    user = find_user(name)
    require(actor, "account.password", user)
    _check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    throttle.forget(User.spelling(name)[:64])
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
        if (role not in (None, Role.ADMINISTRATOR)) or active is False:
            _keep_an_administrator(user)
        user.role = role or user.role
        user.is_active = user.is_active if active is None else active
        user.save(update_fields=["role", "is_active"])
    if active is False:
        end_sessions(SYSTEM, user)
    return user


def remove_user(actor: Actor, name: str) -> None:
    require(actor, "account.user")
    with transaction.atomic():
        user = find_user(name)
        _keep_an_administrator(user)
        user.delete()


def end_sessions(actor: Actor, user: User, but: str = "") -> int:
    """Sign a person out of every browser, except the one whose session is named; how many those were."""
    require(actor, "account.password", user)
    ended = 0
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.session_key != but and session.get_decoded().get("_auth_user_id") == str(user.pk):
            session.delete()
            ended += 1
    return ended


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
    user = authenticate(request, username=name, password=password[:1024])
    if not isinstance(user, User):
        throttle.failed(name, address)
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
        digest=_digest(secret),
        role=role,
        scopes=scopes,
        expires=expires,
    )
    return NewToken(token, secret)


def token_actor(secret: str) -> Actor | None:
    """Whom a bearer token stands for; None when it is unknown, ended or its owner locked."""
    if not secret.startswith(TOKEN_MARK) or len(secret) > 200:
        return None
    token = ApiToken.objects.select_related("user").filter(prefix=secret[:PREFIX_LENGTH]).first()
    now = timezone.now()
    if token is None or not hmac.compare_digest(token.digest, _digest(secret)):
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


def users(actor: Actor) -> list[User]:
    require(actor, "account.users")
    return list(User.objects.order_by("name"))


def tokens(actor: Actor, of: User | None = None) -> list[ApiToken]:
    """All tokens, oldest first; those of one person with `of`."""
    require(actor, "account.tokens", of)
    found = ApiToken.objects.select_related("user").order_by("created")
    return list(found.filter(user=of) if of else found)


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


def _digest(secret: str) -> str:
    # A token has 256 random bits: one fast hash is as safe as a slow one and costs the API nothing.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
