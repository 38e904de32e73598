import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browsing import Witness
from tests.waiting import PATIENCE

# Chromium without windows, which needs half as much of the processor for the same pages; or with, where it is missing.
CHROMIUM = next(filter(os.path.exists, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")), "/usr/bin/chromium")

# What shares something costly (a wiki, a server) over several modules and therefore stays in one process.
TOGETHER = ("tests/replay/", "tests/wiki/")
# … and a module alone, by these words in it: a browser, or whatever else it makes once for its tests.
SHARED = ('scope="module"', "mark.browser")

# Property tests try the same examples every time, so that a run says something about the change it is run for; how
# long an example takes on this machine says nothing. `--hypothesis-profile search` looks for new ones.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("suite", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("suite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each test goes to the process that is free, what shares something as a whole and first. (`xdist_group` would be
    the usual way, but pytest-xdist 3.8 cannot name groups under pytest 9.2.)"""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return next((group for group in TOGETHER if nodeid.startswith(group)), module if shares(module) else nodeid)

    return Scheduler(config, log)


@cache
def shares(module: str) -> bool:
    text = (Path(__file__).parents[1] / module).read_text("utf-8")
    return any(word in text for word in SHARED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long goes first, so that no process works alone at the end. Tests with a database keep the order
    pytest-django gives them."""
    items.sort(
        key=lambda item: 0 if item.get_closest_marker("slow") and not item.get_closest_marker("django_db") else 1
    )


@pytest.fixture(scope="session", autouse=True)
def quick_passwords():
    """scrypt as in the product, but not a quarter of a second for each of the hundreds of people the tests make."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.contrib.auth.hashers.ScryptPasswordHasher.work_factor", 2)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_emptying():
    """After a test that commits, the tables that hold something are emptied. Django would empty all of them and write
    anew what no test changes: the kinds of content and their permissions."""
    from django.contrib.auth.models import Permission
    from django.contrib.contenttypes.models import ContentType
    from django.db import connection, transaction

    kept = {ContentType._meta.db_table, Permission._meta.db_table}
    tables = sorted(set(connection.introspection.django_table_names()) - kept)
    filled = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM \"{table}\")" for table in tables)

    def empty(case):
        with connection.cursor() as cursor:
            cursor.execute(filled)
            names = [name for (name,) in cursor.fetchall()]
            with connection.constraint_checks_disabled(), transaction.atomic():
                if connection.vendor == "postgresql":
                    cursor.execute("SET LOCAL session_replication_role = replica")  # no look at foreign keys
                for name in names:
                    cursor.execute(f'DELETE FROM "{name}"')

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.test.TransactionTestCase._fixture_teardown", empty)
        yield


@pytest.fixture(autouse=True)
def no_language_of_another_test():
    """A request leaves its language behind in its thread; what a test shows must not depend on those before it."""
    from django.utils import translation

    translation.deactivate()


@pytest.fixture(scope="module")
def chromium():
    """A real browser, for tests of what people see."""
    if not os.path.exists(CHROMIUM):
        pytest.skip(f"no browser: {CHROMIUM} does not exist (on Debian: apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (make setup-dev)")
    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread, which makes Django think that it runs inside it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        # Chromium's own sandbox refuses to run as root, as tests in containers do.
        options = ["--no-sandbox"] if os.getuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options, timeout=PATIENCE * 1000)
        sync_api.expect.set_options(timeout=PATIENCE * 1000)
        browser.witness = Witness(browser)
        yield browser
        browser.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A failure in the browser comes with what the browser saw."""
    report = yield
    witness = getattr(getattr(item, "funcargs", {}).get("chromium"), "witness", None)
    if witness and call.when == "call":
        if report.failed:
            report.sections.append(("What the browser saw", witness.account(item.nodeid)))
        witness.forget()
    return report


@pytest.fixture(scope="session")
def s3():
    """The address of an object store that speaks S3, in memory."""
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
