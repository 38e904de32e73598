"""What every template may use."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from hemeroteca import __version__
from hemeroteca.accounts import Actor, can
from hemeroteca.replay.addresses import origin_for

NAVIGATION = (("search", _("Search")), ("look-up", _("Archive")), ("status", _("Status")), ("crawls", _("Crawls")))


class May:
    """What whoever looks may do: `{% if may.crawl_submit %}` asks for the permission `crawl.submit`."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def __getitem__(self, action: str) -> bool:
        return can(self._actor, action.replace("_", ".", 1))


def shared(request: HttpRequest) -> dict[str, Any]:
    return {
        "version": __version__,
        "navigation": NAVIGATION,
        "languages": settings.LANGUAGES,
        "replay": bool(origin_for(request.headers.get("Host", ""), settings.CONFIG.replay_url)),
        "may": May(Actor.of(getattr(request, "user", None))),
    }
