"""How pages are shown to somebody: kept with the account, a stranger's in the browser, nonsense nowhere."""

import re
from pathlib import Path

import pytest
from django.utils.translation import override

from hemeroteca import console
from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.accounts.display import Display, read_cookie, zone_names
from hemeroteca.accounts.models import User
from hemeroteca.cli import common
from hemeroteca.console.templatetags.console import size
from hemeroteca.ingest.search_document import SearchDocument
from tests.console.conftest import PASSWORD
from tests.console.test_pages import replaced
from tests.console.test_results import put
from tests.console.world import BREAD

pytestmark = [pytest.mark.database, pytest.mark.django_db]

CHOSEN = {"language": "es", "time_zone": "America/Caracas", "page_size": "20", "titles": "live", "theme": "dark"}


def text(answer):
    return answer.content.decode()


def as_chosen(client):
    page = text(client.get("/", {"q": "panaderos"}))
    assert '<html lang="es" data-theme="dark" data-zone="America/Caracas">' in page
    assert '<meta name="color-scheme" content="dark">' in page
    assert re.search(rf'<h2[^>]*><a href="{BREAD}"', page), "the title leads to the live page"


def test_they_are_kept_with_the_account(client, world, reader):
    client.force_login(reader)
    answer = client.post("/account/preferences", CHOSEN, follow=True)
    assert "Tus preferencias están guardadas." in text(answer), "in the language that was chosen"
    as_chosen(client)
    client.logout()
    assert '<html lang="en">' in text(client.get("/")), "they are not the browser's"
    client.force_login(reader)
    as_chosen(client)
    client.post("/account/preferences", {**dict.fromkeys(CHOSEN, ""), "page_size": "10"})
    assert User.objects.get(pk=reader.pk).display == {}


def test_a_stranger_keeps_them_in_the_browser(client, world):
    client.post("/account/preferences", CHOSEN)
    as_chosen(client)
    cookie = client.cookies["hemeroteca_display"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    client.post("/account/preferences", CHOSEN | {"language": ""})
    assert '<html lang="en"' in text(client.get("/", headers={"accept-language": "en"}))


def test_the_switch_of_languages_changes_what_the_account_keeps(client, world, reader):
    client.force_login(reader)
    client.post("/account/preferences", CHOSEN)
    client.post("/language", {"language": "en", "next": "/"})
    assert '<html lang="en" data-theme="dark"' in text(client.get("/", headers={"accept-language": "es"}))
    client.post("/language", {"language": "xx", "next": "/"})
    assert User.objects.get(pk=reader.pk).display["language"] == "en"


def test_a_page_has_so_many_results(client, world):
    put(*(SearchDocument(key=n, url=f"https://h{n}.example/", title="faro", text=f"faro {n} luz{n}", simhash=n << 40)
          for n in range(1, 36)))  # fmt: skip
    assert text(client.get("/", {"q": "faro", "each": "1"})).count('<p class="snippet"') == 10
    client.post("/account/preferences", CHOSEN)
    first = text(client.get("/", {"q": "faro", "each": "1"}))
    assert first.count('<p class="snippet"') == 20
    following = re.search(r'href="(\?[^"]*p=2[^"]*)"', first)[1].replace("&amp;", "&")
    second = text(client.get("/" + following))
    assert second.count('<p class="snippet"') == 15
    found = re.compile(r"https://h(\d+)\.example/\" rel")
    assert not set(found.findall(first)) & set(found.findall(second))


def test_times_are_told_in_the_zone_that_was_chosen(client, world, administrator):
    client.force_login(administrator)
    path = f"/crawls/{world.crawl.pk}"
    pattern = r'<time datetime="([^"]+)">([^<]+)</time>'
    assert re.search(pattern, text(client.get(path)))[2].endswith(" UTC")
    client.post("/account/preferences", CHOSEN | {"language": "en"})
    moment, told = re.search(pattern, text(client.get(path))).groups()
    assert told.endswith(" -04")
    assert moment.endswith("+00:00")
    assert (int(moment[11:13]) - int(told.split()[3][:2])) % 24 == 4
    other = client.get(f"/v/{world.captures[BREAD][0].record_id}?view=facts")
    assert " UTC" in text(other), "moments of captures stay in UTC"


@pytest.mark.parametrize(
    "wrong",
    [{"language": "xx"}, {"time_zone": "../../etc/passwd"}, {"time_zone": "Mars/Base"}, {"page_size": "7"},
     {"page_size": ""}, {"titles": "javascript:1"}, {"theme": '"><script>'}],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_changes(client, world, reader, wrong):
    for user in (None, reader):
        if user:
            client.force_login(user)
        answer = client.post("/account/preferences", CHOSEN | wrong)
        assert answer.status_code == 422
        assert "cannot be chosen" in text(answer) or "no time zone" in text(answer)
        assert "hemeroteca_display" not in client.cookies
    assert User.objects.get(pk=reader.pk).display == {}


@pytest.mark.parametrize(
    "cookie",
    ["", "{", "[]", '{"page_size": 1e9}', '{"theme": "<"}', '{"time_zone": "."}', "\udcff", "9" * 5000, "null"],
)
def test_a_cookie_of_anything_is_the_usual(cookie):
    assert read_cookie(cookie) == Display()


def test_zones_are_those_people_live_in():
    assert {"UTC", "America/Caracas", "Europe/Madrid", "Atlantic/Canary"} <= set(zone_names())
    assert not [name for name in zone_names() if name.startswith(("Etc/", "posix", "right"))]


def test_a_chosen_scheme_has_the_colours_of_that_scheme():
    sheet = (Path(console.__file__).parent / "static/console/console.css").read_text()
    usual = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)
    for name, block in zip(("light", "dark"), usual, strict=True):
        chosen = re.search(rf':root\[data-theme="{name}"\] \{{(.*?)\}}', sheet, re.DOTALL)[1]
        colours = re.findall(r"--[\w-]+: #\w+", block)
        assert len(colours) > 10
        assert re.findall(r"--[\w-]+: #\w+", chosen) == colours


def test_the_instance_says_what_titles_do_for_who_did_not_choose(client, world, settings):
    settings.CONFIG = replaced(settings.CONFIG, title_opens_live=True)
    live = rf'<h2[^>]*><a href="{BREAD}"'
    assert re.search(live, text(client.get("/", {"q": "panaderos"})))
    client.post("/account/preferences", CHOSEN | {"titles": "archive"})
    assert not re.search(live, text(client.get("/", {"q": "panaderos"})))


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_somebody_chooses_dark_colours_and_a_zone(journey, world):
    user = services.add_user(SYSTEM, "nora", Role.DIRECTOR, PASSWORD)
    page = journey("/", user)
    page.get_by_role("contentinfo").get_by_role("link", name=page.say("Preferences", "Preferencias")).click()
    page.get_by_label(page.say("Colours", "Colores")).select_option("dark")
    page.get_by_label(page.say("Time zone", "Zona horaria")).select_option("Asia/Tokyo")
    page.locator("select[name=language]").select_option("es")
    page.get_by_role("button", name=page.say("Keep", "Guardar"), exact=True).click()
    page.get_by_text("Tus preferencias están guardadas.").wait_for()
    page.look("preferences")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgb(25, 24, 22)"
    page.goto(f"{page.site}/crawls/{world.crawl.pk}")
    shown = page.locator("time").first
    told = page.evaluate(
        "moment => new Intl.DateTimeFormat('es', {dateStyle: 'medium', timeStyle: 'short', timeZone: 'Asia/Tokyo'})"
        ".format(new Date(moment))",
        shown.get_attribute("datetime"),
    )
    assert shown.inner_text() == told
    page.look("crawl")


@pytest.mark.parametrize("count", [0, 999, 1000, 2_140_000, 65_900_000_000, 4 * 10**12])
def test_the_console_tells_sizes_as_the_commands_do(count):
    with override("en"):
        assert size(count).replace("\xa0", " ") == common.size(count)
