"""Every page of the console, with the permission it needs (`accounts.permissions`) beside it."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from hemeroteca.accounts import STRANGER, Actor, PermissionDenied
from hemeroteca.accounts.permissions import may_try
from hemeroteca.console import account, archive, error_pages, operations, search

View = Callable[..., HttpResponseBase]
LOGO = RedirectView.as_view(url="/static/console/logo.svg", permanent=True)

# address, permission to see it, the page, its name, and the permission to send its form
PAGES: tuple[tuple[str, str, View, str, str], ...] = (
    ("", "search.read", search.search, "search", ""),
    ("suggest/options", "search.read", search.completions, "completions", ""),
    ("explain", "search.read", search.explain, "explain", ""),
    ("searches", "search.saved", search.saved, "saved", "search.save"),
    ("preferences", "search.preferences", search.preferences, "preferences", "search.prefer"),
    ("archive", "archive.read", archive.look_up, "look-up", ""),
    ("page", "archive.read", archive.page, "page", ""),
    ("at", "archive.read", archive.at, "at", ""),
    ("compare", "archive.read", archive.compare, "compare", ""),
    ("compare/page", "archive.read", archive.compare_page, "compare-page", ""),
    ("v/<uuid:record_id>", "archive.read", archive.capture, "capture", ""),
    ("v/<uuid:record_id>/copy", "archive.read", archive.capture_copy, "capture-copy", ""),
    ("v/<uuid:record_id>/original", "archive.read", archive.capture_original, "capture-original", ""),
    ("v/<uuid:record_id>/replay", "archive.read", archive.capture_replay, "capture-replay", ""),
    ("status", "instance.status", operations.status, "status", ""),
    ("status/live", "instance.status", operations.status_live, "status-live", ""),
    ("crawls", "crawl.read", operations.crawls, "crawls", "crawl.submit"),
    ("crawls/<int:number>", "crawl.read", operations.crawl, "crawl", "crawl.stop"),
    ("sign-in", "account.sign_in", account.sign_in, "sign-in", "account.sign_in"),
    ("sign-out", "account.sign_in", account.sign_out, "sign-out", "account.sign_in"),
    ("language", "instance.about", set_language, "language", "instance.about"),
    ("robots.txt", "instance.about", error_pages.robots, "robots", ""),
    ("favicon.ico", "instance.about", LOGO, "favicon", ""),
    # One way in, with one limit on guessing.
    ("admin/login/", "account.sign_in", RedirectView.as_view(pattern_name="sign-in", query_string=True), "login", ""),
)


def page(view: View, to_see: str, to_send: str) -> View:
    """A page for those who may see it; strangers are asked to sign in."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        actor = Actor.of(request.user)
        action = to_send if request.method == "POST" and to_send else to_see
        if may_try(actor, action):
            return view(request, *args, **kwargs)
        if actor is STRANGER and not may_try(actor, to_see):
            return redirect_to_login(request.get_full_path())
        raise PermissionDenied(actor, action)

    return checked


admin.autodiscover()
urlpatterns: list[URLPattern | URLResolver] = [
    *(path(address, page(view, to_see, to_send), name=name) for address, to_see, view, name, to_send in PAGES),
    path("admin/", admin.site.urls),  # "account.user", by `User.is_staff`
]
