"""Errors as pages, and what is asked of every web server."""

import logging
import secrets

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from hemeroteca.accounts import PermissionDenied
from hemeroteca.accounts.models import ROLES
from hemeroteca.errors import Busy, NotFound, Refused

log = logging.getLogger("hemeroteca.console")


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error(request, 400, _("That request was not understood"), "")


def refused(request: HttpRequest, error: Refused) -> HttpResponse:
    """Something a service refused while a page was made."""
    if isinstance(error, PermissionDenied):
        role = _("This needs the role %(role)s.") % {"role": ROLES[error.roles[0]]}
        return _error(request, 403, _("That is not allowed"), role)
    if isinstance(error, NotFound):
        return _error(request, 404, _("There is nothing here"), str(error))
    return _error(request, 429 if isinstance(error, Busy) else 422, _("That cannot be done"), str(error))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _error(request, 403, _("That is not allowed"), str(exception or ""))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    told = isinstance(exception, Http404) and exception.args and isinstance(exception.args[0], str)
    return _error(request, 404, _("There is nothing here"), str(exception) if told else "")


def failed(request: HttpRequest) -> HttpResponse:
    """The error itself is in the log, under the id that the page shows."""
    number = secrets.token_hex(4)
    log.error("error %s at %s", number, request.path, exc_info=True)
    try:
        detail = _("The log of the server says why, under the id %(id)s. Tell it to whoever runs the server.")
        return _error(request, 500, _("The server failed at this"), detail % {"id": number})
    except Exception:  # what failed may be what pages are made of
        told = f"The server failed at this; its log says why, under the id {number}.\n"
        return HttpResponse(told, status=500, content_type="text/plain")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _error(
        request, 403, _("That is not allowed"), _("The form was too old. Go back, reload the page and send it again.")
    )


def _error(request: HttpRequest, status: int, heading: str, detail: str) -> HttpResponse:
    return render(request, "console/error.html", {"heading": heading, "detail": detail}, status=status)


def robots(request: HttpRequest) -> HttpResponse:
    """Crawlers are welcome at the first page: results and copies have no end, and are others' pages once more."""
    return HttpResponse("User-agent: *\nAllow: /$\nAllow: /static/\nDisallow: /\n", content_type="text/plain")
