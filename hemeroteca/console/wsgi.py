"""The web application, for waitress or any other WSGI server."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """No body after HEAD, 204 and 304: a proxy that keeps connections would take it for the next answer."""
    statuses: list[str] = []

    def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        statuses.append(status[:3])
        return start_response(status, headers, *more)

    body = _django(environ, start)
    if environ["REQUEST_METHOD"] != "HEAD" and statuses[-1] not in ("204", "304"):
        return body
    getattr(body, "close", lambda: None)()
    return []
