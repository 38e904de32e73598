"""What every template may use."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from hemeroteca import __version__
from hemeroteca.accounts import STRANGER, Actor, can
from hemeroteca.accounts.permissions import may_try
from hemeroteca.console.middleware import display_of
from hemeroteca.console.routes import SECTIONS
from hemeroteca.replay.addresses import origin_for


class May:
    """What whoever looks may do: `{% if may.crawl_submit %}` asks for the permission `crawl.submit`."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    def __getitem__(self, action: str) -> bool:
        return can(self._actor, action.replace("_", ".", 1))


@dataclass(frozen=True)
class NavigationLink:
    """A link of the navigation."""

    name: str
    label: Any
    current: bool


def shared(request: HttpRequest) -> dict[str, Any]:
    actor = Actor.of(getattr(request, "user", None))
    navigation, menu = _navigation(actor, getattr(request.resolver_match, "url_name", None) or "")
    return {
        "version": __version__,
        "navigation": navigation,
        "menu": menu,
        "languages": settings.LANGUAGES,
        "replay": bool(origin_for(request.headers.get("Host", ""), settings.CONFIG.replay_url)),
        "may": May(actor),
        "may_save": actor is STRANGER or can(actor, "crawl.submit"),  # a stranger is asked to sign in
        "display": display_of(request),
    }


def _navigation(actor: Actor, here: str) -> tuple[list[NavigationLink], list[NavigationLink]]:
    """The sections that whoever looks may see, and the pages of the one they are in."""
    navigation: list[NavigationLink] = []
    menu: list[NavigationLink] = []
    for section in SECTIONS:
        inside = any(page.name == here for page in section.pages)
        if section.label and may_try(actor, section.front.see):
            navigation.append(NavigationLink(section.front.name, section.label, inside))
        if inside:
            shown = [(name, label) for name, label in section.menu if may_try(actor, section.page(name).see)]
            menu = [NavigationLink(name, label, name == here) for name, label in shown] if len(shown) > 1 else []
    return navigation, menu
