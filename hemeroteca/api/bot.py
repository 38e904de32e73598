"""/bot: who visits, what for, what was asked of a host, and how its owner closes it to the fleet; and the keys that
requests are signed with."""

import time
from html import escape
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from hemeroteca.accounts import STRANGER, can
from hemeroteca.api import access
from hemeroteca.fleet import coordinator, opt_out, protocol
from hemeroteca.fleet.signatures import Signer


@csrf_exempt
def page(request: HttpRequest) -> HttpResponse:
    """For people who found us in their log. By POST with `host`, the host is closed once the proof is there."""
    given = request.POST if request.method == "POST" else request.GET
    host = str(given.get("host", ""))[:255].strip().lower()
    parts = [
        "<h1>About this visitor</h1>",
        f"<p>Requests with the User-Agent <code>{escape(coordinator.agent())}</code> come from a web archive and from "
        "devices that volunteers lend to it. They ask one page at a time, obey robots.txt and Retry-After, and never "
        "send a login.</p>",
        f"<p>Contact: {escape(settings.CONFIG.contact or 'the operator of this server')}.</p>",
        f"<p>In robots.txt, <code>User-agent: {protocol.AGENT}</code> speaks to the volunteers' devices alone, "
        "<code>User-agent: Hemeroteca</code> to the archive as a whole.</p>",
        "<form><label>Your host <input name=host></label> <button>What did you ask of it?</button></form>",
    ]
    if host:
        host = opt_out.host_name(host)
        parts.append(f"<h2>{escape(host)}</h2>")
        if can(STRANGER, "archive.read"):  # a closed archive tells nobody which hosts it knows
            facts = opt_out.requests_to(host)
            parts.append(f"<p>{facts.answers} answers of devices are known, {facts.pages} pages.</p>")
        if request.method == "POST":
            done = opt_out.close(host, settings.CONFIG)
            parts.append(f"<p><strong>{escape(done)}</strong></p>")
        else:
            parts.append(
                f"<p>To close it to the fleet within a minute, put the text <code>{opt_out.proof(host)}</code> at "
                f"<code>http(s)://{escape(host)}{opt_out.PATH}</code> and press:</p>"
                f'<form method=post><input type=hidden name=host value="{escape(host)}">'
                "<button>It is there: leave my host alone</button></form>"
            )
    html = f"<!doctype html><meta charset=utf-8><title>About this visitor</title>{''.join(parts)}"
    return HttpResponse(html)


def keys(request: HttpRequest) -> HttpResponse:
    """The directory of keys of Web Bot Auth."""
    authority = urlsplit(access.base_of(request)).netloc
    body, signed = Signer.of(settings.INSTANCE, access.base_of(request)).directory(authority, time.time())
    response = HttpResponse(body, content_type="application/http-message-signatures-directory+json")
    for name, value in signed:
        response.headers[name] = value
    response.headers["Cache-Control"] = "max-age=300"
    return response
