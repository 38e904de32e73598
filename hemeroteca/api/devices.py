"""/fleet/v1/…: what devices of the fleet speak, and where their worker is to be had. A device proves who it is by its
token. Views only parse and answer; `fleet.coordinator` decides."""

import hashlib
from collections.abc import Callable
from functools import wraps
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from hemeroteca.api.problems import status_of
from hemeroteca.errors import Refused
from hemeroteca.fleet import coordinator, load_tests, protocol, services, zipapp
from hemeroteca.fleet.models import Device

MAX_BODY = 256 << 10  # of everything but results
View = Callable[..., Any]


def _spoken(view: View) -> View:
    """JSON in, JSON out; refusals have a code, and `Retry-After` where waiting helps."""

    @csrf_exempt
    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            found = view(request, *args, **kwargs)
        except coordinator.ComeBack as error:
            response = _json({"error": str(error), "code": error.code, "seconds": round(error.seconds, 2)}, 503)
            response.headers["Retry-After"] = str(max(1, round(error.seconds)))
            return response
        except coordinator.Gone as error:
            return _json({"error": str(error), "code": error.code}, 410)
        except Refused as error:
            return _json({"error": str(error), "code": error.code}, status_of(error))
        except msgspec.MsgspecError as error:
            return _json({"error": f"this is not what the protocol says: {error}", "code": "malformed"}, 400)
        return found if isinstance(found, HttpResponse) else _json(found)

    return answered


def _for_device(view: Callable[..., Any]) -> View:
    @_spoken
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if request.method not in ("POST", "PUT"):
            return _json({"error": "this is asked by POST", "code": "method"}, 405)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        device = services.device_of(token.strip()) if scheme.lower() == "bearer" else None
        if device is None:
            return _json(
                {"error": "this token is unknown, replaced, expired or revoked; ask its owner for another",
                 "code": "token"}, 401
            )  # fmt: skip
        return view(request, device, *args, **kwargs)

    return checked


@_spoken
def code(request: HttpRequest) -> Any:
    """The token for a one-time code."""
    given = msgspec.json.decode(request.body[:1000], type=dict[str, str])
    return {"token": services.redeem_code(given.get("code", ""))}


@_for_device
def connect(request: HttpRequest, device: Device) -> protocol.Welcome:
    hello = msgspec.json.decode(request.body[:MAX_BODY], type=protocol.Hello)
    return coordinator.connect(device, hello, request.META.get("REMOTE_ADDR", ""))


@_for_device
def lease(request: HttpRequest, device: Device) -> protocol.LeasedBlock:
    return coordinator.lease(device, msgspec.json.decode(request.body[:MAX_BODY] or b"{}", type=protocol.Want))


@_for_device
def beat(request: HttpRequest, device: Device) -> protocol.HeartbeatOrders:
    return coordinator.beat(device, msgspec.json.decode(request.body[:MAX_BODY] or b"{}", type=protocol.Beat))


@_for_device
def load(request: HttpRequest, device: Device) -> load_tests.LoadPlan:
    """What a device measured in a second of a load test, and its part of this one."""
    return load_tests.hand_out(
        device, msgspec.json.decode(request.body[:MAX_BODY] or b"{}", type=load_tests.LoadMeasured)
    )


@_for_device
def disconnect(request: HttpRequest, device: Device) -> Any:
    coordinator.disconnect(device)
    return {}


@_for_device
def renew(request: HttpRequest, device: Device, number: int) -> Any:
    return {"seconds": coordinator.renew(device, number, request.headers.get("X-Nonce", ""))}


@_for_device
def results(request: HttpRequest, device: Device, number: int) -> Any:
    """A piece of a compressed WARC, from `Upload-Offset` on; with `Upload-SHA256`, the last one. An empty piece without
    it asks how much is here."""
    nonce = request.headers.get("X-Nonce", "")
    start = request.headers.get("Upload-Offset", "0")
    sha256 = request.headers.get("Upload-SHA256", "")
    if not (start.isascii() and start.isdigit() and len(start) < 16):
        return _json({"error": "Upload-Offset is not a number", "code": "malformed"}, 400)
    if not request.body and not sha256:
        return {"received": coordinator.received(device, number, nonce)}
    return {"received": coordinator.receive(device, number, nonce, int(start), request.body, sha256)}


def worker(request: HttpRequest) -> HttpResponse:
    """The single-file worker. The same for everybody, byte for byte."""
    data = zipapp.build()
    response = HttpResponse(data, content_type="application/octet-stream")
    response.headers["Content-Disposition"] = 'attachment; filename="worker.pyz"'
    response.headers["X-SHA256"] = hashlib.sha256(data).hexdigest()
    return response


def worker_hash(request: HttpRequest) -> HttpResponse:
    """Its SHA-256, as `sha256sum -c` reads it."""
    return HttpResponse(f"{hashlib.sha256(zipapp.build()).hexdigest()}  worker.pyz\n", content_type="text/plain")


def _json(value: Any, status: int = 200) -> HttpResponse:
    response = HttpResponse(msgspec.json.encode(value), status=status, content_type="application/json")
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django would call "come back later" an error
    return response
