"""The admin pages on the reserved host name: clock, politeness log, facts. All JSON."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from simweb.clock import iso_date
from simweb.messages import Request, Response

if TYPE_CHECKING:
    from simweb.site import Site


def answer(site: "Site", request: Request) -> Response:
    """GET / (facts), /clock, /stats, /fetches[?host=NAME]; POST /clock {"advance": s, "speed": x}, /reset."""
    try:
        return Response(200, "application/json", json.dumps(_result(site, request)).encode())
    except LookupError:
        return _failure(404, f"the admin pages have no {request.method} {request.target}")
    except (ValueError, TypeError) as error:
        return _failure(400, str(error))


def _result(site: "Site", request: Request) -> Any:
    parts = urlsplit(request.target)
    match request.method, parts.path:
        case "GET", "/":
            facts = {"settings": asdict(site.settings), "port": site.port, "tls_port": site.tls_port}
            return facts | _clock(site)
        case "GET", "/clock":
            return _clock(site)
        case "POST", "/clock":
            change = json.loads(request.body or b"{}")
            site.clock.advance(float(change.get("advance", 0)))
            if "speed" in change:
                site.clock.set_speed(float(change["speed"]))
            return _clock(site)
        case "GET", "/stats":
            return site.log.summary()
        case "GET", "/fetches":
            host = parse_qs(parts.query).get("host", [""])[0]
            prefix = f"http://{host}/" if host else ""
            return {url: count for url, count in site.log.fetches.items() if url.startswith(prefix)}
        case "POST", "/reset":
            site.log.reset()
            return {}
    raise LookupError


def _clock(site: "Site") -> dict[str, Any]:
    now = site.clock.now()
    return {"now": now, "date": iso_date(now), "start": site.web.start, "speed": site.clock.speed}


def _failure(status: int, reason: str) -> Response:
    return Response(status, "application/json", json.dumps({"error": reason}).encode())
