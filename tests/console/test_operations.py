"""Operations: crawls looked into while they run, changed and given again; storage, backups, settings, health."""

import time

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.models import Tally
from hemeroteca.archive.stats import DAY_MS
from hemeroteca.errors import Conflict, Invalid
from hemeroteca.frontier import services
from hemeroteca.frontier.models import Crawl, CrawlEvent, CrawlOrder, Host, Page, QueuedVisit
from hemeroteca.frontier.visit import State
from hemeroteca.ingest.rules import CrawlOptions
from hemeroteca.instance import processes
from hemeroteca.instance.supervisor import ProcessFacts
from hemeroteca.jobs.models import Job
from tests.console.conftest import PASSWORD

database = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def crawl(db, instance):
    """A crawl that runs: one page captured, two that wait, one that failed."""
    made, _ = services.submit_crawl(SYSTEM, ["https://news.example/"], CrawlOptions(scope=urls.Scope(kind="host")))
    host = Host.objects.get_or_create(name="news.example")[0]
    rows = (
        ("", State.DONE, "", 200, 1),
        ("calendar/2031", State.QUEUED, "", 0, 0),
        ("story", State.QUEUED, "", 0, 0),
        ("broken", State.FAILED, "http-503: Service Unavailable", 503, 0),
    )
    for depth, (path, state, reason, status, versions) in enumerate(rows):
        url = f"https://news.example/{path}"
        page = Page.objects.create(key=urls.key(url), url=url, host=host, status=status, versions=versions)
        QueuedVisit.objects.create(crawl=made, page=page, host=host, state=state, reason=reason, depth=min(depth, 1))
    made.counts = {"pages": 1, "failed": 1, "queued": 2, "pages_per_second": 1.5}
    made.save()
    return made


def states(crawl):
    return dict(QueuedVisit.objects.filter(crawl=crawl).values_list("page__url", "state"))


def fill_days(number):
    """A gigabyte a day, until today."""
    today = int(time.time()) // 86_400
    common = {"status": 200, "mime": "text/html", "kind": "response", "version": True, "body_bytes": 3 << 30}
    for day in range(today - number + 1, today + 1):
        Tally.objects.create(
            day=day, captures=1000, record_bytes=10**9, first_ms=day * DAY_MS, last_ms=day * DAY_MS + 1, **common
        )


class TestServices:
    pytestmark = database

    def test_what_is_left_out_leaves_the_queue_and_stays_out(self, crawl):
        assert services.exclude(SYSTEM, crawl.pk, "/calendar/") == 1
        found = states(crawl)
        assert found["https://news.example/calendar/2031"] == State.EXCLUDED
        assert found["https://news.example/story"] == State.QUEUED
        assert found["https://news.example/"] == State.DONE
        crawl.refresh_from_db()
        assert crawl.revised  # the engine reads its options again
        assert services.options_of(crawl).scope.exclude == ("/calendar/",)
        with pytest.raises(Conflict):
            services.exclude(SYSTEM, crawl.pk, "/calendar/")
        with pytest.raises(Invalid):
            services.exclude(SYSTEM, crawl.pk, "(")
        with pytest.raises(Invalid):
            services.exclude(SYSTEM, crawl.pk, " ")

    def test_a_finished_crawl_is_given_again_as_it_was_last(self, crawl):
        services.exclude(SYSTEM, crawl.pk, "/calendar/")
        Crawl.objects.update(state=Crawl.State.FINISHED)
        again = services.run_again(SYSTEM, crawl.pk)
        assert again.pk != crawl.pk
        assert services.options_of(again).again
        assert services.options_of(again).scope.exclude == ("/calendar/",)
        assert states(again)["https://news.example/story"] == State.QUEUED
        assert services.run_again(SYSTEM, again.pk).pk == again.pk  # it has not finished: it goes on


class TestPages:
    pytestmark = database

    def test_every_page_with_its_true_reason_and_address(self, client, crawl, reader):
        client.force_login(reader)
        shown = client.get(f"/crawls/{crawl.pk}/pages?state=failed").content.decode()
        assert "news.example/broken" in shown
        assert "http-503: Service Unavailable" in shown
        assert "news.example/story" not in shown
        waiting = client.get(f"/crawls/{crawl.pk}/pages?state=queued&host=news.example").content.decode()
        assert "news.example/story" in waiting
        assert "news.example/story" not in client.get(f"/crawls/{crawl.pk}/pages?host=other.example").content.decode()
        assert client.get("/crawls/99999999999999999999/pages").status_code == 404

    def test_the_live_part_asks_for_the_page_again_at_the_end(self, client, crawl, reader):
        client.force_login(reader)
        answer = client.get(f"/crawls/{crawl.pk}/live")
        assert 'hx-target="#content"' not in answer.content.decode()
        assert "news.example/broken" in answer.content.decode()
        Crawl.objects.update(state=Crawl.State.FINISHED)
        answer = client.get(f"/crawls/{crawl.pk}/live")
        assert 'hx-trigger="load" hx-select="#content" hx-target="#content"' in answer.content.decode()
        assert "HX-Refresh" not in answer, "the browser does not leave by itself"
        assert 'hx-target="#content"' not in client.get(f"/crawls/{crawl.pk}").content.decode()

    def test_an_expression_that_cannot_be_read_is_told(self, client, crawl, director):
        client.force_login(director)
        answer = client.post(f"/crawls/{crawl.pk}", {"do": "exclude", "expression": "("}, follow=True)
        assert "message error" in answer.content.decode()
        assert services.options_of(Crawl.objects.get(pk=crawl.pk)).scope.exclude == ()

    def test_settings_are_for_administrators_and_hide_secrets(
        self, client, instance, settings, director, administrator
    ):
        from dataclasses import replace

        settings.CONFIG = replace(
            settings.CONFIG, wiki_token="s3cr3t-token", database="postgresql://ana:s3cr3t@db/x", delay=2.5
        )
        client.force_login(director)
        assert client.get("/settings").status_code == 403
        client.force_login(administrator)
        shown = client.get("/settings").content.decode()
        assert "s3cr3t" not in shown
        assert "postgresql://ana:(set)@db/x" in shown
        assert "<b>2.5</b>" in shown

    def test_settings_name_the_file_they_are_read_from(self, client, instance, tmp_path, monkeypatch, administrator):
        client.force_login(administrator)
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("HEMEROTECA_CONFIG", raising=False)
        assert "which does not exist yet" in client.get("/settings").content.decode()
        (tmp_path / "hemeroteca.toml").write_text("delay = 2.0")
        assert str(tmp_path / "hemeroteca.toml") in client.get("/settings").content.decode()

    def test_settings_are_explained_in_the_language_of_the_reader(self, client, instance, administrator):
        client.force_login(administrator)
        told = client.get("/settings", headers={"Accept-Language": "es"}).content.decode()
        assert "segundos que pasan como mínimo entre dos peticiones a un servidor" in told
        assert "least seconds between two requests" not in told

    def test_a_backup_is_a_job_and_a_path_that_is_none_is_refused(self, client, instance, tmp_path, administrator):
        client.force_login(administrator)
        assert client.post("/backups", {"target": "relative/folder"}).status_code == 422
        assert not Job.objects.exists()
        client.post("/backups", {"target": str(tmp_path / "copy")})
        assert Job.objects.get().kind == "instance.backup"
        assert str(tmp_path / "copy") in client.get("/backups").content.decode()

    def test_growth_is_projected_until_the_disk_is_full(self, client, world):
        fill_days(4)
        shown = client.get("/storage", headers={"Accept-Language": "en"}).content.decode()
        assert "365.0" in shown  # gigabytes in a year
        assert "The disk is full in about" in shown

    def test_health_and_metrics(self, client, world):
        answer = client.get("/healthz")
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok", "database": "ok", "disk": "ok"}
        text = client.get("/metrics").content.decode()
        assert "# TYPE hemeroteca_captures gauge" in text
        assert 'hemeroteca_pages{state="done"}' in text
        assert "hemeroteca_engine_up" in text
        samples = [line for line in text.splitlines() if not line.startswith("#")]
        assert all(float(line.rpartition(" ")[2]) >= 0 for line in samples)

    def test_a_full_disk_is_not_healthy(self, client, world, monkeypatch):
        monkeypatch.setattr("hemeroteca.api.health.MIN_FREE_BYTES", 1 << 62)
        answer = client.get("/healthz")
        assert (answer.status_code, answer.json()["disk"]) == (503, "the disk is full")


class TestInABrowser:
    pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

    def test_a_crawl_is_looked_into_and_narrowed(self, journey, crawl, administrator):
        page = journey("/crawls", administrator)
        page.get_by_role("link", name="news.example").first.click()
        page.get_by_text("news.example/broken").first.wait_for()
        page.look("crawl")
        page.locator("input[name=expression]").fill("/calendar/")
        page.get_by_role("button", name=page.say("Leave out", "Dejar fuera"), exact=True).click()
        page.get_by_text(page.say("1 address left the queue", "1 dirección salió de la cola")).wait_for()
        page.get_by_role("link", name=page.say("excluded", "excluida"), exact=False).first.click()
        page.get_by_text("news.example/calendar/2031").wait_for()
        page.look("pages")
        Crawl.objects.filter(pk=crawl.pk).update(state=Crawl.State.FINISHED)
        page.goto(f"{page.site}/crawls/{crawl.pk}")
        page.get_by_role("button", name=page.say("Run again", "Repetir")).click()
        page.wait_for_url(f"{page.site}/crawls/{crawl.pk + 1}")

    def test_storage_backups_and_settings_say_what_there_is(self, journey, tmp_path, administrator):
        page = journey("/storage", administrator)
        page.locator(".empty").wait_for()
        fill_days(12)
        page.goto(page.site + "/storage")
        page.locator("figure.chart[data-drawn] svg").wait_for()
        page.look("storage")
        page.goto(page.site + "/backups")
        page.look("none")
        page.locator("input[name=target]").fill("copies")
        page.get_by_role("button", name=page.say("Make a backup", "Hacer una copia")).click()
        page.locator(".message.error").wait_for()
        page.complaints.clear()  # the browser tells of the status 422
        page.locator("input[name=target]").fill(str(tmp_path / "copy"))
        page.get_by_role("button", name=page.say("Make a backup", "Hacer una copia")).click()
        page.get_by_text(page.say("waiting", "en espera")).first.wait_for()
        page.goto(page.site + "/backups")
        page.get_by_text(str(tmp_path / "copy")).wait_for()
        page.look("one")
        page.goto(page.site + "/settings")
        page.get_by_text("user_agent", exact=True).wait_for()
        page.look("settings")


@pytest.mark.database
def test_an_order_is_kept_run_paused_and_forgotten(client, world, director, reader):
    client.force_login(director)
    order = {
        "seeds": "https://diario.example/",
        "scope": "prefix",
        "name": "El diario",
        "every": "24",
        "exclude": "/x/",
    }
    assert client.post("/crawls", order | {"do": "keep"}).status_code == 302
    row = CrawlOrder.objects.get()
    assert (row.every_hours, row.options["scope"]["exclude"]) == (24.0, ["/x/"])
    told = client.get("/crawls").content.decode()
    assert "El diario" in told
    assert "every 24 h" in told
    answer = client.post("/crawls", {"do": "run", "order": "El diario"})
    row.refresh_from_db()
    assert answer["Location"] == f"/crawls/{row.last_crawl_id}"
    client.post("/crawls", {"do": "pause", "order": "El diario"})
    assert not CrawlOrder.objects.get().active
    assert client.post("/crawls", order | {"do": "keep", "name": ""}).status_code == 422
    client.force_login(reader)
    assert client.post("/crawls", {"do": "forget", "order": "El diario"}).status_code == 403
    client.force_login(director)
    client.post("/crawls", {"do": "forget", "order": "El diario"})
    assert not CrawlOrder.objects.exists()


@pytest.mark.database
def test_a_crawl_that_reached_its_limit_says_so_in_lists(client, world):
    Crawl.objects.filter(pk=world.crawl.pk).update(state="stopped", stop_reason="limit of 7 pages reached")
    assert "limit reached" in client.get("/crawls").content.decode()


@pytest.mark.database
def test_a_crawl_tells_its_log_its_hosts_and_what_it_captured_last(client, world):
    told = client.get(f"/crawls/{world.crawl.pk}").content.decode()
    assert "Where the queue is longest" in told
    assert "diario.example" in told
    assert "Captured last" in told
    assert 'id="log"' in told
    assert "<b>ordered</b>" in told
    assert "of its last run" not in told
    for what in ("began", "resumed", "began"):  # it was killed between
        CrawlEvent.objects.create(crawl=world.crawl, at_ms=1, what=what)
    assert "of its last run" not in client.get(f"/crawls/{world.crawl.pk}").content.decode()
    for what in ("stopped", "resumed", "began"):
        CrawlEvent.objects.create(crawl=world.crawl, at_ms=1, what=what)
    assert "of its last run" in client.get(f"/crawls/{world.crawl.pk}").content.decode()


@pytest.mark.database
def test_processes_and_logs_are_for_administrators(client, world, director, administrator):
    client.force_login(director)
    assert client.get("/workers").status_code == client.get("/logs").status_code == 403
    client.force_login(administrator)
    assert "No “hemeroteca serve” keeps processes here" in client.get("/workers").content.decode()
    assert client.post("/workers", {"do": "stop", "process": "engine"}).status_code == 302
    (world.instance.log_dir / "hemeroteca.log").write_text(
        "2026-01-31 10:00:00Z engine started (process 1)\n2026-01-31 10:00:01Z web: INFO <b>hola</b>\n"
        "2026-01-31 10:00:02Z jobs-2: INFO job 7\nhalf a line\n"
    )
    told = client.get("/logs").content.decode()
    assert "&lt;b&gt;hola&lt;/b&gt;" in told
    assert told.index("job 7") < told.index("hola") < told.index("engine started"), "the newest first"
    assert "hola" not in client.get("/logs", {"process": "jobs"}).content.decode()
    assert "hola" in client.get("/logs", {"q": "HOLA"}).content.decode()


class TestKeptOrdersInABrowser:
    pytestmark = [pytest.mark.browser, pytest.mark.slow]

    def test_an_order_is_kept_and_run(self, journey, administrator):
        page = journey("/crawls", administrator)
        page.locator("textarea[name=seeds]").fill("https://diario.example/otra")
        page.locator("form.order summary").click()
        page.get_by_label(page.say("Name of the order", "Nombre del encargo")).fill("El diario")
        page.locator("select[name=every]").select_option("168")
        page.look("order")
        page.get_by_role("button", name=page.say("Keep the order", "Guardar el encargo")).click()
        page.get_by_text(page.say("every 168 h", "cada 168 h")).wait_for()
        page.look("orders")
        page.get_by_role("button", name=page.say("Run now", "Ejecutar ahora")).click()
        page.get_by_role("heading", name=page.say("Log", "Registro")).wait_for()
        page.look("crawl")
        page.goto(f"{page.site}/workers")
        page.look("processes")
        page.goto(f"{page.site}/logs")
        page.look("logs")

    def test_every_button_of_the_processes_is_within_the_screen(self, visit, administrator, monkeypatch):
        since = 1_795_000_000_000
        kept = [
            ProcessFacts("web", "running", 3231, since, 1, may_stop=False),
            ProcessFacts("engine", "running", 3232, since, 12, "code 0"),
            ProcessFacts("jobs-2", "asleep", 0, since, 2, "code 0"),
        ]
        monkeypatch.setattr(processes, "processes", lambda _: [processes.Process(one, 133_000_000) for one in kept])
        page = visit("/sign-in?next=/workers", locale="es-ES")
        page.locator("input[name=name]").fill(administrator.name)
        page.locator("input[name=password]").fill(PASSWORD)
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Detener jobs-2").wait_for()
        cut = "[...document.querySelectorAll('main .scroll')].filter(box => box.scrollWidth > box.clientWidth).length"
        assert page.evaluate(cut) == 0
