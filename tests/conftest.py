import os

import pytest

CHROMIUM = "/usr/bin/chromium"


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
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()
