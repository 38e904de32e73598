"""Watch and the simulator as people use them: a site added, looked at, changed, told of; policies compared."""

import gzip
import re
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from hemeroteca import urls
from hemeroteca.accounts import SYSTEM
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import Runner
from hemeroteca.watch import observations, services
from hemeroteca.watch.fields import ChannelOrder, Order
from hemeroteca.watch.models import Change, Channel, Observation, SiteRun, Subscription, WatchedPage
from tests.console.world import BREAD, NOW
from tests.frontier.making import hold_back

DAY = 86_400_000
LOOKS = b"""<!doctype html><html><head><base href="/looks/"><meta http-equiv=refresh content="1;url=http://evil">
<link rel=stylesheet href="../style.css"><link rel=preload href=/evil.js><script src=/evil.js></script></head>
<body onload=evil()><h1 onclick="evil()">Bread</h1><img src="https://diario.example/bread.png" srcset="/evil 2x">
<a href="javascript:evil()">x</a><iframe src=/evil></iframe>
<form action=/evil><button formaction=/evil>Go</button></form>"""
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
    def test_its_crawl_leads_to_it_and_shows_no_commands(self, client, watched, reader):
        client.force_login(reader)
        page = client.get(f"/crawls/{watched.crawl_id}").content.decode()
        assert f'href="/watch/{watched.pk}"' in page
        assert "hemeroteca watch" not in page

    def test_it_tells_what_is_held_back_and_leads_to_where_it_can_be_taken(self, client, watched, reader):
        client.force_login(reader)
        assert "held back" not in client.get(f"/watch/{watched.pk}").content.decode()
        hold_back(watched.crawl, "https://diario.example/1", "https://diario.example/2")
        page = client.get(f"/watch/{watched.pk}").content.decode()
        assert f'<a href="/crawls/{watched.crawl_id}#held">2 addresses are held back until you decide</a>' in page

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

    def test_a_few_pages_of_a_site_are_listed_and_all_when_asked(self, client, watched, reader):
        client.force_login(reader)
        for number in range(20):
            WatchedPage.objects.create(
                key=1000 + number, subscription=watched, site="diario.example", first_ms=1, last_ms=1, next_ms=number,
                url=f"https://diario.example/n/{number}", reason={"code": "first"}, next_reason={"code": "first"},
            )  # fmt: skip
        names = [f">diario.example/n/{number}<" for number in range(20)]
        few = client.get(f"/watch/{watched.pk}").content.decode()
        everything = client.get(f"/watch/{watched.pk}?pages=all").content.decode()
        assert 5 < sum(name in few for name in names) <= 15
        assert "?pages=all#pages" in few
        assert all(name in everything for name in names)
        assert "?pages=all#pages" not in everything

    def test_its_figures_are_kept_until_it_is_visited_or_planned_anew(
        self, client, watched, reader, django_assert_max_num_queries
    ):
        client.force_login(reader)
        address = f"/watch/{watched.pk}"
        first = client.get(address).content.decode()
        assert "raspberry" in first
        with django_assert_max_num_queries(20):
            assert "raspberry" in client.get(address).content.decode()
        SiteRun.objects.create(
            subscription=watched,
            start_ms=services.now_ms(),
            end_ms=services.now_ms(),
            pages=3,
            machine="second-machine",
        )
        assert "second-machine" in client.get(address).content.decode()
        WatchedPage.objects.filter(subscription=watched).update(next_ms=2_000_000_000_000)
        assert client.get(address).content.decode().count("2033-05-18T03:33:20") == 2  # above, and in the list of pages
        services.pause(SYSTEM, watched.pk)
        assert client.get(address).content.decode().count("2033-05-18T03:33:20") == 1

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

    def test_a_refusal_shows_the_form_as_it_was_sent(self, client, watched, director):
        client.force_login(director)
        answer = client.post("/watch/add", {"url": "https://a.example/", "scope": "host", "category": "nothing"})
        assert answer.status_code == 422
        assert "category set" in answer.content.decode()
        answer = client.post(f"/watch/{watched.pk}/edit", {"mode": "magic", "name": "Mine"})
        assert answer.status_code == 422
        assert 'value="magic"' in answer.content.decode()

    def test_lists_are_imported_and_each_line_is_told(self, client, watched, director):
        client.force_login(director)
        asked = {"addresses": "https://a.example/\n\nnot an address", "collection": "New"}
        answer = client.post("/watch/import", asked)
        shown = answer.content.decode()
        assert Subscription.objects.filter(url="https://a.example/", collection__name="New").exists()
        assert "not an address" in shown

    def test_a_new_channel_speaks_the_language_of_who_makes_it(self, client, watched, director):
        client.force_login(director)
        for language in ("en", "es"):
            shown = client.get("/watch/channels", headers={"accept-language": language}).content.decode()
            assert f'<option value="{language}" selected>' in shown

    def test_before_and_after_compares_the_two_versions_of_that_change(self, client, watched, reader, world):
        client.force_login(reader)
        shown = client.get(f"/watch/{watched.pk}").content.decode()
        link = re.search(r'href="(/compare[^"]+)"', shown)[1].replace("&amp;", "&")
        compared = client.get(link).context
        assert [compared["old"].record_id, compared["new"].record_id] == [
            world.captures[BREAD][0].record_id,
            world.captures[BREAD][-1].record_id,
        ]

    def test_the_version_before_a_change_is_found_when_the_visit_before_was_pruned(
        self, client, watched, reader, world
    ):
        client.force_login(reader)
        Change.objects.update(since_ms=world.captures[BREAD][-1].captured_ms - 1000)  # of which no capture is kept
        shown = client.get(f"/watch/{watched.pk}")
        (change,) = shown.context["changes"]
        assert change["before"].record_id == world.captures[BREAD][-2].record_id

    def test_a_proposal_says_what_it_waits_for_and_a_refused_one_that_it_was(self, client, world, subscriber):
        client.force_login(subscriber)
        sent = {"url": "https://new.example/", "scope": "page"}
        shown = client.post("/watch/add", sent, follow=True).content.decode()
        assert "none before a director approves it" in shown
        assert 'value="resume"' not in shown
        services.refuse(SYSTEM, Subscription.objects.get().pk, "not ours")
        shown = client.post("/watch/add", sent, follow=True).content.decode()
        assert "proposed before and refused" in shown
        assert "not ours" in shown

    def test_a_channel_is_tested_from_the_page(self, client, watched, director):
        client.force_login(director)
        services.add_channel(SYSTEM, ChannelOrder(target="http://127.0.0.1:9/", kind="webhook", name="hook"))
        answer = client.post("/watch/channels", {"channel": Channel.objects.get().pk, "do": "test"}, follow=True)
        assert "not delivered" in answer.content.decode()

    def test_parts_of_the_page_are_offered_and_tried_on_past_versions(self, client, watched, director):
        client.force_login(director)
        shown = client.get(f"/watch/{watched.pk}/elements", {"url": BREAD, "keep": "h1"}).content.decode()
        assert 'name="keep" value="main"' in shown
        assert "would" in shown
        tried = client.get(
            f"/watch/{watched.pk}/elements", {"url": BREAD, "keep": "h1["}, headers={"HX-Request": "true"}
        )
        assert "<html" not in tried.content.decode()
        assert 'role="alert"' in tried.content.decode()

    def test_the_rules_in_force_are_shown_whatever_page_is_picked_from(self, client, watched, director):
        client.force_login(director)
        services.edit(SYSTEM, watched.pk, {"keep": ("main > p:nth-of-type(2)",)})
        shown = client.get(f"/watch/{watched.pk}/elements", {"url": BREAD}).content.decode()
        assert 'value="main &gt; p:nth-of-type(2)" checked' in shown

    def test_the_picked_page_has_its_looks_and_no_scripts_of_its_own(self, client, watched, director, world):
        client.force_login(director)
        style, image = (world.page(f"https://diario.example/{name}") for name in ("style.css", "bread.png"))
        world.capture(style, b"@import 'x.css'; h1 { color: red }</style><script>1</script>", NOW, "text/css")
        world.capture(image, b"\x89PNG picture", NOW, "image/png")
        page = world.page("https://diario.example/looks")
        row = world.capture(page, LOOKS, NOW + 1)
        answer = client.get(f"/watch/{watched.pk}/elements/{row.record_id}")
        shown = answer.content.decode()
        assert "h1 { color: red }" in shown
        assert "@import" not in shown
        assert 'src="data:image/png;base64,' in shown
        assert shown.count("<script nonce=") == 1  # ours
        assert "<script src=" not in shown
        assert "</style><script" not in shown
        shown, _, ours = shown.partition("<script nonce=")
        assert "postMessage" in ours
        for gone in ("onclick", "evil", "http-equiv", "javascript:", "<iframe", "srcset", "<base"):
            assert gone not in shown, gone
        policy = answer["Content-Security-Policy"]
        assert policy.startswith("sandbox allow-scripts; default-src 'none'")
        assert "allow-same-origin" not in policy
        assert client.get(f"/watch/{watched.pk}/elements/{uuid4()}").status_code == 404

    def test_conditions_are_rows_and_every_kind_can_be_given_and_taken_away(self, client, watched, director):
        client.force_login(director)
        form = {"url": watched.url, "scope": "host", "mode": "auto", "threshold": "0.05", "weight": "1"}
        form |= dict.fromkeys(("min_hours", "max_hours", "visits_per_day", "bytes_per_day"), "0")
        kinds = ["appears", "vanishes", "above", "below", "importance", "below"]
        values = ["sold out", " new  words ", "12,5", "3", "0.9", ""]
        answer = client.post(
            f"/watch/{watched.pk}/edit", {**form, "condition": kinds, "condition_value": values}, follow=True
        )
        kept = ["appears sold out", "vanishes new words", "above 12.5", "below 3", "importance 0.9"]
        assert Subscription.objects.get(pk=watched.pk).notify == kept, answer.content.decode()
        shown = client.get(f"/watch/{watched.pk}/edit").content.decode()
        assert shown.count('name="condition"') == 7
        assert 'value="sold out"' in shown
        wrong = client.post(f"/watch/{watched.pk}/edit", {**form, "condition": ["above"], "condition_value": ["much"]})
        assert wrong.status_code == 422
        assert 'value="much"' in wrong.content.decode()
        client.post(f"/watch/{watched.pk}/edit", {**form, "condition": ["above"], "condition_value": [""]})
        assert Subscription.objects.get(pk=watched.pk).notify == []

    def test_figures_by_group_and_category_stand_beside_a_fixed_frequency(self, client, watched, reader):
        # One site, 41 visits, 20 changes (P = .5: medium, news); every 480 hours two visits in 40 days would see 2.
        client.force_login(reader)
        for by, name in (("group", "medium"), ("category", "news"), ("collection", "Prensa")):
            shown = client.get(f"/watch/figures?by={by}&hours=480").content.decode()
            assert f'href="/watch?{by}={name}"' in shown
            cells = [cell.split("<")[0].strip() for cell in shown.split('<td class="number">')[1:]]
            assert cells[:3] == ["1", "41", "20"]
            assert cells[6] == "2"

    def test_changes_are_new_until_they_are_read(self, client, watched, reader):
        client.force_login(reader)
        assert ">unread</span>" in client.get(f"/watch/{watched.pk}").content.decode()
        client.post(f"/watch/{watched.pk}", {"do": "read"})
        assert ">unread</span>" not in client.get(f"/watch/{watched.pk}").content.decode()

    def test_every_visit_is_listed_with_its_reason(self, client, watched, reader):
        client.force_login(reader)
        last = Observation.objects.order_by("-pk").first()
        Observation.objects.filter(pk=last.pk).update(
            reason={"code": "interval", "policy": "simple", "hours": 24}, chance=0.37
        )
        shown = client.get(f"/watch/{watched.pk}/decisions").content.decode()
        assert shown.count("an important change") == 20
        assert shown.count("nothing new") == 20
        assert shown.count("the first version") == 1
        assert "0.37" in shown
        assert "simple" in shown
        assert (
            "nothing new"
            not in client.get(
                f"/watch/{watched.pk}/decisions", {"url": "https://diario.example/other"}
            ).content.decode()
        )

    def test_pictures_before_and_after_are_shown_where_a_browser_took_them(self, client, watched, reader, world):
        client.force_login(reader)
        assert "<img" not in client.get(f"/watch/{watched.pk}").content.decode().partition('class="changes"')[2]
        Change.objects.update(record_id=world.captures[BREAD][1].record_id)
        for row in world.captures[BREAD][:2]:
            world.capture(
                type("Shot", (), {"url": f"urn:screenshot:{BREAD}", "pk": None}),
                b"\x89PNG",
                row.captured_ms,
                "image/png",
            )
        shown = client.get(f"/watch/{watched.pk}").content.decode()
        for row in world.captures[BREAD][:2]:
            assert f'src="/v/{row.record_id}/picture?width=320"' in shown

    def test_a_history_of_ones_own_is_uploaded_and_simulated(self, client, world, reader):
        # Two pages for ten days: one changes daily at noon (10 changes), one on day 5. Visited daily, none is lost;
        # every 168 hours once (hour 168), one change of each page is seen and 9 of 11 are lost.
        client.force_login(reader)
        lines = ["site,page,seconds", *(f"s,a,{day * 86400 + 43200}" for day in range(10)), "s,b,475200"]
        asked = {"source": "upload", "budget": "own", "days": "10", "warmup": "0", "pages": "1", "seed": "0"}
        asked |= {"policies": ["fixed:24", "fixed:168"]}
        text = "\n".join(lines).encode()
        for name, data in (("t.csv", text), ("t.csv.gz", gzip.compress(text))):
            answer = client.post("/simulator", {**asked, "trace": SimpleUploadedFile(name, data)})
            assert answer.status_code == 302
            assert Runner().drain(exclusive=False) == 1
            facts = Job.objects.latest("pk").result["facts"]
            assert facts["pages"] == 2
            found = [(row["visits"], row["changes"], row["lost"]) for row in facts["policies"]]
            assert found == [(20, 11, 0), (2, 11, 9)]
        for wrong in (b"s,a", b"s,a,never", b"\xff\xfe", b"\x1f\x8b rubbish", b"s,a,1\n" * 400_000):
            answer = client.post("/simulator", {**asked, "trace": SimpleUploadedFile("t.csv", wrong)})
            assert answer.status_code == 422, wrong[:20]
        assert client.post("/simulator", asked).status_code == 422  # no file

    def test_an_outcome_names_its_history_and_the_form_stays_as_it_was_asked(self, client, watched, reader):
        client.force_login(reader)
        asked = {"budget": "own", "days": "90", "warmup": "7", "pages": "3", "seed": "5", "policies": ["nutch"]}
        for source, name in (("seasonal", "By weekday and season"), (str(watched.pk), watched.name)):
            sent = client.post("/simulator", asked | {"source": source})
            assert Runner().drain(exclusive=False) == 1
            shown = client.get(sent.headers["Location"])
            assert f"<b>{name}</b>" in shown.content.decode()
            form = shown.context["form"]
            assert (form["source"], form["budget"], form["policies"]) == (source, "own", ["nutch"])
            assert form["warmup"] == "7"

    def test_categories_are_edited(self, client, watched, director):
        client.force_login(director)
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

    def test_a_site_is_added_looked_at_and_changed(self, journey, watched, director):
        page = journey("/watch", director)
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
        page.get_by_role("link", name=page.say("Change", "Cambiar"), exact=True).click()
        page.locator("select[name=condition]").first.select_option("below")
        page.locator("input[name=condition_value]").first.fill("10")
        page.look("edit")
        page.get_by_role("button", name=page.say("Save", "Guardar")).click()
        page.get_by_text("below 10").wait_for()
        assert Subscription.objects.get(pk=watched.pk).notify == ["below 10"]

    def test_parts_of_a_page_are_picked_and_tried_on_past_versions(self, journey, watched, director, world):
        services.edit(SYSTEM, watched.pk, {"scope": "host"})
        page = journey(f"/watch/{watched.pk}/elements?url={BREAD}", director)
        page.get_by_text(page.say("What that would have meant", "Qué habría supuesto")).wait_for()
        frame = page.frame_locator("#picked-page")
        frame.locator("main p").first.click()
        page.locator("#picked-name").get_by_text("main > p:nth-of-type(1)").wait_for()
        page.get_by_role("button", name=page.say("Wider", "Más amplio")).click()
        page.locator("#picked-name").get_by_text("main", exact=True).wait_for()
        page.get_by_role("button", name=page.say("This does not count", "Esto no cuenta")).click()
        frame.locator("main[data-hm-ignore]").wait_for()
        page.locator("#chosen-ignore input").uncheck()
        frame.locator("nav a").click()
        page.get_by_role("button", name=page.say("Only this counts", "Solo cuenta esto")).click()
        page.get_by_text(page.say("would not count", "no contaría")).first.wait_for()  # both versions have the same
        page.locator("#chosen-keep input").uncheck()
        frame.locator("h1").click()
        page.get_by_role("button", name=page.say("Only this counts", "Solo cuenta esto")).click()
        page.locator("#chosen-keep code").get_by_text("h1").wait_for()
        page.get_by_text(page.say("would be told", "se avisaría")).first.wait_for()
        page.look("parts")
        page.get_by_role("button", name=page.say("Save", "Guardar")).click()
        page.get_by_text(page.say("The changes are in force.", "Los cambios están en vigor.")).wait_for()
        assert Subscription.objects.get(pk=watched.pk).comparison["keep"] == ["h1"]
        page.goto(f"{page.site}/watch/{watched.pk}/decisions")
        page.get_by_text(page.say("nothing new", "nada nuevo")).first.wait_for()
        page.look("decisions")

    def test_channels_and_categories_are_kept(self, journey, watched, director):
        page = journey("/watch/channels", director)
        page.look("empty")
        page.locator("input[name=target]").fill("https://hooks.example/x")
        page.get_by_role("button", name=page.say("Add the channel", "Añadir el canal")).click()
        page.locator("code.break").wait_for()
        page.look("channel")
        page.goto(f"{page.site}/watch/categories")
        page.look("categories")
        page.goto(f"{page.site}/watch/figures")
        page.locator("input[name=hours]").fill("480")
        page.get_by_text(page.say("every 480 hours", "cada 480 horas")).wait_for()
        page.look("figures")
        page.goto(f"{page.site}/watch/import")
        page.locator("textarea[name=addresses]").fill("https://one.example/\nwrong")
        page.get_by_role("button", name=page.say("Import", "Importar")).click()
        page.locator("ul.tiles").wait_for()
        page.look("import")

    def test_policies_are_compared_as_a_job(self, journey, watched, director):
        page = journey("/simulator", director)
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


def test_a_site_whose_address_is_not_there_says_so(client, world, administrator):
    sub = Subscription.objects.create(
        name="nada", url="https://nada.example/", scope={"kind": "page"}, crawl=world.crawl, created_ms=1,
        failures=1, failing_since_ms=1, last_error="nada.example: http-404",
    )  # fmt: skip
    client.force_login(administrator)
    for path in ("/watch", f"/watch/{sub.pk}"):
        told = client.get(path, headers={"accept-language": "es"}).content.decode()
        assert "falló la última visita" in told
        assert "nada.example: el servidor no la tiene (404)" in told
    assert "Todavía no ha respondido ninguna página." in told
