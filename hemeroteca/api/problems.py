"""Every error under /api/ as a problem detail (RFC 9457, application/problem+json), whoever raised it."""

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import DataError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.utils.deprecation import MiddlewareMixin

from hemeroteca.errors import Busy, Conflict, Denied, Invalid, NotFound, Refused, Unavailable

if TYPE_CHECKING:
    from ninja import NinjaAPI

log = logging.getLogger("hemeroteca.api")

MEDIA_TYPE = "application/problem+json"
MAX_ERRORS = 50

SCHEMA = {
    "type": "object",
    "title": "Problem",
    "description": "What went wrong (RFC 9457).",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "description": "Kind of problem; about:blank: the status says it all."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "HTTP status."},
        "detail": {"type": "string", "description": "What happened this time and what to do."},
        "code": {"type": "string", "description": "Why it was refused, for programs: role-needed, conflict, …"},
        "errors": {
            "type": "array",
            "description": "Which parts of the request are wrong, with status 422.",
            "items": {
                "type": "object",
                "description": "One wrong part.",
                "properties": {
                    "field": {"type": "string", "description": "Where: query.limit, body.seeds.0, …"},
                    "reason": {"type": "string", "description": "What is wrong with it."},
                },
            },
        },
    },
}


def problem(status: int, detail: str = "", **extra: Any) -> HttpResponse:
    body: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    if detail:
        body["detail"] = detail
    response = HttpResponse(json.dumps(body | extra), status=status, content_type=MEDIA_TYPE)
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = 'Bearer realm="hemeroteca"'
    return response


def status_of(error: Refused) -> int:
    """The HTTP status of something refused."""
    if error.code == "sign-in-needed":
        return 401
    statuses = {NotFound: 404, Invalid: 422, Conflict: 409, Denied: 403, Busy: 429, Unavailable: 503}
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), 400)


def install(api: "NinjaAPI") -> None:
    """Answer the exceptions of operations with problems."""
    # only here: the middleware below stands in every web process, the API in those that were asked for it
    from ninja.errors import AuthenticationError, HttpError, ValidationError

    from hemeroteca.warc.store import WarcReadError
    from hemeroteca.watch.signals import SignalError

    @api.exception_handler(HttpError)
    def http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
        if error.message.startswith("Cannot parse request body"):
            return problem(400, "The body cannot be read; send JSON, with `Content-Type: application/json`.")
        return problem(error.status_code, error.message)

    @api.exception_handler(Refused)
    def refused(request: HttpRequest, error: Refused) -> HttpResponse:
        return problem(status_of(error), str(error), code=error.code)

    @api.exception_handler(SignalError)
    def not_taken(request: HttpRequest, error: SignalError) -> HttpResponse:
        return problem(error.status, str(error))

    @api.exception_handler(WarcReadError)
    def unreadable(request: HttpRequest, error: WarcReadError) -> HttpResponse:
        return problem(404, f"The archive cannot give these bytes: {error}")

    @api.exception_handler(AuthenticationError)
    def unauthorized(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
        return problem(401, "This needs a token: send `Authorization: Bearer …` (`hemeroteca token create` makes one).")

    @api.exception_handler(Http404)
    def not_found(request: HttpRequest, error: Http404) -> HttpResponse:
        return problem(404, str(error))

    @api.exception_handler(ValidationError)
    def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
        errors = [{"field": _field(item["loc"]), "reason": _in_words(item)} for item in error.errors[:MAX_ERRORS]]
        return problem(422, "; ".join(f"{item['field']}: {item['reason']}" for item in errors[:3]), errors=errors)

    @api.exception_handler(BadRequest)
    @api.exception_handler(SuspiciousOperation)
    @api.exception_handler(MultiPartParserError)
    def nonsense(request: HttpRequest, error: Exception) -> HttpResponse:
        return problem(400, f"The request cannot be read: {error}")

    @api.exception_handler(DataError)
    def unkeepable(request: HttpRequest, error: DataError) -> HttpResponse:
        log.warning("%s %s: %s", request.method, request.path, error)
        return problem(422, "The request has a text or a number that the database cannot keep or look for.")

    @api.exception_handler(Exception)
    def failed(request: HttpRequest, error: Exception) -> HttpResponse:
        log.exception("%s %s failed", request.method, request.path)
        return problem(500, "The server failed at this; its log says why.")


class ProblemsOnly(MiddlewareMixin):
    """Middleware: what Django itself answers under /api/ (no such path, wrong method, wrong host) becomes a problem."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        told = response.headers.get("Content-Type", "").startswith((MEDIA_TYPE, "application/json"))
        if response.status_code < 400 or told or not request.path.startswith("/api/"):
            return response
        replacement = problem(response.status_code, _detail(request, response))
        for name in ("Allow", "Vary", "Content-Security-Policy"):
            if name in response.headers:
                replacement.headers[name] = response.headers[name]
        return replacement


def _detail(request: HttpRequest, response: HttpResponseBase) -> str:
    if response.status_code == HTTPStatus.NOT_FOUND:
        return f"There is nothing at {request.path}; /api/v1/openapi.json lists what there is."
    if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} is not possible here; use {response.headers.get('Allow', 'another method')}."
    if response.headers.get("Content-Type", "").startswith("text/plain") and isinstance(response, HttpResponse):
        return response.content.decode("utf-8", "replace").strip()
    return ""


def _in_words(item: Mapping[str, Any]) -> str:
    """What pydantic says of a value that does not fit, for people; what is not known here stays as it says it."""
    return _WORDS.get(item["type"]) or str(item["msg"]).removeprefix("Value error, ")[:500]


_WORDS = {
    "extra_forbidden": "there is no such field",
    "missing": "it is missing",
    "list_type": "it must be a list",
    "dict_type": "it must be an object",
    "string_type": "it must be a text",
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "it must be a whole number"),
    **dict.fromkeys(("float_parsing", "float_type"), "it must be a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "it must be true or false"),
}


def _field(place: Sequence[str | int]) -> str:
    """The name of a field as who sent it knows it: of a body without the name our function has for it."""
    parts = place[2:] if place[0] == "body" else place
    return ".".join(map(str, parts))[:200] or "body"
