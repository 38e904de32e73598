"""Every address of the web process, in one list."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from hemeroteca.api import cdx, memento, opensearch, signals
from hemeroteca.api.app import api
from hemeroteca.console import archive_pages, search_pages, views

admin.autodiscover()

urlpatterns: list[URLPattern | URLResolver] = [
    path("", search_pages.search, name="search"),
    path("suggest/options", search_pages.completions, name="completions"),
    path("explain", search_pages.explain, name="explain"),
    path("searches", search_pages.saved, name="saved"),
    path("preferences", search_pages.preferences, name="preferences"),
    path("status", views.status, name="status"),
    path("status/live", views.status_live, name="status-live"),
    path("crawls", views.crawls, name="crawls"),
    path("crawls/<int:number>", views.crawl, name="crawl"),
    path("archive", archive_pages.look_up, name="look-up"),
    path("page", archive_pages.page, name="page"),
    path("at", archive_pages.at, name="at"),
    path("compare", archive_pages.compare, name="compare"),
    path("compare/page", archive_pages.compare_page, name="compare-page"),
    path("v/<uuid:record_id>", archive_pages.capture, name="capture"),
    path("v/<uuid:record_id>/copy", archive_pages.capture_copy, name="capture-copy"),
    path("v/<uuid:record_id>/original", archive_pages.capture_original, name="capture-original"),
    path("v/<uuid:record_id>/replay", archive_pages.capture_replay, name="capture-replay"),
    path("sign-in", views.sign_in, name="sign-in"),
    path("sign-out", views.sign_out, name="sign-out"),
    path("language", set_language, name="language"),
    path("robots.txt", views.robots),
    path("favicon.ico", RedirectView.as_view(url="/static/console/logo.svg", permanent=True)),
    path("api/v1/", api.urls),
    # Search as browsers and feed readers speak it.
    path("opensearch.xml", opensearch.description, name="opensearch"),
    path("suggest", opensearch.suggest),
    path("search.rss", opensearch.feed, name="search-feed"),
    path("indexnow", signals.indexnow),
    # What other archives' tools speak.
    path("cdx", cdx.pywb),
    path("cdx/search/cdx", cdx.wayback),
    path("warc/<str:name>", cdx.warc_file),
    path("timegate/<path:url>", memento.timegate),
    path("timemap/link/<path:url>", memento.timemap_link),
    path("timemap/json/<path:url>", memento.timemap_json),
    path("memento/<str:stamp>/<path:url>", memento.copy),
    # One way in, with one limit on guessing.
    path("admin/login/", RedirectView.as_view(pattern_name="sign-in", query_string=True)),
    path("admin/", admin.site.urls),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.failed
