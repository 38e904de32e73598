"""Look up, calendar, versions, citation and comparison, as a reader meets them."""

import html
import re
from dataclasses import replace

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.archive.citation import cite
from hemeroteca.watch import services as watch
from tests.console.world import ATTACK, BREAD, HARBOUR, HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def text(answer):
    return answer.content.decode()


def test_addresses_are_found_by_beginning_host_domain_and_date(client, world):
    def found(**asked):
        page = text(client.get("/archive", asked))
        return [
            url
            for url in (BREAD, HARBOUR, HOSTILE)
            if f"url={html.escape(url.replace(':', '%3A').replace('/', '%2F'))}" in page
        ]

    assert found(url="diario.example/eco", match="prefix") == [BREAD]
    assert found(url="https://news.example/", match="host") == [HARBOUR]
    assert found(url="example", match="domain") == [BREAD, HARBOUR, HOSTILE]
    assert found(url="example", match="domain", since="2025-11-16") == []
    assert found(url="example", match="domain", until="2025-11-14") == [BREAD]
    assert found(url="*.example") == [BREAD, HARBOUR, HOSTILE]


def test_a_list_of_addresses_goes_on(client, world, monkeypatch):
    monkeypatch.setattr("hemeroteca.console.archive.ADDRESSES", 1)
    seen, ask = [], "url=*.example"
    while ask:
        page = client.get(f"/archive?{ask}")
        seen += [address.url for address in page.context["found"]]
        ask = page.context.get("more")
    assert seen == [BREAD, HOSTILE, HARBOUR]


def test_a_collection_is_looked_up_by_its_name(client, world):
    watch.set_collection(SYSTEM, "Puertos", {})
    watch.subscribe(SYSTEM, watch.Order(url=HARBOUR, collection="Puertos"))
    page = text(client.get("/archive", {"collection": "Puertos"}))
    assert "news.example/harbour" in page
    assert "diario.example/economia" not in page
    assert client.get("/archive", {"collection": "Nobody"}).status_code == 404


def test_one_page_leads_to_its_history(client, world):
    answer = client.get("/archive", {"url": BREAD, "match": "exact", "since": "2025-01-01"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/page?url=https%3A%2F%2Fdiario")
    assert answer["Location"].endswith("year=2025")


def test_the_calendar_names_each_day_with_what_it_has(client, world):
    page = text(client.get("/page", {"url": BREAD}))
    assert 'aria-label="15 November: 2 captures, 1 new version"' in page
    assert 'aria-label="14 November: 1 capture, 1 new version"' in page
    assert page.count("<caption>") == 12
    spanish = text(client.get("/page", {"url": BREAD}, headers={"Accept-Language": "es"}))
    assert 'aria-label="15 noviembre: 2 capturas, 1 versión nueva"' in spanish


def test_all_moments_of_a_page_are_in_the_zone_of_its_calendar(client, world):
    told = text(client.get(f"/page?url={BREAD}"))
    assert "<time" not in told, "which console.js would turn into the browser's zone"
    visited, changed = re.findall(r"<dt>Last (?:visit|change)</dt><dd>([^<]+)</dd>", told)
    assert (visited.endswith(" UTC"), changed.endswith(" UTC")) == (True, True)


def test_versions_come_first_and_a_day_or_all_on_request(client, world):
    old, new, again = (str(row.record_id) for row in world.captures[BREAD])
    versions = text(client.get("/page", {"url": BREAD}))
    assert old in versions
    assert new in versions
    assert again not in versions
    day = text(client.get("/page", {"url": BREAD, "day": "2025-11-15"}))
    assert old not in day
    assert again in day


def test_a_year_without_captures_leads_to_the_nearest_copy(client, world, settings):
    settings.CONFIG = replace(settings.CONFIG, replay_url="http://replay.localhost:8081")
    first, *_, last = (str(row.record_id) for row in world.captures[BREAD])
    for year, nearest in (("2024", first), ("2026", last)):
        page = client.get("/page", {"url": BREAD, "year": year}, headers={"Host": "127.0.0.1:8080"})
        assert page.context["captures"] == []
        assert f'<a href="/v/{nearest}/replay">Archived copy</a>' in text(page)


@pytest.mark.parametrize(
    "asked", ["year=0001", "year=99999", "day=2025-02-31", "day=9999-12-31", "day=0001-01-01", "year=9999"]
)
def test_no_date_breaks_a_page(client, world, asked):
    assert client.get(f"/page?url={BREAD}&{asked}").status_code == 200


def test_at_leads_to_the_capture_or_its_neighbours(client, world):
    old, new, again = (row.record_id for row in world.captures[BREAD])

    def lead(**asked):
        return client.get("/at", {"url": BREAD, **asked})["Location"]

    assert lead(at="2025-11-14", go="about") == f"/v/{old}"
    assert lead(go="about") == f"/v/{again}"
    assert lead(at="20251115104640", go="previous") == f"/v/{old}?view=copy", "not the version it repeats"
    assert lead(at="20251114094640", go="next") == f"/v/{new}?view=copy"
    assert lead(at="20251115104640", go="next").startswith("/page?")
    assert client.get("/at", {"url": "https://nobody.example/"})["Location"].startswith("/page?")


def test_links_lead_to_replay_for_readers_who_can_reach_it(client, world, settings):
    row = world.captures[BREAD][1]
    settings.CONFIG = replace(settings.CONFIG, replay_url="http://replay.localhost:8081")
    place = f"http://replay.localhost:8081/20251115094640/{BREAD}"
    here = client.get(f"/v/{row.record_id}/replay", headers={"Host": "127.0.0.1:8080"})
    assert here["Location"] == place
    elsewhere = client.get(f"/v/{row.record_id}/replay", headers={"Host": "192.168.1.5:8080"})
    assert elsewhere["Location"] == f"/v/{row.record_id}?view=copy"
    settings.CONFIG = replace(settings.CONFIG, replay_url="https://replay.example.org")
    assert client.get(f"/v/{row.record_id}/replay", headers={"Host": "192.168.1.5"})["Location"].startswith(
        "https://replay.example.org/2025"
    )
    assert client.get("/", headers={"Host": "replay.example.org"}).status_code == 421


def test_members_of_a_closed_archive_get_a_ticket_and_strangers_none(client, world, settings, director):
    place = f"/v/{world.captures[BREAD][1].record_id}/replay"
    settings.CONFIG = replace(settings.CONFIG, replay_url="https://replay.example.org", open_search=False)
    assert client.get(place)["Location"].startswith("/sign-in?")
    client.force_login(director)
    assert client.get(place)["Location"].startswith("https://replay.example.org/_/enter?ticket=")


def test_a_capture_can_be_cited_in_both_languages(client, world):
    row = world.captures[BREAD][1]
    page = html.unescape(text(client.get(f"/v/{row.record_id}?view=cite")))
    assert f"http://testserver/v/{row.record_id}" in page
    assert "Capturado el 15 de noviembre de 2025 a las 09:46:40 UTC" in page
    assert "Captured on Nov. 15, 2025 at 09:46:40 UTC" in page
    assert "@misc{hemeroteca-" in page
    given = client.get(f"/api/v1/captures/{row.record_id}/citation?language=es").json()
    assert given["text"].startswith("«El precio del pan sube otra vez». diario.example.")


def test_a_title_cannot_leave_its_place_in_bibtex(world):
    bibtex = cite(world.captures[BREAD][0], "a}, url={evil} % \\input{x}", "https://a.example/v/1", "en").bibtex
    assert r"a\}, url=\{evil\} \% \textbackslash{}input\{x\}" in bibtex


@pytest.mark.parametrize("view", ["text", "sides", "page"])
def test_two_versions_are_compared(client, world, view):
    old, new = (str(row.record_id) for row in world.captures[BREAD][:2])
    page = text(client.get("/compare", {"url": BREAD, "a": new, "b": old, "view": view}))
    assert page.index(f"/v/{old}") < page.index(f"/v/{new}"), "the older one first, however asked"
    if view == "page":
        marked = client.get("/compare/page", {"url": BREAD, "a": old, "b": new})
        assert "<ins>" in text(marked)
        assert marked["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    else:
        assert "<ins>" in page
        assert "sube otra vez" in page


def test_a_hostile_page_compared_with_another_writes_nothing(client, world):
    page = world.page(HOSTILE + "2")
    for number in range(2):
        body = f"<title>t</title><p>{html.escape(ATTACK)} {number}</p><script>window.hacked={number}</script>"
        world.capture(page, body.encode(), 1_763_200_000_000 + number * 1000)
    for place in ("/compare", "/compare?view=sides", "/compare/page"):
        shown = text(client.get(place, {"url": page.url, "view": "sides" if "sides" in place else ""}))
        assert "<script>window" not in shown
        assert "<img src=x" not in shown


def test_what_cannot_be_compared_is_told(client, world):
    assert client.get("/compare", {"url": "https://nobody.example/"}).status_code == 404
    assert client.get("/compare", {"url": HARBOUR}).status_code == 404
    assert client.get("/compare", {"url": BREAD, "a": "yesterday"}).status_code == 422


def test_the_api_tells_the_same(client, world):
    listed = client.get("/api/v1/history/addresses?url=example&match=domain&limit=2").json()
    assert [(item["url"], item["captures"], item["versions"]) for item in listed["items"]][0] == (BREAD, 3, 2)
    rest = client.get("/api/v1/history/addresses", {"url": "example", "match": "domain", "after": listed["next_after"]})
    assert [item["url"] for item in rest.json()["items"]] == [HARBOUR]
    days = client.get("/api/v1/history/calendar", {"url": BREAD, "year": 2025}).json()
    assert [(day["day"], day["captures"], day["versions"]) for day in days] == [
        ("2025-11-14", 1, 1),
        ("2025-11-15", 2, 1),
    ]
    change = client.get("/api/v1/history/compare", {"url": BREAD}).json()
    assert change["a"] == str(world.captures[BREAD][0].record_id)
    assert "+" in change["text_diff"]
    assert change["total"] > 0
