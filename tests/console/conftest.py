from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.signals import request_finished, request_started

from hemeroteca.accounts import SYSTEM, Role, services
from hemeroteca.instance import Instance
from hemeroteca.search import portal
from tests.environment import THOROUGH
from tests.waiting import wait_for

PASSWORD = "una frase bien larga"
SCREENSHOTS = Path(__file__).parent.parent / ".screenshots"  # of every journey, for people: thorough runs keep them
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}


@pytest.fixture
def instance(settings, tmp_path, tmp_path_factory):
    """A data folder of its own for what lies outside the database."""
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    # the drawing library takes seconds to write: once for all tests
    drawing = tmp_path_factory.getbasetemp() / "cache"
    drawing.mkdir(exist_ok=True)
    (settings.INSTANCE.data / "cache").symlink_to(drawing)
    portal.searcher_at.cache_clear()
    yield settings.INSTANCE
    portal.searcher_at.cache_clear()


@pytest.fixture
def world(db, instance):
    from tests.console.world import build

    return build(instance)


@pytest.fixture
def reader(db):
    return services.add_user(SYSTEM, "leo", Role.READER, PASSWORD)


@pytest.fixture
def director(db):
    return services.add_user(SYSTEM, "eva", Role.DIRECTOR, PASSWORD)


@pytest.fixture
def subscriber(db):
    return services.add_user(SYSTEM, "sol", Role.SUBSCRIBER, PASSWORD)


@pytest.fixture
def administrator(db):
    return services.add_user(SYSTEM, "root", Role.ADMINISTRATOR, PASSWORD)


@pytest.fixture
def quiet_server(transactional_db, live_server):
    """At the end nobody works for a page that was closed: it would stand in the way of emptying the database."""
    begun, ended = [], []
    keep = [lambda **_: begun.append(1), lambda **_: ended.append(1)]  # signals hold their receivers weakly
    request_started.connect(keep[0])
    request_finished.connect(keep[1])
    yield live_server
    wait_for(lambda: len(begun) == len(ended), "the end of every request")
    request_started.disconnect(keep[0])
    request_finished.disconnect(keep[1])


@pytest.fixture
def visit(chromium, world, quiet_server):
    """visit("/path") -> page; remembers every request and every complaint of the browser."""
    contexts = []

    def begin(path="/", **options):
        context = chromium.new_context(**{"locale": "en-GB", "viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.requested, page.answered, page.complaints = [], [], []
        page.on("response", lambda response: page.answered.append(response.url))
        page.on("request", lambda request: page.requested.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.site = quiet_server.url
        page.goto(quiet_server.url + path)
        return page

    yield begin
    for context in contexts:
        context.close()


@pytest.fixture(params=[("en", "desktop"), ("es", "phone")], ids=["en-desktop", "es-phone"])
def journey(request, chromium, visit):
    """journey("/path", user) -> page: as a person would go, in English on a desk and in Spanish on a telephone.

    `page.look(name)` asks for what every page owes people: nothing wider than the screen, no complaint of the browser,
    no request to elsewhere, no serious finding of axe-core. `page.say(english, spanish)` is the text in the language of
    this run.
    """
    language, size = request.param
    locale = {"en": "en-GB", "es": "es-ES"}[language]

    def begin(path="/", user=None):
        page = visit("/sign-in" if user else path, locale=locale, viewport=SIZES[size])
        page.say = lambda english, spanish: spanish if language == "es" else english
        page.look = lambda name: _look(page, f"{request.node.name.partition('[')[0]}-{name}-{language}-{size}")
        if user:
            page.locator("input[name=name]").fill(user.name)
            page.locator("input[name=password]").fill(PASSWORD)
            page.keyboard.press("Enter")
            page.locator(".person .who").wait_for(state="attached")
            page.goto(page.site + path)
        return page

    return begin


def _look(page, name):
    if THOROUGH:
        SCREENSHOTS.mkdir(exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{page.url} is wider than the screen"
    assert page.complaints == [], page.url
    elsewhere = {url for url in page.requested if not url.startswith(("data:", "blob:"))}
    assert {urlsplit(url).netloc for url in elsewhere} <= {urlsplit(page.site).netloc}
    found = axe().run(page, options={"resultTypes": ["violations"]})["violations"]
    serious = [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == [], page.url


def axe():
    from axe_core_python.sync_playwright import Axe

    return Axe()
