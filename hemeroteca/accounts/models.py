"""Tables of people, tokens and failed sign-ins."""

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from hemeroteca.accounts.permissions import Actor, Role, can

ROLES = {
    Role.READER: _("reader"),
    Role.EDITOR: _("editor"),
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
        _("role"), max_length=13, choices=ROLES, default=Role.READER, db_comment="reader, editor, administrator"
    )
    password = models.CharField(_("password"), max_length=128, db_comment="salted hash, as Django writes it")
    is_active = models.BooleanField(_("may sign in"), default=True, db_comment="false: locked out, kept for history")
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

    user = models.ForeignKey(User, models.CASCADE, related_name="tokens", db_comment="person it acts for")
    label = models.CharField(max_length=100, db_comment="what it is for, in the words of its owner")
    prefix = models.CharField(max_length=12, unique=True, db_comment="first characters, to recognise it by")
    digest = models.CharField(max_length=64, db_comment="SHA-256 of the whole token; the token itself is not kept")
    role = models.CharField(
        max_length=13, choices=ROLES, db_comment="the most it may do: reader, editor, administrator"
    )
    scopes = models.JSONField(default=list, db_comment="first words of the actions it is for; empty: all")
    created = models.DateTimeField(default=timezone.now, db_comment="when it was made")
    expires = models.DateTimeField(null=True, blank=True, db_comment="not valid from then on; null: no end")
    last_used = models.DateTimeField(null=True, blank=True, db_comment="last use, to about ten minutes; null never")

    class Meta:
        db_table = "api_token"
        db_table_comment = "secrets of programs that use the API"

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.label})"


class FailedSignIn(models.Model):
    """Wrong passwords lately, per address and name. Bounded by `throttle.MAX_ROWS`."""

    key = models.CharField(max_length=32, primary_key=True, db_comment="hash of the address, the name, or both")
    failures = models.IntegerField(default=0, db_comment="wrong passwords since `since`")
    since = models.DateTimeField(db_comment="start of the present window")

    class Meta:
        db_table = "failed_sign_in"
        db_table_comment = "wrong passwords lately, to slow down guessing"
