"""Every page of the console, by section."""

from functools import wraps
from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.views.decorators.http import require_http_methods
from django.views.generic import RedirectView

from hemeroteca.accounts import STRANGER, Actor, PermissionDenied
from hemeroteca.accounts.permissions import may_try
from hemeroteca.console import (
    account,
    archive,
    charts,
    error_pages,
    fleet,
    geo,
    operations,
    publications,
    search,
    simulator,
    watch,
    wiki,
)
from hemeroteca.console import help as help_pages
from hemeroteca.console.section import ConsolePage, Section, View

LOGO = RedirectView.as_view(url="/static/console/logo.svg", permanent=True)

OTHERS = Section(
    "others",
    "",
    (
        ConsolePage("robots.txt", "robots", error_pages.robots, "instance.about"),
        ConsolePage("favicon.ico", "favicon", LOGO, "instance.about"),
        ConsolePage("charts/<str:name>", "charts", charts.library, "instance.about"),
    ),
)

# In the order of the navigation.
SECTIONS: tuple[Section, ...] = (
    search.SECTION,
    archive.SECTION,
    watch.SECTION,
    simulator.SECTION,
    wiki.SECTION,
    geo.SECTION,
    fleet.SECTION,
    operations.SECTION,
    help_pages.SECTION,
    account.SECTION,
    publications.SECTION,
    OTHERS,
)


PAGES = tuple(page for section in SECTIONS for page in section.pages)


def checked(page: ConsolePage) -> View:
    """A page for those who may see it; strangers are asked to sign in. Only a page with a form takes POST."""
    shown = require_http_methods(["GET", "HEAD", *(["POST"] if page.send else [])])(page.view)

    @wraps(page.view)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        actor = Actor.of(request.user)
        action = page.send if request.method == "POST" and page.send else page.see
        if may_try(actor, action):
            return shown(request, *args, **kwargs)
        if actor is STRANGER and not may_try(actor, page.see):
            return redirect_to_login(request.get_full_path())
        raise PermissionDenied(actor, action)

    return view


admin.autodiscover()
admin.site.unregister(Authenticator)  # its page would show the second factors of others; `user two-factor-off` ends one
admin.site.unregister(UserSession)  # each person sees and ends their own; `user password` ends all of somebody
urlpatterns: list[URLPattern | URLResolver] = [
    *(path(page.address, checked(page), name=page.name) for page in PAGES),
    path("admin/", admin.site.urls),  # "account.user", by `User.is_staff`
]
