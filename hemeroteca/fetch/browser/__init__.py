"""Pages that need JavaScript, opened in Chromium: rendered, scrolled, with everything they loaded and a screenshot.

A `BrowserFetcher` takes the same `Request` as a `Fetcher` and gives back a `Rendered`. Chromium lives in a process of
its own and can reach nothing but our proxy there, which fetches with a `Fetcher`: the same guard, the same limits, the
same raw heads and bodies. Playwright is imported in that process only; the extra `[browser]` installs it.
"""

from hemeroteca.extract.scripted import needs_browser
from hemeroteca.fetch.browser.browser_fetcher import BrowserFetcher, missing
from hemeroteca.fetch.browser.wire import BrowserSettings, Rendered

__all__ = ["BrowserFetcher", "BrowserSettings", "Rendered", "missing", "needs_browser"]
