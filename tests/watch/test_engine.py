"""The whole way: subscribe, let a simulated web live for days, and see what the engine visited and noticed."""

import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import IndexedCapture
from hemeroteca.engine import orders
from hemeroteca.engine.loop import Engine
from hemeroteca.frontier import services as frontier
from hemeroteca.frontier.models import Crawl, Page, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.watch import observations, services, site_metrics
from hemeroteca.watch.fields import Order
from hemeroteca.watch.models import Change, Observation, SignalSource, WatchedPage
from simweb import SimWeb
from tests.watch.driving import Days

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True), pytest.mark.slow]


def watch(web: SimWeb, **options):
    order = Order(url=web.seed_urls(1)[0], scope="host", requisites=False, **options)
    return services.subscribe(SYSTEM, order)[0]


@pytest.mark.simulation
def test_auto_sees_about_as_much_as_a_fixed_frequency_with_fewer_visits(monkeypatch):
    seen = {}
    for mode in ("fixed 24", "auto"):
        with SimWeb(seed=5, hosts=1, pages_per_host=15, page_bytes=3000, trouble=0, robots="open") as web:
            for other in list(services.Subscription.objects.all()):
                services.remove(SYSTEM, other.pk)
            Observation.objects.all().delete()
            Page.objects.update(digest="", etag="", last_modified="")
            watch(web, mode=mode)
            days = Days(web, days=24, step_hours=6)
            days.run(monkeypatch)
            (row,) = site_metrics.measure("all", until_ms=int(days.now * 1000) + 1)
            seen[mode] = row
    fixed, auto = seen["fixed 24"], seen["auto"]
    assert fixed.pages >= 15
    assert auto.pages == fixed.pages
    assert fixed.changes > 20
    assert auto.visits < 0.9 * fixed.visits  # bursts shorten intervals
    assert auto.changes >= 0.75 * fixed.changes
    assert auto.freshness > fixed.freshness - 0.05


def test_a_visit_becomes_an_observation_a_change_and_an_importance(monkeypatch):
    with SimWeb(seed=6, hosts=1, pages_per_host=4, page_bytes=3000, changes="daily", trouble=0, robots="open") as web:
        subscription = watch(web, mode="fixed 24")
        Days(web, days=4, step_hours=6).run(monkeypatch)
        crawl = Crawl.objects.get(pk=subscription.crawl_id)
        assert crawl.state == "running"  # a standing crawl goes on with the next engine
        assert Observation.objects.filter(important=True).exists()
        assert (
            Observation.objects.filter(conditional=True).exists() or Observation.objects.filter(changed=False).exists()
        )
        change = Change.objects.order_by("pk").first()
        assert change.total > 0.05
        assert "+" in change.diff
        assert change.title
        capture = IndexedCapture.objects.get(record_id=change.record_id)
        assert capture.version
        assert capture.importance > 0.05
        page = WatchedPage.objects.get(key=urls.key(change.url))
        assert page.changes >= 1
        observations.describe([page.key], page.last_ms)
        page.refresh_from_db()
        assert page.group in ("high", "medium")
        kinds = set(SignalSource.objects.values_list("kind", flat=True))
        listed = set(WatchedPage.objects.exclude(listing="").values_list("listing", flat=True))
        assert kinds == listed


def test_a_subscription_made_while_the_engine_runs_begins_at_once_and_a_pause_ends_its_visits(monkeypatch):
    with SimWeb(seed=7, hosts=1, pages_per_host=3, page_bytes=3000, trouble=0, robots="open") as web:
        made: list[int] = []
        counted: list[int] = []

        def meanwhile(days: Days) -> None:
            hours = (days.now - days.start) / 3600
            if hours == 6:
                made.append(watch(web, mode="fixed 6").pk)
            elif hours == 60:
                services.pause(SYSTEM, made[0])
            elif hours >= 72:
                counted.append(Observation.objects.count())

        Days(web, days=5, step_hours=6, meanwhile=meanwhile).run(monkeypatch)
        assert WatchedPage.objects.filter(listing="").count() >= 3
        assert counted[0] == counted[-1] > 6
        assert Crawl.objects.get().state == "stopped"


def test_what_is_set_for_a_site_reaches_a_running_engine(monkeypatch):
    with SimWeb(seed=7, hosts=1, pages_per_host=3, page_bytes=3000, trouble=0, robots="open") as web:
        watch(web, mode="fixed 6")
        host = urls.host(web.seed_urls(1)[0])
        monkeypatch.setattr(orders, "SITES_SECONDS", 0.0)
        visits: list[int] = []

        def meanwhile(days: Days) -> None:
            hours = (days.now - days.start) / 3600
            if hours in (24, 72):
                frontier.set_site(SYSTEM, host, {"visits_per_day": "1" if hours == 24 else None})
            visits.append(Observation.objects.count())

        Days(web, days=5, step_hours=6, meanwhile=meanwhile).run(monkeypatch)
        calm, busy = visits[11] - visits[4], visits[19] - visits[12]
        assert calm <= 3 < 12 <= busy


def test_outside_its_window_not_even_the_first_visit_is_made(monkeypatch):
    with SimWeb(seed=7, hosts=1, pages_per_host=3, page_bytes=3000, trouble=0, robots="open") as web:
        now = datetime.now(UTC)
        tomorrow = (now + timedelta(days=1)).strftime("%a").lower()
        watch(web, mode="fixed 6", windows=[tomorrow])
        days = Days(web, days=0, step_hours=6)
        days.now = now.timestamp()
        looks: list[int] = []

        def tick(engine: Engine) -> None:
            looks.append(QueuedVisit.objects.filter(due_ms__gt=0).count())
            if looks[-1] or len(looks) > 200:
                engine.stop("seen enough")

        monkeypatch.setattr(days, "tick", tick)
        days.run(monkeypatch)
        assert not IndexedCapture.objects.exists()
        (visit,) = QueuedVisit.objects.filter(state=State.QUEUED)
        assert now.timestamp() < visit.due_ms / 1000 < now.timestamp() + 86_400


class Recoloured:
    """A site of one page that changes daily, and a style and a picture that are replaced in their places on day 4."""

    def __init__(self) -> None:
        self.hours = 0.0
        self.asked: list[tuple[str, int]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                day = int(site.hours // 24)
                late = day >= 4
                bodies = {
                    "/": ("text/html", f"<link rel=stylesheet href=/style.css><img src=/logo.png><p>{WORDS[day % 8]}"),
                    "/style.css": ("text/css", "body { color: %s; margin: 0 }" % ("#c00" if late else "#006")),
                    "/logo.png": ("image/png", f"\x89PNG{late}"),
                }
                kind, text = bodies.get(self.path, ("text/plain", ""))
                tag = f'"{hash(text)}"'
                status = 404 if not text else 304 if self.headers.get("If-None-Match") == tag else 200
                site.asked.append((self.path, status))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("ETag", tag)
                body = text.encode("latin-1") if status == 200 else b""
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.resolve = f"*.sim.test=127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def advance(self, hours: float) -> None:
        self.hours += hours

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


WORDS = ("alpha beta", "gamma delta", "epsilon zeta", "eta theta", "iota kappa", "lambda mu", "nu xi", "omicron pi")


def test_a_style_and_a_picture_replaced_at_their_addresses_are_seen(monkeypatch):
    # 10 days, a visit a day, each with a new version: style and picture are asked for every second day, 4 to 6 times,
    # all but the first visit and the one after day 4 answered with 304.
    site = Recoloured()
    try:
        services.subscribe(SYSTEM, Order(url="http://one.sim.test/", scope="host", mode="fixed 24"))
        Days(site, days=10, step_hours=6).run(monkeypatch)
    finally:
        site.close()
    for path, vector in (("/style.css", "view"), ("/logo.png", "content")):
        answers = [status for asked, status in site.asked if asked == path]
        assert 4 <= len(answers) <= 7
        assert answers.count(200) == 2
        change = Change.objects.get(url=f"http://one.sim.test{path}")
        assert getattr(change, vector) > 0.05
        assert change.key == urls.key("http://one.sim.test/")
