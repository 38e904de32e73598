"""What every template may use."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from hemeroteca import __version__
from hemeroteca.accounts.models import Role, User


def shared(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    return {
        "version": __version__,
        "languages": settings.LANGUAGES,
        "may_edit": isinstance(user, User) and user.may(Role.EDITOR),
        "may_read": settings.CONFIG.open_search or (isinstance(user, User) and user.may(Role.READER)),
    }
