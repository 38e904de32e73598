"""Who may call an operation: a bearer token, or the session of somebody signed in to the console."""

from hmac import compare_digest

from django.conf import settings
from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security import HttpBearer
from ninja.utils import check_csrf

from hemeroteca.accounts import services
from hemeroteca.accounts.models import Role, User
from hemeroteca.replay.addresses import key_of


class Caller:
    """Whoever asks, and the role they ask with."""

    def __init__(self, user: User | None, role: Role) -> None:
        self.user = user
        self.role = role

    def require(self, role: Role, what: str) -> None:
        if not self.role.includes(role):
            raise HttpError(403, f"{what} needs the role {role.value}; yours is {self.role.value}.")


class Bearer(HttpBearer):
    """The least role an operation asks for; `open_to_all` lets strangers read while `open_search` is set."""

    def __init__(self, role: Role, open_to_all: bool = False) -> None:
        super().__init__()
        self.role = role
        self.open_to_all = open_to_all

    def __call__(self, request: HttpRequest) -> Caller | None:
        caller = self._caller(request)
        if caller is not None:
            caller.require(self.role, "This")
        elif self.open_to_all and settings.CONFIG.open_search:
            return Caller(None, Role.READER)
        return caller

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        if compare_digest(token.encode(), key_of(settings.SECRET_KEY).encode()):
            return Caller(None, Role.READER)  # replay, which asks for its readers
        found = services.token_user(token)
        if found is None:
            raise HttpError(401, "This token is unknown, expired or revoked; `hemeroteca token create` makes another.")
        return Caller(*found)

    def _caller(self, request: HttpRequest) -> Caller | None:
        header = request.headers.get("Authorization", "")
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer":
            return self.authenticate(request, token.strip())
        if isinstance(request.user, User) and request.user.is_active:
            if check_csrf(request) is not None:
                raise HttpError(403, "A call with a session cookie needs its CSRF token in the header X-CSRFToken.")
            return Caller(request.user, Role(request.user.role))
        return None


def caller(request: HttpRequest) -> Caller:
    """Who called an operation that asks for a role."""
    return request.auth  # type: ignore[attr-defined]  # set by django-ninja


reader = Bearer(Role.READER)
open_reader = Bearer(Role.READER, open_to_all=True)
editor = Bearer(Role.EDITOR)
