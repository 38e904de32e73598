"""/signals: where others tell us that pages changed. Each proves who it is by itself; nobody signs in here."""

import json
from typing import Annotated, Any
from urllib.parse import parse_qs

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from ninja import Path, Query, Schema
from ninja.errors import HttpError
from pydantic import Field

from hemeroteca.api import access
from hemeroteca.api.problems import problem
from hemeroteca.api.shapes import filled
from hemeroteca.warc.timestamps import moment
from hemeroteca.watch import queries, services, signals
from hemeroteca.watch.models import SignalSource

Token = Annotated[str, Path(min_length=8, max_length=200, description="Secret of this address.")]
Number = Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the source.")]
MAX_BYTES = 4 << 20


class TakenOut(Schema):
    taken: int = Field(description="Signals taken; fewer than sent when too many wait already.")


class SourceOut(Schema):
    id: int = Field(description="Number of the source.")
    kind: str = Field(description="feed, sitemap, websub, indexnow or webhook.")
    subscription: int | None = Field(description="Subscription it speaks about; null: the site.")
    site: str = Field(description="Host it speaks about, when it is not bound to a subscription.")
    url: str = Field(description="Feed, sitemap, topic, or place of the key.")
    state: str = Field(description="new, active, refused or ended.")
    note: str = Field(description="Why it is in that state.")
    received: int = Field(description="Signals that came.")
    dropped: int = Field(description="Signals refused: too many, or wrongly signed.")
    precision: float | None = Field(description="Share of its announcements that were true.")
    recall: float | None = Field(description="Share of the changes that it announced.")
    last_heard: Any = Field(description="Its last signal.")


class WebhookOut(Schema):
    path: str = Field(description="Path to POST to; its secret is shown only now.")


def sources(
    request: HttpRequest,
    subscription: Annotated[int | None, Query(ge=1, lt=1 << 63, description="Only of this subscription.")] = None,
) -> list[SourceOut]:
    return [_out(row) for row in queries.sources(subscription)]


def remove_source(request: HttpRequest, number: Number) -> None:
    services.remove_source(access.caller(request), number)


def make_webhook(
    request: HttpRequest, number: Annotated[int, Path(ge=1, lt=1 << 63, description="Number of the subscription.")]
) -> WebhookOut:
    """A new address each time; the one before stops to work."""
    _, token = services.add_webhook(access.caller(request), number)
    return WebhookOut(path=f"/api/v1/signals/{token}")


def verify_intent(request: HttpRequest, number: Number, token: Token) -> HttpResponse:
    """WebSub intent verification: the challenge comes back when this subscription was asked for."""
    names = ("mode", "topic", "challenge", "lease_seconds", "reason")
    text = signals.verify_intent(number, token, *(request.GET.get(f"hub.{name}", "") for name in names))
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def deliver(request: HttpRequest, number: Number, token: Token) -> HttpResponse:
    """Content distribution of WebSub; a wrong signature is ignored without a word, as the standard asks."""
    body = _body(request)
    content_type = request.headers.get("Content-Type", "")
    signals.deliver(number, token, body, content_type, request.headers.get("X-Hub-Signature", ""))
    return HttpResponse(status=202)


def webhook(request: HttpRequest, token: Token) -> TakenOut:
    """JSON `{"urls": […]}` or `{"url": "…"}`, a form with `url`, or nothing at all: the site's entrance changed."""
    return TakenOut(taken=signals.webhook(token, _addresses(request)))


@csrf_exempt
def indexnow(request: HttpRequest) -> HttpResponse:
    """`/indexnow` as the protocol wants it: one URL by GET, many by POST."""
    try:
        if request.method == "GET":
            given: Any = {name: request.GET.get(name, "") for name in ("key", "keyLocation")}
            given["urlList"] = [request.GET["url"]] if request.GET.get("url") else []
        elif request.method == "POST":
            given = _json(request)
        else:
            return problem(405, "IndexNow is asked by GET or POST.")
        listed = given.get("urlList")
        status = signals.indexnow(
            str(given.get("host") or ""),
            str(given.get("key") or ""),
            str(given.get("keyLocation") or ""),
            [str(url) for url in listed] if isinstance(listed, list) else [],
        )
    except signals.SignalError as error:
        return problem(error.status, str(error))
    except HttpError as error:
        return problem(error.status_code, error.message)
    return HttpResponse(status=status)


def _addresses(request: HttpRequest) -> list[str]:
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    body = _body(request)
    if not body.strip():
        found: Any = []
    elif kind == "application/x-www-form-urlencoded":
        found = parse_qs(body.decode("utf-8", "replace"), max_num_fields=signals.MAX_URLS).get("url", [])
    else:
        given = _json(request)
        found = given.get("urls") or ([given["url"]] if given.get("url") else [])
    if not isinstance(found, list) or len(found) > signals.MAX_URLS or not all(isinstance(u, str) for u in found):
        raise HttpError(422, f"`urls` must be a list of at most {signals.MAX_URLS} texts.")
    return found


def _json(request: HttpRequest) -> dict[str, Any]:
    try:
        given = json.loads(_body(request))
    except (ValueError, RecursionError):
        raise HttpError(400, "This is not JSON.")
    if not isinstance(given, dict):
        raise HttpError(400, "Send a JSON object.")
    return given


def _body(request: HttpRequest) -> bytes:
    body = request.body
    if len(body) > MAX_BYTES:
        raise HttpError(413, f"More than {MAX_BYTES} bytes are not read.")
    return body


def _out(row: SignalSource) -> SourceOut:
    return filled(
        SourceOut,
        row,
        subscription=row.subscription_id,
        precision=signals.precision(row),
        recall=signals.recall(row),
        last_heard=moment(row.heard_ms),
    )
