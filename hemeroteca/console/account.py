"""Signing in and out, registration, one's own account with its tokens, the people who may sign in, the audit log.

Pages of django-allauth (recovery, change of address, two-factor sign-in) stand here with our templates and permissions.
"""

from datetime import timedelta
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from allauth.account import app_settings as allauth_settings
from allauth.account import views as allauth
from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import EmailAddress, Login
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone, translation
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from django.views.generic import RedirectView
from django.views.i18n import set_language
from msgspec import structs

from hemeroteca.accounts import STRANGER, Actor, PermissionDenied, Role, audit, mail
from hemeroteca.accounts import services as accounts
from hemeroteca.accounts.adapter import send_invitation
from hemeroteca.accounts.display import COOKIE, PAGE_SIZES, Display, checked, write_cookie, zone_names
from hemeroteca.accounts.models import ROLES, User
from hemeroteca.accounts.permissions import ACTIONS, SCOPES, covers, may_try
from hemeroteca.console.middleware import display_of
from hemeroteca.console.section import ConsolePage, Section
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.instance.public_url import own_address
from hemeroteca.plain import whole_number

TO_SIGN_IN = RedirectView.as_view(pattern_name="sign-in", query_string=True)


def to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Where the admin pages send whoever they do not know. Who has signed in already is told what is lacking."""
    if request.user.is_authenticated:
        raise PermissionDenied(Actor.of(request.user), "account.user")
    return TO_SIGN_IN(request)


@sensitive_post_parameters("password")
@never_cache
def sign_in(request: HttpRequest) -> HttpResponse:
    target = (request.POST if request.method == "POST" else request.GET).get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = settings.LOGIN_REDIRECT_URL
    context: dict[str, Any] = {"next": target, "registration": _registration(), "role": _needed(target)}
    context["untouched"] = not User.objects.exclude(last_login=None).exists()
    if request.method == "POST":
        name = request.POST.get("name", "")
        try:
            user = accounts.sign_in(request, name, request.POST.get("password", ""), request.META["REMOTE_ADDR"])
        except accounts.SignInRefused as error:
            return render(request, "console/sign_in.html", context | {"failure": str(error), "name": name}, status=403)
        verify = allauth_settings.EMAIL_VERIFICATION
        if user.last_login is not None or not EmailAddress.objects.filter(user=user).exists():
            verify = allauth_settings.EmailVerificationMethod.NONE  # only who just registered has to
        begun = Login(user=user, email_verification=verify, redirect_url=target)
        response = perform_password_login(request, {"username": user.name}, begun)  # asks for the second factor, too
        response.set_signed_cookie(
            accounts.KNOWN_COOKIE, user.name, accounts.KNOWN_COOKIE, max_age=accounts.KNOWN_SECONDS, httponly=True,
            samesite="Lax", secure=request.is_secure(), path="/sign-in",
        )  # fmt: skip
        return response
    return render(request, "console/sign_in.html", context)


def _needed(target: str) -> str:
    """The least role that may see the page somebody was sent here from; empty where anybody may, or an owner."""
    from hemeroteca.console.routes import PAGES  # which imports this module

    try:
        name = resolve(target.partition("?")[0]).url_name
    except Resolver404:
        return ""
    see = next((page.see for page in PAGES if page.name == name), "instance.about")
    roles = ACTIONS[see].roles
    return (
        "" if may_try(STRANGER, see) or ACTIONS[see].owner else next(str(ROLES[role]) for role in Role if role in roles)
    )


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    actor = Actor.of(request.user)
    logout(request)
    if actor.user:
        audit.note(actor, "sign-out", actor.name)
    return redirect("search")


def _registration() -> str:
    """What the page to sign in says about making an account."""
    wanted = settings.CONFIG.registration
    return "closed" if wanted == "open" and not mail.configured() else str(wanted)


class Register(allauth.SignupView):  # type: ignore[misc]
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        sent = self.request.POST if self.request.method == "POST" else self.request.GET
        invitation = sent.get("invitation", "")[:100]
        return {**super().get_context_data(**kwargs), "invitation": invitation}

    def closed(self) -> HttpResponse:
        context = {"registration": settings.CONFIG.registration, "mail": mail.configured()}
        return render(self.request, "account/signup_closed.html", context, status=403)


class Recover(allauth.PasswordResetView):  # type: ignore[misc]
    """Without a mail server the page says what an administrator can do instead."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "mail": mail.configured()}

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not mail.configured():
            return self.get(request, *args, **kwargs)
        return super().post(request, *args, **kwargs)


class AddressPage(allauth.EmailView):  # type: ignore[misc]
    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "mail": mail.configured()}


LIFETIMES = {
    "30": gettext_lazy("30 days"),
    "365": gettext_lazy("a year"),
    "": gettext_lazy("no end"),
}


@sensitive_post_parameters("old", "new")
@never_cache
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
        "sessions": accounts.sessions(actor, user),
        "session_key": request.session.session_key,
        "two_factor": Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists(),
        "addresses": EmailAddress.objects.filter(user=user),
        "mail": mail.configured(),
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
    elif sent.get("do") == "session":
        accounts.end_session(actor, user, whole_number(sent.get("session", "")) or 0)
        messages.success(request, _("That browser is signed out."))
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
def people(request: HttpRequest) -> HttpResponse:
    """Who may sign in, for whoever may change that."""
    actor = Actor.of(request.user)
    context: dict[str, Any] = {"form": request.POST}
    if request.method == "POST":
        try:
            if request.POST.get("do") == "invite":
                context["invited"] = _invite(request, actor)
            else:
                messages.success(request, _people_order(request, actor))
                return redirect("people")
        except (Conflict, Invalid, NotFound) as error:
            context["failure"] = str(error)
    found = accounts.users(actor)
    context |= {"people": found, "two_factor": accounts.with_two_factor(found)}
    context |= {"roles": ROLES.items(), "mail": mail.configured()}
    context |= {"invitations": accounts.invitations(actor), "registration": settings.CONFIG.registration}
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
    if what == "two-factor":
        accounts.drop_two_factor(actor, name)
        return _("%(name)s signs in with the password alone again.") % {"name": name}
    if what == "withdraw":
        number = sent.get("invitation", "")
        accounts.withdraw_invitation(actor, int(number) if number.isdecimal() and len(number) < 16 else 0)
        return _("The invitation is withdrawn.")
    raise Invalid(_("Nothing was chosen."))


def _invite(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """The link is shown once, and sent when there is an address and a mail server."""
    role, email = request.POST.get("role", ""), request.POST.get("email", "").strip()
    if role not in ROLES:
        raise Invalid(_("There is no such role."))
    made = accounts.invite(actor, Role(role), email)
    return {"link": own_address(made.path), "email": email, "sent": send_invitation(actor, made)}


ENTRIES = 100
DISPLAY_SECONDS = 365 * 86_400  # that a browser keeps a stranger's preferences


def audit_log(request: HttpRequest) -> HttpResponseBase:
    """Who did what to which thing, and when."""
    actor = Actor.of(request.user)
    asked: dict[str, Any] = {name: request.GET.get(name, "").strip()[:300] for name in ("who", "act", "thing")}
    if request.GET.get("format") == "csv":
        rows = audit.entries(actor, audit.MAX_ENTRIES, **asked)
        response = StreamingHttpResponse(audit.as_csv(rows), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = 'attachment; filename="audit.csv"'
        return response
    before = request.GET.get("before", "")
    older = int(before) if before.isdecimal() and len(before) < 16 else None
    rows = audit.entries(actor, ENTRIES + 1, before=older, **asked)
    context = {
        "entries": [(row, audit.ACTS.get(row.act, row.act)) for row in rows[:ENTRIES]],
        "older": rows[ENTRIES - 1].pk if len(rows) > ENTRIES else 0,
        "asked": asked,
        "acts": audit.ACTS.items(),
        "csv": urlencode({**asked, "format": "csv"}),
    }
    return render(request, "console/audit.html", context)


def favourites(request: HttpRequest) -> HttpResponse:
    """Pages somebody kept; only they see them."""
    actor = Actor.of(request.user)
    if request.method == "POST":
        url, what = request.POST.get("url", ""), request.POST.get("do", "")
        try:
            if what == "keep":
                accounts.keep_favourite(actor, url, request.POST.get("title", ""))
                messages.success(request, _("Kept among your favourites."))
            elif what == "forget" and url:
                accounts.forget_favourites(actor, url)
                messages.success(request, _("No favourite any more."))
            elif what == "forget all":
                accounts.forget_favourites(actor)
                messages.success(request, _("Your favourites were erased."))
        except (Conflict, Invalid) as error:
            messages.error(request, str(error))
        back = request.POST.get("next", "")
        local = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
        return HttpResponseRedirect(back if local else reverse("favourites"))
    return render(request, "console/favourites.html", {"favourites": accounts.favourites(actor)})


@never_cache
def display(request: HttpRequest) -> HttpResponse:
    """How pages are shown: kept with the account; a stranger's in the browser."""
    actor, failure = Actor.of(request.user), ""
    now = display_of(request)
    if not actor.user:
        now = structs.replace(now, language=request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""))
    if request.method == "POST":
        sent = {name: request.POST.get(name, "")[:64] for name in ("language", "time_zone", "titles", "theme")}
        try:
            now = checked({**sent, "page_size": whole_number(request.POST.get("page_size", "")) or 0})
            with translation.override(now.language or translation.get_language()):
                messages.success(request, _("Your preferences are kept."))
            response = redirect("display")
            if actor.user:
                accounts.set_display(actor, **structs.asdict(now))
            else:
                _to_browser(request, response, now)
            return response
        except Invalid as error:
            failure = str(error)
    context = {"now": now, "failure": failure, "zones": zone_names(), "sizes": PAGE_SIZES}
    return render(request, "console/display.html", context, status=422 if failure else 200)


def _to_browser(request: HttpRequest, response: HttpResponse, chosen: Display) -> None:
    """Two cookies: that of the switch of languages, and one for the rest."""
    kept = {COOKIE: write_cookie(structs.replace(chosen, language="")), settings.LANGUAGE_COOKIE_NAME: chosen.language}
    for name, value in kept.items():
        if value:
            response.set_cookie(
                name, value, max_age=DISPLAY_SECONDS, httponly=True, samesite="Lax", secure=request.is_secure()
            )
        else:
            response.delete_cookie(name)


def language(request: HttpRequest) -> HttpResponseBase:
    """The switch at the head of every page: for whoever has signed in it is kept with the account."""
    actor, code = Actor.of(request.user), request.POST.get("language", "")
    if request.method == "POST" and actor.user and code in dict(settings.LANGUAGES):
        accounts.set_display(actor, language=code)
    return set_language(request)


def _ours(view: Any) -> Any:
    """A page of allauth: never kept by caches, passwords out of reports."""
    return sensitive_post_parameters()(never_cache(view))


def _mfa(kind: str, name: str) -> Any:
    """A page of two-factor sign-in, loaded when somebody asks for it: it brings ten megabytes of cryptography."""

    def view(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        return getattr(import_module(f"allauth.mfa.{kind}.views"), name)(request, **arguments)

    return _ours(view)


OWN = ("account.password", "account.password")  # of whoever has signed in
ALL = ("account.sign_in", "account.sign_in")
SECTION = Section(
    "account",
    "",
    (
        ConsolePage("account", "account", own, "account.tokens", "account.token"),
        ConsolePage("people", "people", people, "account.users", "account.user"),
        ConsolePage("audit", "audit", audit_log, "account.audit"),
        ConsolePage("account/preferences", "display", display, "account.display", "account.display"),
        ConsolePage("language", "language", language, "instance.about", "instance.about"),
        ConsolePage("favourites", "favourites", favourites, "account.favourites", "account.favourites"),
        ConsolePage("sign-in", "sign-in", sign_in, "account.sign_in", "account.sign_in"),
        ConsolePage("sign-in", "account_login", sign_in, "account.sign_in", "account.sign_in"),
        # names as django-allauth looks for them
        ConsolePage("register", "account_signup", _ours(Register.as_view()), *ALL),
        ConsolePage("register/sent", "account_email_verification_sent", allauth.email_verification_sent, *ALL),
        ConsolePage("register/confirm/<str:key>", "account_confirm_email", _ours(allauth.confirm_email), *ALL),
        ConsolePage("password", "account_reset_password", _ours(Recover.as_view()), *ALL),
        ConsolePage("password/sent", "account_reset_password_done", allauth.password_reset_done, *ALL),
        ConsolePage("password/set", "account_reset_password_from_key_done", allauth.password_reset_from_key_done, *ALL),
        ConsolePage(
            "password/<slug:uidb36>/<slug:key>",
            "account_reset_password_from_key",
            _ours(allauth.password_reset_from_key),
            *ALL,
        ),
        ConsolePage("sign-in/code", "mfa_authenticate", _mfa("base", "authenticate"), *ALL),
        ConsolePage("account/email", "account_email", _ours(AddressPage.as_view()), *OWN),
        ConsolePage("account/again", "account_reauthenticate", _ours(allauth.reauthenticate), *OWN),
        ConsolePage("account/again/code", "mfa_reauthenticate", _mfa("base", "reauthenticate"), *OWN),
        ConsolePage("account/two-factor", "mfa_index", RedirectView.as_view(pattern_name="account"), *OWN),
        ConsolePage("account/two-factor/on", "mfa_activate_totp", _mfa("totp", "activate_totp"), *OWN),
        ConsolePage("account/two-factor/off", "mfa_deactivate_totp", _mfa("totp", "deactivate_totp"), *OWN),
        ConsolePage("account/codes", "mfa_view_recovery_codes", _mfa("recovery_codes", "view_recovery_codes"), *OWN),
        ConsolePage(
            "account/codes/new", "mfa_generate_recovery_codes", _mfa("recovery_codes", "generate_recovery_codes"), *OWN
        ),
        ConsolePage(
            "account/codes.txt", "mfa_download_recovery_codes", _mfa("recovery_codes", "download_recovery_codes"), *OWN
        ),
        ConsolePage("sign-out", "sign-out", sign_out, "account.sign_in", "account.sign_in"),
        # One way in, with one limit on guessing.
        ConsolePage("admin/login/", "login", to_sign_in, "account.sign_in"),
    ),
    menu=(
        ("account", gettext_lazy("Your account")),
        ("display", gettext_lazy("Preferences")),
        ("favourites", gettext_lazy("Favourites")),
        ("people", gettext_lazy("People")),
        ("audit", gettext_lazy("Audit log")),
    ),
)
