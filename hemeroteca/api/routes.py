"""Every route of the API, with the permission it needs (`accounts.permissions`) beside it."""

from collections.abc import Callable
from functools import wraps
from http import HTTPMethod
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, URLResolver, path
from django.utils.cache import get_conditional_response
from ninja import NinjaAPI, Status, Swagger
from ninja.errors import ValidationError
from ninja.openapi.docs import ABS_TPL_PATH
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback

from hemeroteca import __version__
from hemeroteca.accounts.permissions import ACTIONS, Strangers
from hemeroteca.api import (
    access,
    accounts,
    captures,
    crawls,
    fetch,
    fleet,
    focus,
    geo,
    jobs,
    notes,
    problems,
    protocols,
    publications,
    search,
    shapes,
    signals,
    sites,
    status,
    uploads,
    watch,
    wiki,
)
from hemeroteca.api.watch_shapes import MetricsOut, ReportOut, SubscriptionOut

GET, HEAD, POST, PUT, PATCH, DELETE = (HTTPMethod(name) for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))


CRAWL_NEW_OR_KNOWN = {200: crawls.CrawlOut, 201: crawls.CrawlOut}
NEW_OR_KNOWN = {200: SubscriptionOut, 201: SubscriptionOut}
METRICS = list[MetricsOut]  # or CSV
GEO_STATISTICS = {200: dict[str, Any]}
ACCEPTED = {202: wiki.ExtractionStatusOut}
REPORT = ReportOut  # or CSV, or a chart


class Route(NamedTuple):
    methods: HTTPMethod | tuple[HTTPMethod, ...]
    path: str  # under /api/v1; its first part is the tag
    action: str
    view: Callable[..., Any]
    summary: str
    status: int = 200
    answers: Any = None  # shapes by status, where the view's return type does not say it
    foreign: bool = False  # a protocol of others, who may add parameters of their own


ROUTES = (
    Route(GET, "/search", "search.read", search.search, "Search the archive"),
    Route(GET, "/search/explain", "search.read", search.explain, "Why a result stands where it does"),
    Route(GET, "/suggest", "search.read", search.suggest, "Complete or correct a query"),
    Route(GET, "/searches", "search.saved", search.saved, "Saved searches"),
    Route(POST, "/searches", "search.save", search.save, "Tell somebody when something new matches", 201),
    Route(DELETE, "/searches/{number}", "search.forget", search.unsave, "Forget a saved search", 204),
    Route(GET, "/preferences", "search.preferences", search.preferences, "Hosts that were judged"),
    Route(PUT, "/preferences/{host}", "search.prefer", search.prefer, "Raise, lower or block a host"),
    Route(DELETE, "/preferences/{host}", "search.prefer", search.forget, "Judge a host like any other again"),
    Route(GET, "/captures", "archive.read", captures.listing, "Captures of a URL, oldest first"),
    Route(POST, "/captures", "crawl.submit", captures.save, "Capture a page now", 202),
    Route(GET, "/captures/{id}", "archive.read", captures.one, "One capture"),
    Route(POST, "/erasures", "archive.erase", captures.erase, "Erase captures for good", 202),
    Route(GET, "/erasures", "archive.erase", captures.erasures, "What was erased, by whom and why"),
    Route(POST, "/takedowns", "archive.erase", captures.take_down, "Capture an address no more", 201),
    Route(GET, "/takedowns", "archive.erase", captures.taken_down, "Addresses that are not captured"),
    Route(DELETE, "/takedowns/{number}", "archive.erase", captures.lift, "Let it be captured again"),
    Route(GET, "/notes", "archive.notes", notes.find, "Pages by their tags and notes"),
    Route(GET, "/notes/by-url", "archive.notes", notes.of_page, "Tags and notes of a page"),
    Route(POST, "/notes", "archive.note", notes.add, "Write a note about a page", 201),
    Route(DELETE, "/notes/{number}", "archive.unnote", notes.remove, "Remove a note", 204),
    Route(GET, "/tags", "archive.notes", notes.tags, "Every tag, the most used first"),
    Route(PUT, "/tags", "archive.note", notes.set_tags, "Set the tags of a page"),
    Route(POST, "/uploads", "archive.import", uploads.begin, "Announce a file of captures", 201),
    Route(GET, "/uploads", "archive.import", uploads.listing, "Uploads, newest first"),
    Route(GET, "/uploads/{number}", "archive.import", uploads.one, "How much of an upload has come"),
    Route(PUT, "/uploads/{number}/content", "archive.import", uploads.part, "A part; the last orders the import"),
    Route(DELETE, "/uploads/{number}", "archive.import", uploads.cancel, "Forget an upload", 204),
    Route(GET, "/captures/{id}/content", "archive.read", captures.content, "The captured bytes"),
    Route(GET, "/captures/{id}/citation", "archive.read", captures.citation, "How to cite a capture"),
    Route(GET, "/account", "account.self", accounts.own, "Who you are and what your token may do"),
    Route(GET, "/account/preferences", "account.self", accounts.display, "How pages are shown to you"),
    Route(PATCH, "/account/preferences", "account.self", accounts.set_display, "Change how pages are shown to you"),
    Route(GET, "/account/history", "search.history", accounts.history, "What you searched for lately"),
    Route(DELETE, "/account/history", "search.history", accounts.forget_history, "Erase what you searched for", 204),
    Route(GET, "/people", "account.users", accounts.people, "Who may sign in"),
    Route(POST, "/people", "account.user", accounts.add, "Let somebody sign in", 201),
    Route(GET, "/people/{name}", "account.users", accounts.person, "One person"),
    Route(PATCH, "/people/{name}", "account.user", accounts.change, "Another role, locked out, or let in again"),
    Route(GET, "/invitations", "account.invite", accounts.invitations, "Invitations that can still be used"),
    Route(POST, "/invitations", "account.invite", accounts.invite, "Invite somebody", 201),
    Route(DELETE, "/invitations/{number}", "account.invite", accounts.withdraw, "Withdraw an invitation", 204),
    Route(GET, "/audit", "account.audit", accounts.entries, "Who did what"),
    Route(GET, "/favourites", "account.favourites", accounts.favourites, "Pages you keep"),
    Route(PUT, "/favourites", "account.favourites", accounts.keep, "Keep a page"),
    Route(DELETE, "/favourites", "account.favourites", accounts.forget, "Keep a page no longer", 204),
    Route(DELETE, "/favourites/all", "account.favourites", accounts.forget_all, "Keep none of them", 204),
    Route(GET, "/history/addresses", "archive.read", captures.addresses, "Addresses in the archive"),
    Route(GET, "/history/calendar", "archive.read", captures.calendar, "Days on which a page was captured"),
    Route(GET, "/history/compare", "archive.read", captures.compare, "How two captures differ"),
    Route(POST, "/crawls", "crawl.submit", crawls.submit, "Order a crawl", 201, CRAWL_NEW_OR_KNOWN),
    Route(GET, "/crawls", "crawl.read", crawls.crawls, "Crawls, newest first"),
    Route(GET, "/crawls/{number}", "crawl.read", crawls.crawl, "One crawl"),
    Route(POST, "/crawls/{number}/stop", "crawl.stop", crawls.stop, "Stop a crawl"),
    Route(POST, "/crawls/{number}/resume", "crawl.resume", crawls.resume, "Go on with a stopped crawl"),
    Route(POST, "/crawls/{number}/again", "crawl.submit", crawls.again, "Order a crawl once more"),
    Route(POST, "/crawls/{number}/exclude", "crawl.exclude", crawls.exclude, "Leave addresses out of a crawl"),
    Route(GET, "/crawls/{number}/log", "crawl.read", crawls.log, "What happened to a crawl"),
    Route(GET, "/orders", "crawl.read", crawls.orders, "Orders of crawls that are kept"),
    Route(PUT, "/orders/{name}", "crawl.submit", crawls.save_order, "Keep an order, or change it"),
    Route(POST, "/orders/{name}/run", "crawl.submit", crawls.run_order, "Give an order now"),
    Route(POST, "/orders/{name}/pause", "crawl.submit", crawls.pause_order, "Stop its clock"),
    Route(POST, "/orders/{name}/resume", "crawl.submit", crawls.resume_order, "Let its clock count again"),
    Route(DELETE, "/orders/{name}", "crawl.submit", crawls.remove_order, "Forget an order", 204),
    Route(GET, "/crawls/{number}/held", "crawl.read", crawls.held, "What a crawl holds back"),
    Route(POST, "/crawls/{number}/take", "crawl.take", crawls.take, "Take what a crawl holds back"),
    Route(GET, "/focus/finds", "focus.read", focus.finds, "What crawls with a focus found"),
    Route(GET, "/focus/explain", "focus.read", focus.explain, "Why a page was fetched when"),
    Route(GET, "/focus/thesauri", "focus.read", focus.every, "Thesauri a focus may name"),
    Route(GET, "/focus/thesauri/{name}", "focus.read", focus.one, "One thesaurus"),
    Route(GET, "/pages", "crawl.read", crawls.pages, "Pages, newest first"),
    Route(GET, "/pages/by-url", "crawl.read", crawls.page, "One page by its address"),
    Route(POST, "/jobs", "job.submit", jobs.submit, "Order a job", 201),
    Route(GET, "/jobs", "job.read", jobs.listing, "Jobs, newest first"),
    Route(GET, "/jobs/{number}", "job.read", jobs.one, "One job"),
    Route(GET, "/jobs/{number}/log", "job.read", jobs.log, "The log of a job"),
    Route(POST, "/jobs/{number}/cancel", "job.cancel", jobs.cancel, "Cancel a job"),
    Route(POST, "/jobs/{number}/resume", "job.cancel", jobs.resume, "Go on with a job that ended early"),
    Route(GET, "/sites/{host}", "site.read", sites.site, "Settings of a site"),
    Route(PATCH, "/sites/{host}", "site.change", sites.set_site, "Change settings of a site"),
    Route(DELETE, "/sites/{host}/noise", "site.change", sites.forget_noise, "Forget learned noise", 204),
    Route(POST, "/fetch", "fleet.fetch", fetch.order, "Have URLs fetched by the fleet", 201),
    Route(GET, "/fetch/{id}", "fleet.fetches", fetch.one, "One job of the fleet"),
    Route(DELETE, "/fetch/{id}", "fleet.fetches", fetch.cancel, "Cancel a job of the fleet"),
    Route(GET, "/fetch/{id}/results", "fleet.fetches", fetch.results, "What was fetched"),
    Route(GET, "/fetch/{id}/events", "fleet.fetches", fetch.events, "The same as server-sent events"),
    Route(GET, "/fetch/{id}/warc", "fleet.fetches", fetch.warc, "The same as a WARC file"),
    Route(GET, "/fetch/{id}/results/{number}/content", "fleet.fetches", fetch.content, "The bytes of a result"),
    Route(POST, "/fetch/{id}/results/{number}/complaint", "fleet.fetches", fetch.complain, "Say it is wrong"),
    Route(GET, "/fleet", "fleet.status", fetch.status, "How the fleet stands"),
    Route(GET, "/fleet/devices", "fleet.devices", fetch.devices, "Devices"),
    Route(GET, "/fleet/credits", "fleet.credits", fetch.balances, "Credits"),
    Route(GET, "/fleet/leaderboard", "fleet.status", fetch.leaderboard, "Devices that want to be seen"),
    Route(POST, "/fleet/client", "fleet.ask", fetch.ask, "Ask to be a client"),
    Route(GET, "/fleet/client", "fleet.ask", fetch.client, "How you stand as a client"),
    Route(GET, "/fleet/devices/{number}/days", "fleet.devices", fleet.days, "What a device did on each day"),
    Route(GET, "/fleet/statement", "fleet.credits", fleet.statement, "Entries of an account"),
    Route(GET, "/fleet/countries", "fleet.status", fleet.countries, "Devices of each country"),
    Route(POST, "/fleet/vantage", "fleet.vantage", fleet.order_vantage, "Have URLs compared from many places", 201),
    Route(GET, "/fleet/vantage", "fleet.vantages", fleet.vantages, "Vantage checks"),
    Route(GET, "/fleet/vantage/{id}", "fleet.vantages", fleet.vantage_report, "A vantage check and its last run"),
    Route(DELETE, "/fleet/vantage/{id}", "fleet.vantages", fleet.end_vantage, "End a vantage check"),
    Route(POST, "/fleet/load-tests", "fleet.load", fleet.propose_load, "Propose a load test of your site", 201),
    Route(GET, "/fleet/load-tests", "fleet.loads", fleet.loads_listing, "Load tests"),
    Route(GET, "/fleet/load-tests/{id}", "fleet.loads", fleet.load_report, "A load test, its times and errors"),
    Route(POST, "/fleet/load-tests/{id}/start", "fleet.loads", fleet.start_load, "Start a load test"),
    Route(POST, "/fleet/load-tests/{id}/stop", "fleet.loads", fleet.stop_load, "Stop a load test at once"),
    Route(GET, "/geo/services", "geo.read", geo.search, "Find geographic services"),
    Route(POST, "/geo/services", "geo.add", geo.add, "Visit an address and catalogue its services", 202),
    Route(GET, "/geo/services/{number}", "geo.read", geo.one, "One service with its layers"),
    Route(GET, "/geo/services/{number}/health", "geo.read", geo.health, "How a service stood and stands"),
    Route(POST, "/geo/services/{number}/claim", "geo.claim", geo.claim, "Claim a service as one's own"),
    Route(POST, "/geo/services/{number}/withdraw", "geo.withdraw", geo.withdraw, "Take it out of the catalogue"),
    Route(GET, "/geo/services/{number}/{form}", "geo.read", geo.form, "A service as other catalogues read it"),
    Route(GET, "/geo/statistics", "geo.read", geo.statistics, "Services now and ever", 200, GEO_STATISTICS),
    Route(GET, "/status", "instance.status", status.status, "How the instance stands"),
    Route(GET, "/watch/categories", "watch.read", watch.categories, "Categories of sites"),
    Route(PUT, "/watch/categories/{code}", "watch.collect", watch.set_category, "Make or rename a category"),
    Route(DELETE, "/watch/categories/{code}", "watch.collect", watch.remove_category, "Remove a category", 204),
    Route(GET, "/watch/collections", "watch.read", watch.collections, "Collections"),
    Route(PUT, "/watch/collections/{name}", "watch.collect", watch.set_collection, "Make or change a collection"),
    Route(DELETE, "/watch/collections/{name}", "watch.collect", watch.remove_collection, "Remove a collection", 204),
    Route(GET, "/publications", "watch.published", publications.listing, "Collections that everybody may read"),
    Route(PUT, "/publications/{name}", "watch.publish", publications.publish, "Publish a collection"),
    Route(DELETE, "/publications/{name}", "watch.publish", publications.unpublish, "Publish it no more", 204),
    Route(
        POST,
        "/watch/subscriptions",
        "watch.propose",
        watch.subscribe,
        "Watch or propose a page or site",
        201,
        NEW_OR_KNOWN,
    ),
    Route(GET, "/watch/subscriptions", "watch.subscriptions", watch.subscriptions, "Subscriptions"),
    Route(POST, "/watch/subscriptions/import", "watch.subscribe", watch.import_subscriptions, "Subscribe to a list"),
    Route(GET, "/watch/subscriptions/export", "watch.subscriptions", watch.export_subscriptions, "The same as a file"),
    Route(GET, "/watch/subscriptions/{number}", "watch.subscriptions", watch.subscription, "One subscription"),
    Route(PATCH, "/watch/subscriptions/{number}", "watch.change", watch.edit, "Change a subscription"),
    Route(POST, "/watch/subscriptions/{number}/pause", "watch.change", watch.pause, "Pause"),
    Route(POST, "/watch/subscriptions/{number}/resume", "watch.change", watch.resume, "Go on"),
    Route(POST, "/watch/subscriptions/{number}/check", "watch.change", watch.check, "Visit its pages now"),
    Route(POST, "/watch/subscriptions/{number}/approve", "watch.approve", watch.approve, "Approve a proposed site"),
    Route(POST, "/watch/subscriptions/{number}/refuse", "watch.approve", watch.refuse, "Refuse a proposed site"),
    Route(DELETE, "/watch/subscriptions/{number}", "watch.end", watch.remove, "End a subscription", 204),
    Route(GET, "/watch/pages", "watch.read", watch.pages, "Watched pages, by group"),
    Route(GET, "/watch/page", "watch.read", watch.page, "One watched page, and why it is visited when"),
    Route(GET, "/watch/groups", "watch.read", watch.groups, "How many pages are in each group"),
    Route(GET, "/watch/changes", "watch.read", watch.changes, "Important changes"),
    Route(GET, "/watch/metrics", "watch.read", watch.metrics_of, "What watching brought and cost", 200, METRICS),
    Route(GET, "/watch/reports/{name}", "watch.read", watch.report, "Reports of what was seen", 200, REPORT),
    Route(GET, "/watch/series", "watch.read", watch.series, "Visits and changes of each day"),
    Route((GET, HEAD), "/watch/feed", "watch.feed", watch.feed, "Important changes as a feed"),
    Route(GET, "/watch/channels", "watch.channels", watch.channels, "Where people are told about changes"),
    Route(POST, "/watch/channels", "watch.channel", watch.add_channel, "Tell somebody about changes", 201),
    Route(POST, "/watch/channels/{number}/{action}", "watch.channel", watch.set_channel, "Pause or resume a channel"),
    Route(DELETE, "/watch/channels/{number}", "watch.channel", watch.remove_channel, "End a channel", 204),
    Route(GET, "/wiki/articles", "wiki.read", wiki.articles, "Articles whose histories are kept"),
    Route(GET, "/wiki/revisions", "wiki.read", wiki.revisions, "Revisions of articles"),
    Route(POST, "/wiki/extract", "wiki.extract", wiki.extract, "Extract the history of an article", 202, ACCEPTED),
    Route(GET, "/wiki/status/{job}", "job.read", wiki.status, "How far an extraction is"),
    Route(GET, "/wiki/count", "wiki.read", wiki.count, "How many revisions"),
    Route(GET, "/wiki/avg", "wiki.read", wiki.avg, "Revisions a day"),
    Route(GET, "/wiki/mode", "wiki.read", wiki.mode, "The most frequent value"),
    Route(GET, "/wiki/metrics", "wiki.read", wiki.metrics, "Numbers about articles"),
    Route(GET, "/wiki/compare", "wiki.read", wiki.compare, "Articles beside each other"),
    Route(GET, "/wiki/trends", "wiki.read", wiki.trends, "What is edited unusually often"),
    Route(POST, "/wiki/query", "wiki.query", wiki.query, "SQL or a pipeline over histories"),
    Route(GET, "/signals/sources", "watch.sources", signals.sources, "Who tells us that pages change"),
    Route(DELETE, "/signals/sources/{number}", "watch.source", signals.remove_source, "Listen no longer", 204),
    Route(POST, "/signals/webhooks/{number}", "watch.source", signals.make_webhook, "Address for a site to call", 201),
    Route(
        GET,
        "/signals/websub/{number}/{token}",
        "watch.signal",
        signals.verify_intent,
        "A hub asks if we meant it",
        foreign=True,
    ),
    Route(
        POST, "/signals/websub/{number}/{token}", "watch.signal", signals.deliver, "A hub sends a feed", 202, None, True
    ),
    Route(
        POST, "/signals/{token}", "watch.signal", signals.webhook, "A site tells that pages changed", 202, None, True
    ),
)


class Docs(Swagger):
    """Swagger UI from ninja's own files, not from a CDN, without ninja among the installed apps."""

    template_cdn = str(ABS_TPL_PATH / "swagger.html")


class Api(NinjaAPI):
    def create_response(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """An answer with an ETag that the caller has already is 304, without a body."""
        answer = super().create_response(request, *args, **kwargs)
        if "ETag" in answer.headers:
            return get_conditional_response(request, etag=answer.headers["ETag"], response=answer) or answer
        return answer

    def get_openapi_schema(self, *args: Any, **kwargs: Any) -> Any:
        """Ninja's description, with the one answer that every operation may give: a problem."""
        schema = super().get_openapi_schema(*args, **kwargs)
        schema["components"].setdefault("schemas", {})["Problem"] = problems.SCHEMA
        answer = {
            "description": "Why it was not done.",
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for operations in schema["paths"].values():
            for operation in operations.values():
                operation["responses"]["default"] = answer
        return schema


api = Api(
    title="Hemeroteca",
    version=__version__,
    description="Search the archive, order crawls, and read what was captured. Times are UTC, as in "
    "`2026-01-31T12:00:00.000Z`. Errors are RFC 9457 problem details. Lists are cut by `limit` "
    "and go on with `cursor`. Unknown fields and parameters are refused.",
    urls_namespace="api",
    renderer=shapes.JsonAnswers(),
    docs=Docs(settings={"persistAuthorization": False, "validatorUrl": None}),
)
problems.install(api)


def _add(route: Route) -> None:
    permission = ACTIONS[route.action]
    methods = route.methods if isinstance(route.methods, tuple) else (route.methods,)
    shape = get_type_hints(route.view).get("return")
    if get_origin(shape) is Status:
        shape = get_args(shape)[0]
    if isinstance(shape, type) and issubclass(shape, HttpResponseBase | type(None)):
        shape = None
    api.default_router.add_api_operation(
        route.path,
        list(methods),
        route.view if route.foreign else _asked_by_name(route),
        auth=None if permission.strangers is Strangers.ALWAYS else access.Bearer(route.action),
        response=route.answers or {route.status: shape},
        summary=route.summary,
        tags=[route.path.split("/")[1]],
        openapi_extra={"x-permission": route.action},
    )


def _asked_by_name(route: Route) -> Callable[..., Any]:
    """The view; a parameter that does not exist is a mistake, not something to pass over (`shapes.RequestBody`)."""
    names: set[str] = set()

    @wraps(route.view)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        if unknown := sorted(set(request.GET) - names):
            known = f"known: {', '.join(sorted(names))}" if names else "this operation has none"
            reason = f"there is no such parameter; {known}"
            raise ValidationError([{"type": "unknown", "loc": ("query", name), "msg": reason} for name in unknown])
        return route.view(request, *args, **kwargs)

    def learn(operation: Operation) -> None:
        for model in operation.models:
            if model.__ninja_param_source__ == "query":
                names.update(model.__ninja_flatten_map__)

    contribute_operation_callback(view, learn)
    return view


for _route in ROUTES:
    _add(_route)

api_patterns, _app, _namespace = api.urls
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", (api_patterns, _app, _namespace)),
    *protocols.urlpatterns,
]
