"""The addresses beside the API, with their permissions.

Their views are imported with the first request for one: until then the web process does without the API's libraries.
"""

from functools import cached_property
from importlib import import_module
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.urls import path

# What other archives' tools, browsers, feed readers and announcing sites speak. Each view asks for its permission.
PROTOCOLS = (
    ("healthz", "instance.about", "health.healthz", "healthz"),
    ("metrics", "instance.status", "health.metrics", "metrics"),
    ("opensearch.xml", "instance.about", "opensearch.description", "opensearch"),
    ("suggest", "search.read", "opensearch.suggest", "suggest"),
    ("search.rss", "search.feed", "opensearch.feed", "search-feed"),
    ("cdx", "archive.read", "cdx.pywb", "cdx"),
    ("cdx/search/cdx", "archive.read", "cdx.wayback", "cdx-wayback"),
    ("warc/<str:name>", "archive.files", "cdx.warc_file", "warc-file"),
    ("timegate/<path:url>", "archive.read", "memento.timegate", "timegate"),
    ("timemap/link/<path:url>", "archive.read", "memento.timemap_link", "timemap-link"),
    ("timemap/json/<path:url>", "archive.read", "memento.timemap_json", "timemap-json"),
    ("memento/<str:stamp>/<path:url>", "archive.read", "memento.copy", "memento"),
    ("bot", "fleet.bot", "bot.page", "bot"),
    (".well-known/http-message-signatures-directory", "fleet.bot", "bot.keys", "bot-keys"),
    ("fleet/v1/code", "fleet.work", "devices.code", "fleet-code"),
    ("fleet/v1/connect", "fleet.work", "devices.connect", "fleet-connect"),
    ("fleet/v1/lease", "fleet.work", "devices.lease", "fleet-lease"),
    ("fleet/v1/beat", "fleet.work", "devices.beat", "fleet-beat"),
    ("fleet/v1/load", "fleet.work", "devices.load", "fleet-load"),
    ("fleet/v1/disconnect", "fleet.work", "devices.disconnect", "fleet-disconnect"),
    ("fleet/v1/blocks/<int:number>/renew", "fleet.work", "devices.renew", "fleet-renew"),
    ("fleet/v1/blocks/<int:number>/results", "fleet.work", "devices.results", "fleet-results"),
    ("fleet/worker.pyz", "fleet.work", "devices.worker", "fleet-worker"),
    ("fleet/worker.pyz.sha256", "fleet.work", "devices.worker_hash", "fleet-worker-hash"),
    ("indexnow", "watch.signal", "signals.indexnow", "indexnow"),
    ("geo/csw", "geo.read", "csw.csw", "csw"),
    ("geo/sitemap.xml", "geo.read", "records.sitemap", "geo-sitemap"),
    ("geo/records", "geo.read", "records.landing", "records"),
    ("geo/records/", "geo.read", "records.landing", "records-root"),
    ("geo/records/api", "geo.read", "records.description", "records-api"),
    ("geo/records/conformance", "geo.read", "records.conformance", "records-conformance"),
    ("geo/records/collections", "geo.read", "records.collections", "records-collections"),
    ("geo/records/collections/services", "geo.read", "records.collection", "records-collection"),
    ("geo/records/collections/services/items", "geo.read", "records.items", "records-items"),
    ("geo/records/collections/services/items/<str:identifier>", "geo.read", "records.item", "records-item"),
)


class LateView:
    """A view of this package that is imported when it is needed."""

    def __init__(self, action: str, name: str) -> None:
        self._action, self._name = action, name

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return self._view(request, *args, **kwargs)

    @property
    def csrf_exempt(self) -> bool:
        """What Django's middleware asks of a view before it calls it."""
        return getattr(self._view, "csrf_exempt", False)

    @cached_property
    def _view(self) -> Any:
        from hemeroteca.api import access

        module, _, name = self._name.partition(".")
        return access.protocol(self._action, getattr(import_module(f"hemeroteca.api.{module}"), name))


urlpatterns = [path(address, LateView(action, view), name=name) for address, action, view, name in PROTOCOLS]
