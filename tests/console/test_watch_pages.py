"""Watch and the simulator as people use them: a site added, looked at, changed, told of; policies compared."""

import pytest

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import Runner
from hemeroteca.watch import observations, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Change, Channel, Observation, SiteRun, Subscription, WatchedPage
from tests.console.world import BREAD

DAY = 86_400_000
browser = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def watched(world):
    """A site that changed on every second of 40 days, and one that nobody has visited."""
    sub, _ = services.subscribe(
        SYSTEM, Order(url="https://diario.example/", scope="host", collection="Prensa", category="news", mode="auto")
    )
    services.subscribe(SYSTEM, Order(url="https://silent.example/", scope="page", name="<b>Silent</b>"))
    now = services.now_ms() // DAY * DAY
    key = urls.key(BREAD)
    WatchedPage.objects.create(
        key=key, subscription=sub, site="diario.example", url=BREAD, first_ms=now - 40 * DAY, last_ms=now, visits=41,
        changes=20, next_ms=now + DAY, reason={"code": "first"}, next_reason={"code": "then-chance", "hours": 24},
    )  # fmt: skip
    for day in range(41):
        at, hit = now - (40 - day) * DAY, bool(day % 2)
        Observation.objects.create(
            key=key, subscription=sub, seen_ms=at, interval_ms=DAY if day else 0, status=200, changed=hit,
            important=hit, bytes=4000 if hit else 0, stored=1500 if hit else 300, cost_ms=80, chance=0.4,
        )  # fmt: skip
        SiteRun.objects.create(
            subscription=sub, start_ms=at, end_ms=at + 60_000, pages=1, versions=hit, changes=hit, received=4000,
            stored=1500, cost_ms=80, index_ms=12.5, machine="raspberry",
        )  # fmt: skip
    captures = world.captures[BREAD]
    Change.objects.create(
        key=key, subscription=sub, site="diario.example", url=BREAD, title="El pan", seen_ms=captures[-1].captured_ms,
        since_ms=captures[0].captured_ms, record_id=captures[-1].record_id, view=0, form=0.1, content=0.4, total=0.5,
        diff="- El pan cuesta 1\n+ El pan cuesta 2",
    )  # fmt: skip
    observations.describe([key], now)
    return sub


@pytest.mark.database
@pytest.mark.django_db
class TestPages:
    def test_the_list_filters_by_group_category_and_address(self, client, watched, reader):
        client.force_login(reader)
        listed = client.get("/watch").content.decode()
        assert "diario.example" in listed
        assert "&lt;b&gt;Silent" in listed
        assert "0.50" in listed  # P
        assert "when a change will be likely enough" in listed
        asked = {"category=news": True, "group=low": False, "address=diario.example/economia/pan": True}
        for query, there in asked.items():
            shown = client.get(f"/watch?{query}").content.decode()
            assert (f'href="/watch/{watched.pk}"' in shown) is there, query
        assert "No watched site is like that" in client.get("/watch?address=nowhere.test").content.decode()
        assert client.get("/watch?format=csv")["Content-Type"].startswith("text/csv")

    def test_a_fixed_frequency_is_compared(self, client, watched, reader):
        # 40 days at one visit in 480 hours: two visits, which find a change each but hardly more.
        client.force_login(reader)
        shown = client.get(f"/watch/{watched.pk}/compared?hours=480").content.decode()
        cells = [cell.split("<")[0] for cell in shown.split('<td class="number">')[1:]]
        assert cells[:4] == ["41", "2", "20", "2"]

    def test_who_may_not_change_it_sees_no_buttons_and_cannot_send(self, client, watched, reader):
        client.force_login(reader)
        assert "Check now" not in client.get(f"/watch/{watched.pk}").content.decode()
        assert client.post(f"/watch/{watched.pk}", {"do": "remove"}).status_code == 403
        assert client.get(f"/watch/{watched.pk}/edit").status_code == 403
        assert Subscription.objects.filter(pk=watched.pk).exists()

    def test_a_refusal_shows_the_form_as_it_was_sent(self, client, watched, editor):
        client.force_login(editor)
        answer = client.post("/watch/add", {"url": "https://a.example/", "scope": "host", "category": "nothing"})
        assert answer.status_code == 422
        assert "category set" in answer.content.decode()
        answer = client.post(f"/watch/{watched.pk}/edit", {"mode": "magic", "name": "Mine"})
        assert answer.status_code == 422
        assert 'value="magic"' in answer.content.decode()

    def test_lists_are_imported_and_each_line_is_told(self, client, watched, editor):
        client.force_login(editor)
        asked = {"addresses": "https://a.example/\n\nnot an address", "collection": "New"}
        answer = client.post("/watch/import", asked)
        shown = answer.content.decode()
        assert Subscription.objects.filter(url="https://a.example/", collection__name="New").exists()
        assert "not an address" in shown

    def test_a_channel_is_tested_from_the_page(self, client, watched, editor):
        client.force_login(editor)
        services.add_channel(SYSTEM, ChannelOrder(target="http://127.0.0.1:9/", kind="webhook", name="hook"))
        answer = client.post("/watch/channels", {"channel": Channel.objects.get().pk, "do": "test"}, follow=True)
        assert "not delivered" in answer.content.decode()

    def test_parts_of_the_page_are_offered_and_tried_on_past_versions(self, client, watched, editor):
        client.force_login(editor)
        shown = client.get(f"/watch/{watched.pk}/elements", {"url": BREAD, "keep": "h1"}).content.decode()
        assert 'name="keep" value="main"' in shown
        assert "would" in shown
        tried = client.get(
            f"/watch/{watched.pk}/elements", {"url": BREAD, "keep": "h1["}, headers={"HX-Request": "true"}
        )
        assert "<html" not in tried.content.decode()
        assert 'role="alert"' in tried.content.decode()

    def test_categories_are_edited(self, client, watched, editor):
        client.force_login(editor)
        assert client.post("/watch/categories", {"code": "320", "name": "museums"}).status_code == 302
        assert "museums" in client.get("/watch/categories").content.decode()
        assert client.post("/watch/categories", {"code": "301", "do": "remove"}).status_code == 422

    def test_too_much_is_not_simulated(self, client, world, reader):
        client.force_login(reader)
        asked = {"source": "poisson", "budget": "own", "days": "9999999", "warmup": "10", "pages": "10", "seed": "1"}
        assert client.post("/simulator", {**asked, "policies": "simple"}).status_code == 422
        assert client.post("/simulator", {**asked, "days": "90"}).status_code == 422  # no policy
        assert not Job.objects.exists()


class TestInABrowser:
    pytestmark = browser

    def test_a_site_is_added_looked_at_and_changed(self, journey, watched, editor):
        page = journey("/watch", editor)
        page.look("list")
        page.get_by_role("searchbox").or_(page.locator("form.search input[name=url]")).first.fill("example.net")
        page.get_by_role("button", name=page.say("Watch a site", "Vigilar un sitio")).click()
        page.get_by_text("https://example.net/").first.wait_for()
        page.look("preview")
        page.get_by_role("button", name=page.say("Watch it", "Vigilarlo")).click()
        page.get_by_text(
            page.say("No important change was seen yet.", "Todavía no se ha visto ningún cambio importante.")
        ).wait_for()
        page.look("new")
        page.goto(f"{page.site}/watch/{watched.pk}")
        page.locator("figure.chart[data-drawn] svg").first.wait_for()
        page.look("site")
        page.locator("input[name=hours]").fill("240")
        page.get_by_text(page.say("Every 240 h", "Cada 240 h")).wait_for()
        page.get_by_role("button", name=page.say("Mark as read", "Marcar como leído")).click()
        page.get_by_role("button", name=page.say("Check now", "Comprobar ahora")).click()
        page.get_by_text(page.say("visited now", "se visitan ahora")).wait_for()
        assert Subscription.objects.get(pk=watched.pk).check_ms
        page.get_by_role("link", name=page.say("Change", "Modificar"), exact=True).click()
        page.locator("textarea[name=notify]").fill("below 10")
        page.look("edit")
        page.get_by_role("button", name=page.say("Save", "Guardar")).click()
        page.get_by_text("below 10").wait_for()
        assert Subscription.objects.get(pk=watched.pk).notify == ["below 10"]

    def test_parts_of_a_page_are_picked_and_tried_on_past_versions(self, journey, watched, editor, world):
        services.edit(SYSTEM, watched.pk, {"scope": "host"})
        page = journey(f"/watch/{watched.pk}/elements?url={BREAD}", editor)
        page.get_by_text(page.say("What that would have meant", "Qué habría supuesto")).wait_for()
        page.look("parts")
        page.locator("input[name=keep]").first.check()
        page.locator("#tried").wait_for()
        page.get_by_role("button", name=page.say("Save", "Guardar")).click()
        page.get_by_text(page.say("The changes are in force.", "Los cambios están en vigor.")).wait_for()
        assert Subscription.objects.get(pk=watched.pk).comparison["keep"]

    def test_channels_and_categories_are_kept(self, journey, watched, editor):
        page = journey("/watch/channels", editor)
        page.look("empty")
        page.locator("input[name=target]").fill("https://hooks.example/x")
        page.get_by_role("button", name=page.say("Add the channel", "Añadir el canal")).click()
        page.locator("code.break").wait_for()
        page.look("channel")
        page.goto(f"{page.site}/watch/categories")
        page.look("categories")
        page.goto(f"{page.site}/watch/import")
        page.locator("textarea[name=addresses]").fill("https://one.example/\nwrong")
        page.get_by_role("button", name=page.say("Import", "Importar")).click()
        page.locator("ul.tiles").wait_for()
        page.look("import")

    def test_policies_are_compared_as_a_job(self, journey, watched, editor):
        page = journey("/simulator", editor)
        page.look("form")
        page.locator("input[name=pages]").fill("10")
        page.locator("input[name=days]").fill("120")
        page.get_by_role("button", name=page.say("Simulate", "Simular")).click()
        page.locator(".progress").wait_for()
        assert Runner().drain(exclusive=False) == 1
        page.locator("figure.chart[data-drawn] svg").first.wait_for()
        page.get_by_text("auto").first.wait_for()
        assert page.locator(".strip").count() == 3
        page.look("outcome")
