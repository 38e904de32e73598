"""Signing in and out, one's own account with its tokens, and the people who may sign in."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django.views.generic import RedirectView

from hemeroteca.accounts import Actor, PermissionDenied, Role
from hemeroteca.accounts import services as accounts
from hemeroteca.accounts.models import ROLES, User
from hemeroteca.accounts.permissions import SCOPES, covers
from hemeroteca.console.section import Page, Section
from hemeroteca.errors import Conflict, Invalid, NotFound

TO_SIGN_IN = RedirectView.as_view(pattern_name="sign-in", query_string=True)


def to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Where the admin pages send whoever they do not know. Who has signed in already is told what is lacking."""
    if request.user.is_authenticated:
        raise PermissionDenied(Actor.of(request.user), "account.user")
    return TO_SIGN_IN(request)


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


LIFETIMES = {
    "30": gettext_lazy("30 days"),
    "365": gettext_lazy("a year"),
    "": gettext_lazy("no end"),
}


@sensitive_post_parameters("old", "new")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def own(request: HttpRequest) -> HttpResponse:
    """One's own account: password, tokens, other browsers."""
    actor, user = Actor.of(request.user), request.user
    assert isinstance(user, User)
    context: dict[str, Any] = {"form": request.POST}
    if request.method == "POST":
        try:
            context["made"] = _own_order(request, actor, user)
            if context["made"] is None:
                return redirect("account")
        except (accounts.SignInRefused, Invalid, NotFound) as error:
            context["failure"] = str(error)
    context |= {
        "tokens": accounts.tokens(actor, user),
        "roles": [(role, ROLES[role]) for role in Role if covers(Role(user.role), role)],
        "scopes": SCOPES,
        "lifetimes": LIFETIMES.items(),
        "now": timezone.now(),
    }
    return render(request, "console/account.html", context, status=422 if "failure" in context else 200)


def _own_order(request: HttpRequest, actor: Actor, user: User) -> "accounts.NewToken | None":
    """Do what the form says; a new token is shown at once, because it is never shown again."""
    sent = request.POST
    if sent.get("do") == "password":
        address = request.META["REMOTE_ADDR"]
        changed = accounts.change_password(actor, user, sent.get("old", ""), sent.get("new", ""), address)
        update_session_auth_hash(request, changed)
        messages.success(request, _("The password is changed. Other browsers are signed out."))
    elif sent.get("do") == "sessions":
        count = accounts.end_sessions(actor, user, but=request.session.session_key or "")
        told = ngettext("Signed out of %(count)d browser.", "Signed out of %(count)d browsers.", count)
        messages.success(request, told % {"count": count})
    elif sent.get("do") == "revoke":
        accounts.revoke_token(actor, sent.get("prefix", ""))
        messages.success(request, _("The token is revoked."))
    elif sent.get("do") == "token":
        days = sent.get("days", "")
        if days not in LIFETIMES or sent.get("role", "") not in ROLES:
            raise Invalid(_("Choose a role and how long it is valid."))
        expires = timezone.now() + timedelta(days=int(days)) if days else None
        label = sent.get("label", "").strip() or _("unnamed")
        return accounts.create_token(actor, user, label, Role(sent["role"]), expires, sent.getlist("scopes"))
    else:
        raise Invalid(_("Nothing was chosen."))
    return None


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """Who may sign in, for whoever may change that."""
    actor = Actor.of(request.user)
    context: dict[str, Any] = {"form": request.POST}
    if request.method == "POST":
        try:
            messages.success(request, _people_order(request, actor))
            return redirect("people")
        except (Conflict, Invalid, NotFound) as error:
            context["failure"] = str(error)
    context |= {"people": accounts.users(actor), "roles": ROLES.items()}
    return render(request, "console/people.html", context, status=422 if "failure" in context else 200)


def _people_order(request: HttpRequest, actor: Actor) -> str:
    sent, name = request.POST, request.POST.get("name", "")
    what = sent.get("do", "")
    if sent.get("role", Role.READER) not in ROLES:
        raise Invalid(_("There is no such role."))
    role = Role(sent.get("role", Role.READER))
    if what == "add":
        accounts.add_user(actor, name, role, sent.get("password", ""))
        return _("%(name)s may sign in now.") % {"name": name}
    if what == "role":
        accounts.change_user(actor, name, role=role)
        return _("%(name)s has another role now.") % {"name": name}
    if what in ("lock", "unlock"):
        accounts.change_user(actor, name, active=what == "unlock")
        told = _("%(name)s may sign in again.") if what == "unlock" else _("%(name)s is locked out.")
        return told % {"name": name}
    raise Invalid(_("Nothing was chosen."))


SECTION = Section(
    "account",
    "",
    (
        Page("account", "account", own, "account.tokens", "account.token"),
        Page("people", "people", people, "account.users", "account.user"),
        Page("sign-in", "sign-in", sign_in, "account.sign_in", "account.sign_in"),
        Page("sign-out", "sign-out", sign_out, "account.sign_in", "account.sign_in"),
        # One way in, with one limit on guessing.
        Page("admin/login/", "login", to_sign_in, "account.sign_in"),
    ),
    menu=(("account", gettext_lazy("Your account")), ("people", gettext_lazy("People"))),
)
