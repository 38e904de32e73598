"""The routes of this room alone, for its tests."""

from django.urls import path

from hemeroteca.api import cdx, memento

urlpatterns = [
    path("cdx", cdx.pywb),
    path("cdx/search/cdx", cdx.wayback),
    path("warc/<str:name>", cdx.warc_file),
    path("timegate/<path:url>", memento.timegate),
    path("timemap/link/<path:url>", memento.timemap_link),
    path("timemap/json/<path:url>", memento.timemap_json),
    path("memento/<str:stamp>/<path:url>", memento.copy),
]
