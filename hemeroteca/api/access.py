"""Who calls an operation: a bearer token, or the session of somebody signed in to the console."""

from collections.abc import Callable
from functools import wraps
from hmac import compare_digest
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja.errors import HttpError
from ninja.security import HttpBearer
from ninja.utils import check_csrf

from hemeroteca.accounts import STRANGER, Actor, PermissionDenied, Role, require, services
from hemeroteca.accounts.permissions import ACTIONS, Strangers, may_try
from hemeroteca.api.problems import status_of
from hemeroteca.errors import Refused
from hemeroteca.replay.addresses import key_of

View = Callable[..., HttpResponseBase]
Answer = TypeVar("Answer", bound=HttpResponseBase)


class Bearer(HttpBearer):
    """Lets those in who may do something."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action = action

    def __call__(self, request: HttpRequest) -> Actor:
        actor = actor_of(request)
        if not may_try(actor, self.action):
            raise PermissionDenied(actor, self.action)
        return actor

    def authenticate(self, request: HttpRequest, token: str) -> Actor:
        return actor_of(request)


def protocol(action: str, view: View) -> View:
    """A view that speaks another protocol than the API, for those who may do something; refusals are plain text."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            if ACTIONS[action].strangers is not Strangers.ALWAYS:
                require(actor_of(request), action)
            return view(request, *args, **kwargs)
        except Refused as error:
            return plain(status_of(error), str(error))
        except HttpError as error:
            return plain(error.status_code, error.message)

    return checked


def plain(status: int, text: str) -> HttpResponse:
    response = HttpResponse(text + "\n", status=status, content_type="text/plain; charset=utf-8")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return shared(response)


def shared(response: Answer) -> Answer:
    """Let pages of other sites read it, where the archive is open and published; not one on somebody's own machine."""
    if settings.CONFIG.open_search and settings.CONFIG.public_url:
        response.headers["Access-Control-Allow-Origin"] = "*"
    return response


def actor_of(request: HttpRequest) -> Actor:
    """Whoever sent a request. Raises HttpError for a token or session that must not be believed."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        token = token.strip()
        if compare_digest(token.encode(), key_of(settings.SECRET_KEY).encode()):
            return Actor("replay", roles=(Role.READER,))  # it asks for its readers
        actor = services.token_actor(token)
        if actor is None:
            raise HttpError(401, "This token is unknown, expired or revoked; `hemeroteca token create` makes another.")
        return actor
    actor = Actor.of(request.user)
    if actor is not STRANGER and check_csrf(request) is not None:
        raise HttpError(403, "A call with a session cookie needs its CSRF token in the header X-CSRFToken.")
    return actor


def caller(request: HttpRequest) -> Actor:
    """Who called an operation that asks for a permission."""
    return request.auth  # type: ignore[attr-defined]  # set by django-ninja


def base_of(request: HttpRequest) -> str:
    """The address this server is reached by, without a slash at its end."""
    return settings.CONFIG.public_url.rstrip("/") or f"{request.scheme}://{request.get_host()}"
