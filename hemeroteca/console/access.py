"""Who may see a page of the console."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponseBase

View = Callable[..., HttpResponseBase]


def for_readers(view: View) -> View:
    """Anybody while `open_search` is set, else people who signed in."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if settings.CONFIG.open_search or request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return redirect_to_login(request.get_full_path())

    return checked
