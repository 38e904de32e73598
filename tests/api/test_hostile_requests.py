"""Requests of strangers that once made the server fail: an answer, never a 500."""

import pytest
from django.test import Client

from hemeroteca.accounts import SYSTEM
from hemeroteca.accounts import services as accounts
from hemeroteca.watch import services as watch
from tests.console.world import BREAD

pytestmark = [pytest.mark.database, pytest.mark.django_db]

HUGE = 1 << 70
PATHS = [
    f"/crawls/{HUGE}",
    f"/api/v1/crawls/{HUGE}",
    f"/api/v1/jobs/{HUGE}",
    f"/api/v1/watch/subscriptions/{HUGE}",
    f"/api/v1/watch/changes?subscription={HUGE}",
    f"/api/v1/watch/metrics?subscription={HUGE}",
    f"/api/v1/watch/series?subscription={HUGE}",
    f"/api/v1/watch/feed?subscription={HUGE}",
    f"/api/v1/watch/pages?subscription={HUGE}",
    f"/api/v1/signals/sources?subscription={HUGE}",
    f"/api/v1/signals/websub/{HUGE}/aaaaaaaaaa",
    f"/api/v1/pages?crawl={HUGE}",
    f"/api/v1/search?q=a&page={HUGE}",
    f"/?q=a&page={HUGE}",
    f"/cdx?url={BREAD}&limit={HUGE}",
    f"/cdx?url={BREAD}&page={HUGE}",
    f"/cdx?url={BREAD}&offset={HUGE}",
    f"/cdx?url={BREAD}&from={HUGE}&to=-1",
    f"/cdx/search/cdx?url={BREAD}&limit=-{HUGE}",
    f"/cdx?url={BREAD}&closest={HUGE}",
    f"/cdx?url={BREAD}&collapse=timestamp:{HUGE}",
    f"/cdx?url={BREAD}&resumeKey=x&pageSize={HUGE}",
    "/archive?collection=",
    "/archive?collection=%C2%B2",
    "/archive?url=a&collection=%C2%B2",
    "/api/v1/history/addresses?collection=",
    "/api/v1/history/addresses?collection=%C2%B2",
    "/api/v1/watch/changes?collection=%C2%B2",
    "/api/v1/watch/changes?collection=",
    "/api/v1/watch/metrics?collection=%C2%B2",
    "/api/v1/watch/metrics?collection=",
    "/api/v1/watch/feed?collection=%C2%B2",
    "/api/v1/watch/series?collection=%C2%B2",
    "/api/v1/watch/pages?collection=%C2%B2",
    "/api/v1/watch/groups?collection=%C2%B2",
    "/?q=collection:%C2%B2",
    "/?q=collection:",
    "/api/v1/search?q=collection:",
    "/search.rss?q=collection:%C2%B2",
    "/archive?url=example.org&since=1066-01-01&until=0001-01-01",
    "/api/v1/history/addresses?url=a.b&since=0001&until=9999",
    f"/page?url={BREAD}&year=0001",
    f"/page?url={BREAD}&year=1066",
    f"/page?url={BREAD}&day=1066-01-01",
    f"/page?url={BREAD}&year=9999",
    f"/at?url={BREAD}&at=0001",
    f"/at?url={BREAD}&at=10660101",
    f"/compare?url={BREAD}&a=0001&b=1066",
    f"/compare?url={BREAD}&a={HUGE}",
    f"/memento/00010101000000/{BREAD}",
    f"/memento/{HUGE}/{BREAD}",
    f"/memento/10660101000000/{BREAD}",
    "/timegate/http://[",
    "/?q=date:..1066",
    "/?q=date:0001..0002",
    f"/?q=before:{HUGE}",
    "/?q=at:0001",
    "/page?url=http://[",
    "/api/v1/captures?url=http://[",
    "/api/v1/pages/by-url?url=http://[",
    "/api/v1/history/calendar?url=http://[",
    "/api/v1/history/compare?url=http://[",
    "/at?url=http://[",
    "/compare?url=http://[",
    "/cdx?url=http://[",
    "/timemap/link/http://[",
    "/memento/2026/http://[",
    "/?q=site:%5B",
    "/explain?q=a&url=http://[",
    "/explain?q=a&key=%C2%B2",
    "/explain?q=%00",
    "/?q=%00",
    "/page?url=%00",
    "/archive?url=%00&match=host",
    "/?q=a&page=%C2%B2",
    "/sign-in?next=%00",
    "/api/v1/watch/page?url=http://[",
    "/api/v1/watch/page?url=%00",
    "/api/v1/captures?url=%00&cursor=W10",
    "/suggest?q=%00",
    "/suggest/options?q=%00",
    "/indexnow?url=http://[&key=aaaaaaaaaa",
    "/bot?host=%00",
    "/bot?host=http://[",
    "/api/v1/wiki/articles?title=%00",
    "/api/v1/wiki/revisions?user=%00",
    "/api/v1/notes?tag=%00",
    "/c/a?q=%00",
    "/warc/%00",
    "/warc/..%2fx",
]


@pytest.mark.parametrize("who", ["stranger", "administrator"])
def test_no_strange_request_makes_the_server_fail(world, administrator, who):
    watch.set_collection(SYSTEM, "²", {})
    watch.subscribe(SYSTEM, watch.Order(url="https://diario.example/", collection="²"))
    client = Client(raise_request_exception=False, headers={"accept-datetime": "Mon, 01 Jan 0001 00:00:00 GMT"})
    if who != "stranger":
        client.force_login(administrator)
    failed = [path for path in PATHS if client.get(path).status_code >= 500]
    assert failed == []


@pytest.mark.parametrize("token", ["hem_\x00" + "a" * 40, "hemdev_\x00" + "a" * 40, "\x00", "hem_é" + "a" * 40])
def test_a_token_of_any_letters_is_only_unknown(db, token):
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    assert client.get("/api/v1/status").status_code == 401
    assert client.post("/fleet/v1/lease", b"{}", "application/json").status_code == 401


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "application/json; charset=x",
        "application/x-www-form-urlencoded; charset=nonsense",
        "\x7f/ü",
    ],
)
@pytest.mark.parametrize(
    "path",
    [
        "/sign-in",
        "/language",
        "/crawls",
        "/searches",
        "/indexnow",
        "/api/v1/crawls",
        "/api/v1/signals/aaaaaaaaaa",
        "/api/v1/watch/subscriptions/import",
        "/api/v1/jobs",
        "/api/v1/signals/websub/1/aaaaaaaaaa",
        "/preferences",
        "/sign-out",
    ],
)
def test_bodies_without_a_sense_are_refused(world, administrator, path, kind):
    client = Client(raise_request_exception=False)
    client.force_login(administrator)
    for checks in (False, True):
        client.handler.enforce_csrf_checks = checks
        assert client.generic("POST", path, b"\xff{]--", kind).status_code < 500


NO_NUMBERS = ["²", "9" * 5000, "-1", "1e3", "٣" * 30]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_looks_like_a_number_and_is_none(world, administrator, text):
    """Where a name may be a number, and in the fields of forms."""
    client = Client(raise_request_exception=False)
    client.force_login(administrator)
    token = accounts.create_token(SYSTEM, administrator, "x").secret
    key = {"Authorization": f"Bearer {token}"}
    asked = [
        client.put(f"/api/v1/publications/{text[:90]}", "{}", "application/json", headers=key),
        client.delete(f"/api/v1/watch/collections/{text[:90]}", headers=key),
        client.post(
            "/api/v1/fetch",
            '{"urls": ["http://a.example/"]}',
            "application/json",
            headers=key | {"Prefer": f"wait={text[:900]}"},
        ),
        client.post("/crawls", {"seeds": "http://a.example/", "limit": text, "scope": "host"}),
        client.post(
            "/crawls", {"seeds": "http://a.example/", "depth": text, "scope": "host", "do": "keep", "name": "x"}
        ),
        client.post("/account", {"do": "session", "session": text}),
        client.post("/geo/focus", {"limit": text, "target": "ows", "seeds": "http://a.example/", "order": "keywords"}),
        client.post("/simulator", {"days": text, "source": text, "warmup": "1", "pages": "1", "seed": "1"}),
        client.post("/archive/upload", {"name": "a.warc", "size": text}),
        client.post("/archive/erase", {"do": "lift", "takedown": text}),
    ]
    assert [answer.request["PATH_INFO"] for answer in asked if answer.status_code >= 500] == []
