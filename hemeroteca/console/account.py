"""Signing in and out."""

from typing import Any

from django.conf import settings
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django.views.generic import RedirectView

from hemeroteca.accounts import services as accounts
from hemeroteca.console.section import Page, Section

TO_SIGN_IN = RedirectView.as_view(pattern_name="sign-in", query_string=True)


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = (request.POST if request.method == "POST" else request.GET).get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = settings.LOGIN_REDIRECT_URL
    context: dict[str, Any] = {"next": target}
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            user = accounts.sign_in(request, name, request.POST.get("password", ""), request.META["REMOTE_ADDR"])
        except accounts.SignInRefused as error:
            return render(request, "console/sign_in.html", context | {"failure": str(error), "name": name}, status=403)
        login(request, user)
        response = redirect(target)
        response.set_signed_cookie(
            accounts.KNOWN_COOKIE, user.name, accounts.KNOWN_COOKIE, max_age=accounts.KNOWN_SECONDS, httponly=True,
            samesite="Lax", secure=request.is_secure(), path="/sign-in",
        )  # fmt: skip
        return response
    return render(request, "console/sign_in.html", context)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("search")


SECTION = Section(
    "account",
    "",
    (
        Page("sign-in", "sign-in", sign_in, "account.sign_in", "account.sign_in"),
        Page("sign-out", "sign-out", sign_out, "account.sign_in", "account.sign_in"),
        # One way in, with one limit on guessing.
        Page(
            "admin/login/", "login", RedirectView.as_view(pattern_name="sign-in", query_string=True), "account.sign_in"
        ),
    ),
)
