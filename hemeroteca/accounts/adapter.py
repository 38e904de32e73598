"""What django-allauth asks us: who may register, under which name, where links lead, how mail goes out.

allauth has registration, recovery by mail, change of address and two-factor sign-in. Names, roles, wrong passwords and
the audit log stay ours (`services`, `throttle`, `audit`).
"""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import SignupForm
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.mail import EmailMessage
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from hemeroteca.accounts import audit, mail, services, throttle
from hemeroteca.accounts.models import User
from hemeroteca.accounts.permissions import SYSTEM, Actor, Role
from hemeroteca.instance import sealed_secrets
from hemeroteca.instance.public_url import own_address

NOTICES = {  # mails of allauth that tell of a change, and what the audit log calls it
    "account/email/password_reset": "password set",
    "account/email/password_changed": "password set",
    "account/email/email_changed": "e-mail changed",
    "account/email/email_confirm": "e-mail changed",
    "mfa/email/totp_activated": "two-factor on",
    "mfa/email/totp_deactivated": "two-factor off",
    "mfa/email/recovery_codes_generated": "recovery codes",
}


class Registration(SignupForm):  # type: ignore[misc]
    """A name, an address, a password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("Name")
        self.fields["username"].help_text = _("If somebody has it already, a number is added.")
        self.fields["password1"].help_text = _("At least ten characters; a few words are good.")
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)

    def try_save(self, request: HttpRequest) -> Any:
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])  # takes as long as when the address is new
        return super().try_save(request)


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]
    # registration

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Open to all where mail can be confirmed; else with an invitation that holds."""
        if settings.CONFIG.registration == "open" and mail.configured():
            return True
        return invitation_of(request) is not None

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """A name that is taken gets a number: saying that it is taken would tell who has an account."""
        name = User.spelling(username)[:56]
        UnicodeUsernameValidator()(name)
        return services.free_name(name)

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> User:
        invitation = invitation_of(request)
        user.role = Role(invitation.role) if invitation else Role(settings.CONFIG.registration_role)
        made: User = super().save_user(request, user, form, commit)
        if invitation:
            services.use_invitation(invitation, made)
        audit.note(Actor.of(made), "registered", made.name, str(made.role))
        return made

    def is_email_verified(self, request: HttpRequest, email: str) -> bool:
        """An invitation that went by mail proves its address."""
        invitation = invitation_of(request)
        return bool(invitation and invitation.email and invitation.email.lower() == email.lower())

    # passwords

    def login(self, request: HttpRequest, user: Any) -> None:
        super().login(request, user)
        audit.note(Actor.of(user), "sign-in", user.name)

    def reauthenticate(self, user: Any, password: str) -> bool:
        """The password again before something that matters, with the limits of a sign-in."""
        address = self.request.META["REMOTE_ADDR"]
        if throttle.wait(user.name, address, known=True) is not None:
            return False
        if user.check_password(password[:1024]):
            return True
        throttle.failed(user.name, address)
        return False

    def set_password(self, user: Any, password: str) -> None:
        """By a link of a mail. It ends every session of that person, as any new password."""
        services.set_password(SYSTEM, user.name, password)
        user.refresh_from_db()

    # mail

    def get_reset_password_from_key_url(self, key: str) -> str:
        number, _dash, token = key.partition("-")
        return own_address(reverse("account_reset_password_from_key", kwargs={"uidb36": number, "key": token}))

    def get_email_confirmation_url(self, request: HttpRequest, emailconfirmation: Any) -> str:
        return own_address(reverse("account_confirm_email", args=[emailconfirmation.key]))

    def send_account_already_exists_mail(self, email: str) -> None:
        links = {"signup_url": own_address(reverse("account_signup"))}
        links["password_reset_url"] = own_address(reverse("account_reset_password"))
        self.send_mail("account/email/account_already_exists", email, links)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        site = {"name": "Hemeroteca", "domain": own_address("")}
        mail.send(self.render_mail(template_prefix, email, {"email": email, **context, "current_site": site}))

    def send_notification_mail(self, template_prefix: str, user: Any, *args: Any, **kwargs: Any) -> None:
        if act := NOTICES.get(template_prefix):
            audit.note(Actor.of(user), act, user.name)
        if mail.configured():
            super().send_notification_mail(template_prefix, user, *args, **kwargs)

    def get_client_ip(self, request: HttpRequest) -> str:
        return str(request.META["REMOTE_ADDR"])


class TwoFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Secrets lie sealed in the database."""

    def get_totp_issuer(self) -> str:
        return "Hemeroteca"

    def get_totp_label(self, user: Any) -> str:
        return str(user.name)

    def encrypt(self, text: str) -> str:
        return sealed_secrets.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return sealed_secrets.unseal(encrypted_text)


def invitation_of(request: HttpRequest) -> Any:
    """The invitation that a registration carries, if it held when the request came."""
    if not hasattr(request, "invitation"):
        sent = request.POST if request.method == "POST" else request.GET
        request.invitation = services.find_invitation(sent.get("invitation", ""))  # type: ignore[attr-defined]
    return request.invitation  # type: ignore[attr-defined]


def send_invitation(actor: Actor, made: services.NewInvitation) -> bool:
    """By mail, when there is an address and a mail server; whether it was."""
    email = made.invitation.email
    if not email or not mail.configured():
        return False
    text = gettext("%(name)s invites you to Hemeroteca. Make your account here within %(days)d days:")
    text %= {"name": actor.name, "days": services.INVITATION_DAYS}
    subject = "[Hemeroteca] " + gettext("You are invited")
    mail.send(EmailMessage(subject, f"{text}\n\n{own_address(made.path)}\n", settings.DEFAULT_FROM_EMAIL, [email]))
    return True
