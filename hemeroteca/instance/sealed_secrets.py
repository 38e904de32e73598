"""Secrets of others (passwords of sites, addresses of channels) as they lie in the database: encrypted with the key of
the instance, so that a copy of the database alone gives nothing away. And of secrets of ours, their digests."""

import base64
import hashlib
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.db import models

MARK = "sealed:"


def seal(text: str) -> str:
    return MARK + _box(settings.SECRET_KEY).encrypt(text.encode()).decode() if text else text


def unseal(text: str) -> str:
    """Empty for what another key sealed; what was never sealed stays."""
    from cryptography.fernet import InvalidToken  # some megabytes: only where there is a secret

    if not text.startswith(MARK):
        return text
    try:
        return _box(settings.SECRET_KEY).decrypt(text.removeprefix(MARK)).decode()
    except InvalidToken:
        return ""


def digest(secret: str) -> str:
    """All that is kept of a secret of ours that only has to be known again: a token, a one-time code, an invitation.
    It has so many random bits that one fast hash is as safe as a slow one and costs the API nothing."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


@lru_cache(4)
def _box(secret: str) -> Any:
    from cryptography.fernet import Fernet

    key = hashlib.blake2b(b"hemeroteca secrets", key=secret.encode()[:64], digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))


class SealedField(models.TextField):  # type: ignore[type-arg]
    """A text that is sealed in the database and plain in Python. It cannot be looked up by its value."""

    def get_prep_value(self, value: Any) -> Any:
        return seal(value) if isinstance(value, str) else value

    def from_db_value(self, value: Any, *_: Any) -> Any:
        return unseal(value) if isinstance(value, str) else value

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs
