"""Tables of people, tokens and failed sign-ins."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from hemeroteca.accounts.permissions import Actor, Role, can

ROLES = {
    Role.READER: _("reader"),
    Role.SUBSCRIBER: _("subscriber"),
    Role.DIRECTOR: _("director"),
    Role.ADMINISTRATOR: _("administrator"),
}


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        """Names are kept in one spelling, so `Ana` and `ana` are the same person."""
        return self.get(name=User.spelling(username or ""))


class User(AbstractBaseUser):
    """A person who signs in. Roles replace Django's groups and permissions."""

    USERNAME_FIELD = "name"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    name = models.CharField(
        _("name"), max_length=64, unique=True, validators=[UnicodeUsernameValidator()],
        db_comment="name to sign in with, lower case, NFKC",
    )  # fmt: skip
    role = models.CharField(
        _("role"),
        max_length=13,
        choices=ROLES,
        default=Role.READER,
        db_comment="reader, subscriber, director, administrator",
    )
    password = models.CharField(_("password"), max_length=128, db_comment="salted hash, as Django writes it")
    email = models.EmailField(
        _("e-mail"), blank=True, default="", db_comment="where mail goes; proven ones are in account_emailaddress"
    )
    is_active = models.BooleanField(_("may sign in"), default=True, db_comment="false: locked out, kept for history")
    display = models.JSONField(
        default=dict,
        blank=True,
        db_comment="how they see pages: language, time zone, page size, titles, theme",
    )
    created = models.DateTimeField(_("created"), default=timezone.now, db_comment="when the account was made")
    last_login = models.DateTimeField(_("last sign-in"), null=True, blank=True, db_comment="last sign-in; null never")

    objects = UserManager()

    class Meta:
        db_table = "user_account"
        db_table_comment = "people who sign in"
        verbose_name = _("user")
        verbose_name_plural = _("users")

    def __str__(self) -> str:
        return str(self.name)

    def clean(self) -> None:
        self.name = self.spelling(self.name)

    @classmethod
    def spelling(cls, name: str) -> str:
        return str(cls.normalize_username(name.strip())).lower()

    # What Django's admin asks of a user.
    @property
    def is_superuser(self) -> bool:
        return can(Actor.of(self), "account.user")

    @property
    def is_staff(self) -> bool:
        return self.is_superuser

    def has_perm(self, perm: str, obj: object = None) -> bool:
        return self.is_superuser

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_superuser


class ApiToken(models.Model):
    """A secret that lets a program act for a person, with that person's role or less."""

    user = models.ForeignKey(
        User, models.CASCADE, related_name="tokens", verbose_name=_("user"), db_comment="person it acts for"
    )
    label = models.CharField(_("label"), max_length=100, db_comment="what it is for, in the words of its owner")
    prefix = models.CharField(
        _("prefix"), max_length=12, unique=True, db_comment="first characters, to recognise it by"
    )
    digest = models.CharField(max_length=64, db_comment="SHA-256 of the whole token; the token itself is not kept")
    role = models.CharField(_("role"), max_length=13, choices=ROLES, db_comment="the most it may do: a role")
    scopes = models.JSONField(_("scopes"), default=list, db_comment="first words of the actions it is for; empty: all")
    created = models.DateTimeField(_("created"), default=timezone.now, db_comment="when it was made")
    expires = models.DateTimeField(
        _("expires"), null=True, blank=True, db_comment="not valid from then on; null: no end"
    )
    last_used = models.DateTimeField(
        _("last used"), null=True, blank=True, db_comment="last use, to about ten minutes; null never"
    )

    class Meta:
        db_table = "api_token"
        db_table_comment = "secrets of programs that use the API"
        verbose_name = _("token")
        verbose_name_plural = _("tokens")

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.label})"


class Invitation(models.Model):
    """A link that lets one person register, with a role."""

    digest = models.CharField(max_length=64, unique=True, db_comment="SHA-256 of its secret, which is not kept")
    role = models.CharField(max_length=13, choices=ROLES, db_comment="role of whoever registers with it")
    email = models.EmailField(blank=True, default="", db_comment="address it was sent to; empty: handed over otherwise")
    inviter = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="invitations", db_comment="who invited; null: a command"
    )
    created = models.DateTimeField(default=timezone.now, db_comment="when it was made")
    expires = models.DateTimeField(db_comment="not valid from then on")
    user = models.OneToOneField(
        User, models.SET_NULL, null=True, related_name="invitation", db_comment="who registered with it"
    )
    used = models.DateTimeField(null=True, db_comment="when somebody registered with it; null not yet")

    class Meta:
        db_table = "invitation"
        db_table_comment = "links that let people register"


class AuditEntry(models.Model):
    """Somebody did something that matters. Written once, never changed; bounded by `audit.MAX_ENTRIES`."""

    at = models.DateTimeField(default=timezone.now, db_index=True, db_comment="when")
    who = models.CharField(max_length=64, db_comment="name of who did it, as it was then")
    user = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="acts", db_comment="who did it; null: a command, or removed"
    )
    act = models.CharField(max_length=40, db_index=True, db_comment="what was done, a key of audit.ACTS")
    thing = models.CharField(max_length=300, db_comment="to what: a name, an address, a number")
    detail = models.CharField(max_length=500, default="", db_comment="more about it: a role, a reason")
    address = models.CharField(max_length=45, default="", db_comment="network address it came from; empty: a command")

    class Meta:
        db_table = "audit_entry"
        db_table_comment = "who did what to which thing, and when"


class Favourite(models.Model):
    """A page somebody wants to find again. Only they see it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="favourites", db_comment="whose it is")
    url = models.CharField(max_length=4096, db_comment="address of the page")
    title = models.CharField(max_length=300, default="", db_comment="its title when it was kept")
    created = models.DateTimeField(default=timezone.now, db_comment="when it was kept")

    class Meta:
        db_table = "favourite"
        db_table_comment = "pages people want to find again; private"
        constraints = [models.UniqueConstraint(fields=["user", "url"], name="favourite_once")]


class FailedSignIn(models.Model):
    """Wrong passwords lately, per address and name. Bounded by `throttle.MAX_ROWS`."""

    key = models.CharField(max_length=32, primary_key=True, db_comment="hash of the address, the name, or both")
    failures = models.IntegerField(default=0, db_comment="wrong passwords since `since`")
    since = models.DateTimeField(db_comment="start of the present window")

    class Meta:
        db_table = "failed_sign_in"
        db_table_comment = "wrong passwords lately, to slow down guessing"
