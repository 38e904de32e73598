"""Chromium, and one page at a time in it: opened, scrolled, read, photographed.

The page's scripts are hostile until shown otherwise: everything has a time limit, and what we run in the page runs in
an isolated world where the page cannot have changed what `slice` or `scrollTo` mean.
"""

import asyncio
import base64
import contextlib
import os
from collections.abc import Awaitable
from typing import Any

import msgspec
from playwright.async_api import BrowserContext, CDPSession, Dialog, Page, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from hemeroteca.fetch.browser.chromium import ARGUMENTS, find_chromium
from hemeroteca.fetch.browser.traffic import Traffic
from hemeroteca.fetch.browser.wire import BrowserSettings

_STEP_SECONDS = 10.0  # longest that Chromium itself may take for an answer
_GRACE_SECONDS = 6.0  # for reading a page whose time is over
_MAX_NAVIGATIONS = 10


class RenderedPage(msgspec.Struct):
    """A page as it stood at the end."""

    dom: bytes = b""
    text: str = ""
    screenshot: bytes = b""
    final_url: str = ""
    notes: list[str] = []
    failure: str = ""
    detail: str = ""
    transient: bool = False


class Browser:
    """A running Chromium whose only way out is the proxy at `port`."""

    def __init__(self, settings: BrowserSettings, port: int, fingerprint: str) -> None:
        self._settings = settings
        self._arguments = [
            *ARGUMENTS,
            f"--proxy-server=http://127.0.0.1:{port}",
            f"--ignore-certificate-errors-spki-list={fingerprint}",
        ]
        self._playwright: Playwright | None = None
        self.agent = ""

    async def start(self) -> None:
        """PlaywrightError or OSError, with a reason, when it does not start."""
        executable = find_chromium(self._settings.executable)
        if not executable:
            raise OSError("there is no Chromium on this machine; install the chromium package of the system")
        self._playwright = await async_playwright().start()
        self._browser = await self._playwright.chromium.launch(
            executable_path=executable,
            headless=True,
            args=self._arguments,
            ignore_default_args=["--disable-popup-blocking"],  # nobody clicks here: every popup is unasked for
            chromium_sandbox=os.geteuid() != 0,  # it refuses to have one as root
            handle_sigint=False,
            env=_environment(),
            timeout=30_000,
        )
        version = self._browser.version.partition(".")[0]
        self.agent = (
            f"Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36 "
            f"{self._settings.fetch.user_agent}"
        )

    async def render(self, url: str, traffic: Traffic) -> tuple[RenderedPage, bool]:
        """The page, and whether the browser can be trusted with another one."""
        snapshot = RenderedPage()
        settings = self._settings
        try:
            context = await asyncio.wait_for(
                self._browser.new_context(
                    accept_downloads=False,
                    service_workers="block",
                    user_agent=self.agent,
                    viewport={"width": settings.width, "height": settings.height},
                    locale="en-US",
                ),
                _STEP_SECONDS,
            )
        except (PlaywrightError, TimeoutError) as error:
            snapshot.failure, snapshot.detail, snapshot.transient = "browser", _first_line(error), True
            return snapshot, False
        sound = True
        try:
            await _Visit(context, settings, traffic, snapshot).run(url)
        except (PlaywrightError, TimeoutError) as error:
            if not snapshot.failure:
                snapshot.failure, snapshot.detail, snapshot.transient = "browser", _first_line(error), True
            sound = self._browser.is_connected()
        try:
            await asyncio.wait_for(context.close(), _STEP_SECONDS / 2)
        except (PlaywrightError, TimeoutError):
            sound = False
        return snapshot, sound

    async def stop(self) -> None:
        """Ends Chromium; what does not end is ended by the engine."""
        with contextlib.suppress(PlaywrightError, TimeoutError):
            await asyncio.wait_for(self._browser.close(), 5.0)
        if self._playwright is not None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                await asyncio.wait_for(self._playwright.stop(), 5.0)


class _Visit:
    """One page from the first request to the snapshot."""

    def __init__(
        self, context: BrowserContext, settings: BrowserSettings, traffic: Traffic, snapshot: RenderedPage
    ) -> None:
        self._context = context
        self._settings = settings
        self._traffic = traffic
        self._snapshot = snapshot
        self._world: int | None = None
        self._navigations = 0
        self._crashed = asyncio.Event()
        self._background: set[asyncio.Task[Any]] = set()

    async def run(self, url: str) -> None:
        self._page = page = await asyncio.wait_for(self._context.new_page(), _STEP_SECONDS)
        self._session: CDPSession = await asyncio.wait_for(self._context.new_cdp_session(page), _STEP_SECONDS)
        # While a dialog is open Chromium hears no order to stop scripts, so that pages get none in the first place.
        await asyncio.wait_for(page.add_init_script(_NO_DIALOGS), _STEP_SECONDS)
        page.on("dialog", self._on_dialog)
        page.on("crash", lambda _: self._crashed.set())
        page.on("download", lambda _: self._note("download-refused"))
        page.on("websocket", lambda _: self._note("websocket-refused"))
        page.on("framenavigated", self._on_navigation)
        self._context.on("page", self._on_popup)

        steps = asyncio.create_task(self._steps(url))
        crash = asyncio.create_task(self._crashed.wait())
        longest = self._traffic.left() + _STEP_SECONDS + 2 * _GRACE_SECONDS
        try:
            await asyncio.wait({steps, crash}, timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (steps, crash):
                task.cancel()
        if self._crashed.is_set():
            self._fail("page-crashed", "the page crashed the browser, most often by taking too much memory")
        elif not steps.done():
            self._fail("render-timeout", "the page left no chance to read it before its time was over")
        elif not steps.cancelled() and (error := steps.exception()) is not None:
            raise error

    async def _steps(self, url: str) -> None:
        traffic, settings = self._traffic, self._settings
        try:
            await self._page.goto(url, wait_until="commit", timeout=(traffic.left() + _GRACE_SECONDS) * 1000)
        except PlaywrightError as error:
            if traffic.unrendered or traffic.main is None or traffic.main.failure:
                return
            self._fail("render-timeout" if "Timeout" in str(error) else "browser", _first_line(error))
            return
        try:
            await self._settle()
            await self._scroll()
            if traffic.left():
                await self._read(settings.answer_seconds)
                return
            self._note("scripts-stopped: the page's time was over")
        except TimeoutError:
            self._note("scripts-stopped: hung")
        await self._stop_scripts()
        try:
            await self._read(_GRACE_SECONDS)
        except TimeoutError:
            self._fail("render-timeout", "the page's scripts never gave way, so it could not be read")

    async def _settle(self) -> None:
        await self._ask("document.readyState", self._settings.answer_seconds)
        patience = min(self._settings.settle_seconds, max(0.001, self._traffic.left()))
        with contextlib.suppress(PlaywrightError):
            await self._page.wait_for_load_state("load", timeout=patience * 1000)
        if not await self._traffic.quiet(self._settings.settle_seconds, self._settings.quiet_seconds):
            self._note("never-quiet")

    async def _scroll(self) -> None:
        """Down screen by screen, so that what loads when it is seen gets loaded; then back up."""
        settings = self._settings
        at = 0
        for _ in range(settings.scrolls):
            height = int(await self._ask(_HEIGHT, settings.answer_seconds) or 0)
            at += settings.height
            if at >= min(height, settings.scroll_height) or not self._traffic.left():
                break
            await self._ask(f"scrollTo(0, {at})", settings.answer_seconds)
            await asyncio.sleep(0.1)  # for the page to notice
            await self._traffic.quiet(1.5, 0.1)
        else:
            self._note("scrolling-stopped")
        if at > settings.height:
            await self._ask("scrollTo(0, 0)", settings.answer_seconds)
            await self._traffic.quiet(settings.settle_seconds / 2, settings.quiet_seconds)

    async def _read(self, seconds: float) -> None:
        settings, snapshot = self._settings, self._snapshot
        html = await self._ask(_DOM % settings.dom_bytes, seconds)
        snapshot.dom = str(html or "").encode("utf-8", "replace")[: settings.dom_bytes]
        if len(snapshot.dom) == settings.dom_bytes:
            self._note("dom-cut")
        snapshot.text = str(await self._ask(_TEXT % settings.text_chars, seconds) or "")[: settings.text_chars]
        snapshot.final_url = self._page.url
        height = int(await self._ask(_HEIGHT, seconds) or settings.height)
        clip = {
            "x": 0,
            "y": 0,
            "width": settings.width,
            "height": max(settings.height, min(height, settings.screenshot_height)),
            "scale": 1,
        }
        if height > settings.screenshot_height:
            self._note("screenshot-cut")
        try:
            shot = await self._command(
                "Page.captureScreenshot", {"format": "png", "clip": clip, "captureBeyondViewport": True}, seconds
            )
            snapshot.screenshot = base64.b64decode(shot["data"])
        except (PlaywrightError, TimeoutError) as error:
            self._note(f"no-screenshot: {_first_line(error)}")

    async def _stop_scripts(self) -> None:
        """First asked for, then forced: what was asked happens once the script under way has ended."""
        for _ in range(3):
            disable = self._command("Emulation.setScriptExecutionDisabled", {"value": True}, 1.0)
            disabling = asyncio.create_task(disable)
            with contextlib.suppress(PlaywrightError, TimeoutError):
                await self._command("Runtime.terminateExecution", {}, 1.0)
            with contextlib.suppress(PlaywrightError, TimeoutError):
                await disabling
                return

    async def _ask(self, expression: str, seconds: float) -> Any:
        """The value of an expression in the page, out of reach of the page's scripts."""
        for again in (True, False):
            try:
                if self._world is None:
                    tree = await self._command("Page.getFrameTree", {}, seconds)
                    frame = tree["frameTree"]["frame"]["id"]
                    made = await self._command(
                        "Page.createIsolatedWorld", {"frameId": frame, "worldName": "hemeroteca"}, seconds
                    )
                    self._world = int(made["executionContextId"])
                answer = await self._command(
                    "Runtime.evaluate",
                    {"expression": expression, "contextId": self._world, "returnByValue": True},
                    seconds,
                )
                return answer.get("result", {}).get("value")
            except PlaywrightError:  # the page has gone on to another document
                self._world = None
                if not again:
                    raise
        return None

    async def _command(self, name: str, parameters: dict[str, Any], seconds: float) -> Any:
        return await asyncio.wait_for(self._session.send(name, parameters), seconds)

    def _fail(self, code: str, detail: str, transient: bool = False) -> None:
        snapshot = self._snapshot
        snapshot.failure, snapshot.detail, snapshot.transient = code, detail, transient

    def _note(self, note: str) -> None:
        if note not in self._snapshot.notes and len(self._snapshot.notes) < 20:
            self._snapshot.notes.append(note)

    def _do(self, work: Awaitable[Any]) -> None:
        async def quietly() -> None:
            with contextlib.suppress(PlaywrightError, TimeoutError):
                await asyncio.wait_for(work, 5.0)

        task = asyncio.create_task(quietly())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _on_dialog(self, dialog: Dialog) -> None:
        self._note("dialog-dismissed")
        self._do(dialog.dismiss())

    def _on_popup(self, page: Page) -> None:
        self._note("popup-closed")
        self._do(page.close())

    def _on_navigation(self, frame: Any) -> None:
        if frame.parent_frame is not None:
            return
        self._world = None
        self._navigations += 1
        if self._navigations > _MAX_NAVIGATIONS:
            self._note("scripts-stopped: the page kept going elsewhere")
            self._do(self._stop_scripts())


def _environment() -> dict[str, str | float | bool]:
    """Nothing of the person's: no settings, no keys, a home that is thrown away."""
    home = os.environ.get("TMPDIR", "/tmp")  # noqa: S108
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "FONTCONFIG_PATH") if name in os.environ}
    return {**kept, "HOME": home, "TMPDIR": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


_NO_DIALOGS = "window.alert = window.print = () => {}; window.confirm = () => false; window.prompt = () => null;"
# A page can put an element named `body` in the place of `document.body`; the prototype's own answer it cannot change.
_SURELY = """
  const surely = name => Object.getOwnPropertyDescriptor(Document.prototype, name).get.call(document);
  const all = root => (root === document ? Document : DocumentFragment).prototype.querySelectorAll.call(root, '*');
  const html = surely('documentElement'), body = surely('body');
"""
_HEIGHT = "(() => {" + _SURELY + "return Math.max(html?.scrollHeight || 0, body?.scrollHeight || 0); })()"
_TEXT = (
    "(() => {"
    + _SURELY
    + """
  const parts = [body?.innerText || ''];
  const shadows = root => {
    for (const element of all(root)) {
      if (!element.shadowRoot) continue;
      for (const child of element.shadowRoot.children) parts.push(child.innerText || '');
      shadows(element.shadowRoot);
    }
  };
  shadows(document);
  return parts.join('\\n').slice(0, %d);
})()"""
)
# What `outerHTML` gives, but with the open shadow trees in the place of what they stand for.
_DOM = (
    "(() => {"
    + _SURELY
    + """
  const most = %d;
  const doctype = surely('doctype') ? '<!DOCTYPE ' + surely('doctype').name + '>\\n' : '';
  if (!html) return doctype;
  const special = new Set();  // what cannot be copied as it is: hosts, slots, and all around them
  const mark = node => { for (; node && !special.has(node); node = node.parentNode || node.host) special.add(node); };
  const look = root => {
    for (const element of all(root)) {
      if (element.shadowRoot) { mark(element); look(element.shadowRoot); }
      else if (root !== document && element.localName === 'slot') mark(element);
    }
  };
  look(document);
  if (!special.size) return (doctype + html.outerHTML).slice(0, most);
  const out = [doctype];
  const holder = Document.prototype.createElement.call(document, 'p');
  let size = 0;
  const say = text => { out.push(text); size += text.length; };
  const walk = (node, depth) => {
    if (size > most || depth > 1000) return;
    if (node.nodeType === Node.TEXT_NODE) {
      holder.textContent = node.data;
      say(holder.innerHTML);
    } else if (node.nodeType === Node.ELEMENT_NODE && !special.has(node)) {
      say(node.outerHTML);
    } else if (node.nodeType === Node.ELEMENT_NODE && node.localName === 'slot') {
      const assigned = node.assignedNodes();
      for (const child of assigned.length ? assigned : node.childNodes) walk(child, depth + 1);
    } else if (node.nodeType === Node.ELEMENT_NODE) {
      const shell = node.cloneNode(false).outerHTML;
      const end = shell.lastIndexOf('</');
      say(end < 0 ? shell : shell.slice(0, end));
      for (const child of (node.shadowRoot || node).childNodes) walk(child, depth + 1);
      if (end >= 0) say(shell.slice(end));
    }
  };
  walk(html, 0);
  return out.join('').slice(0, most);
})()"""
)
