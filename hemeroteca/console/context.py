"""What every template may use."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from hemeroteca import __version__
from hemeroteca.accounts import Actor, can
from hemeroteca.replay.addresses import origin_for

NAVIGATION = (("search", _("Search")), ("look-up", _("Archive")), ("status", _("Status")), ("crawls", _("Crawls")))


def shared(request: HttpRequest) -> dict[str, Any]:
    actor = Actor.of(getattr(request, "user", None))
    return {
        "version": __version__,
        "navigation": NAVIGATION,
        "languages": settings.LANGUAGES,
        "replay": bool(origin_for(request.headers.get("Host", ""), settings.CONFIG.replay_url)),
        "may_edit": can(actor, "crawl.submit"),
    }
