"""Every address of the web process: the pages of the console and the routes of the API."""

from functools import cached_property
from typing import Any

from django.urls import URLResolver
from django.urls.resolvers import RoutePattern

from hemeroteca.api import protocols
from hemeroteca.console import error_pages
from hemeroteca.console import routes as console


class LateApi(URLResolver):
    """The routes of the API, which are imported with the first request for one, or for the address of one."""

    def __init__(self) -> None:
        super().__init__(RoutePattern("api/v1/"), "hemeroteca.api.routes", app_name="ninja", namespace="api")

    @cached_property
    def url_patterns(self) -> Any:
        from hemeroteca.api import routes

        return routes.api_patterns

    def _populate(self) -> None:
        if "url_patterns" in self.__dict__:  # else it is only Django that lists what there is
            super()._populate()

    @property
    def reverse_dict(self) -> Any:
        assert self.url_patterns
        return super().reverse_dict


urlpatterns = [*console.urlpatterns, LateApi(), *protocols.urlpatterns]
handler400 = error_pages.bad_request
handler403 = error_pages.forbidden
handler404 = error_pages.not_found
handler500 = error_pages.failed
