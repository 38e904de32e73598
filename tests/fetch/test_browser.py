"""Pages opened in a real Chromium, friendly and hostile."""

import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hemeroteca.fetch import FetchSettings, Request
from hemeroteca.fetch.browser import BrowserSettings, missing
from hemeroteca.fetch.browser.browser_fetcher import descendants
from tests.fetch.browser_site import STORY, Site, Window, by_url
from tests.fetch.conftest import RawServer, ok, tls
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        bool(missing(BrowserSettings(fetch=FetchSettings(spool_dir=Path("."))))), reason="no browser on this machine"
    ),
]

PAGE = "http://www.site.test"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.server.close()


@pytest.fixture(scope="module")
def window(site, tmp_path_factory) -> Iterator[Window]:
    """One browser for all tests that do not break it."""
    window = Window(tmp_path_factory.mktemp("spool"), site, timeout=60.0)
    yield window
    window.close()


@pytest.fixture
def new_window(site, tmp_path) -> Iterator:
    windows: list[Window] = []

    def start(**fields) -> Window:
        windows.append(Window(tmp_path / "spool", site, **fields))
        return windows[-1]

    yield start
    for window in windows:
        window.close()


SCRIPTED = """<!doctype html><title>Shell</title><div id=root></div><script>
fetch('/api?first').then(answer => answer.json()).then(found => {
  document.title = 'Ready';
  root.innerHTML = '<h1>' + found.story + '</h1><a href=/next>next</a>';
});
</script>"""


def test_what_scripts_write_is_read_and_everything_they_loaded_is_kept_as_it_came(site, window):
    site.pages["/scripted"] = SCRIPTED

    rendered = window.open(f"{PAGE}/scripted", tag="mine")

    assert rendered.ok
    assert rendered.request.tag == rendered.main.request.tag == "mine"
    assert rendered.text.splitlines()[0] == STORY
    assert b'<a href="/next">next</a>' in rendered.dom.bytes()
    assert "<title>Ready</title>" in rendered.dom.bytes().decode()
    assert rendered.final_url == f"{PAGE}/scripted"
    assert rendered.main.status == 200
    assert rendered.main.body.bytes() == SCRIPTED.encode()
    assert rendered.main.request_head == site.heads["/scripted"]
    assert rendered.main.response_head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n")
    answer = by_url(rendered)[f"{PAGE}/api?first"]
    assert answer.body.bytes() == site.api  # still compressed
    assert answer.header("content-encoding") == "gzip"
    assert answer.ip == "127.0.0.1"
    assert b"Hemeroteca/test" in answer.request_head
    assert _png_size(rendered.screenshot.bytes()) == (1280, 1024)
    files = [Path(body.path) for body in rendered.bodies() if body.path]
    assert all(file.parent == window.spool for file in files)
    rendered.discard()
    assert not any(file.exists() for file in files)


def test_images_that_load_when_seen_are_loaded_and_the_picture_shows_the_whole_page(site, window):
    rows = "".join(f'<div style="height:1500px"></div><img src="/image{i}.png" loading="lazy">' for i in range(5))
    site.pages["/long"] = f"<!doctype html><body style='margin:0'>{rows}"

    rendered = window.open(f"{PAGE}/long")

    assert {f"{PAGE}/image{i}.png" for i in range(5)} <= set(by_url(rendered))
    width, height = _png_size(rendered.screenshot.bytes())
    assert width == 1280
    assert 7500 <= height <= 7700


def test_a_page_without_end_is_scrolled_and_photographed_only_so_far(site, new_window):
    site.pages["/feed"] = """<body><script>
      const grow = () => document.body.insertAdjacentHTML('beforeend', '<div style="height: 3000px"></div>');
      grow(); addEventListener('scroll', grow);</script>"""

    rendered = new_window(scroll_height=9000, screenshot_height=4000).open(f"{PAGE}/feed")

    assert rendered.ok
    assert _png_size(rendered.screenshot.bytes()) == (1280, 4000)
    assert "screenshot-cut" in rendered.notes


def test_what_a_script_sends_is_sent_and_kept(site, window):
    site.pages["/sends"] = "<script>fetch('/post', {method: 'POST', body: 'hello'})</script>"

    rendered = window.open(f"{PAGE}/sends")

    sent = by_url(rendered)[f"{PAGE}/post"]
    assert (sent.request.method, sent.request.content, sent.status) == ("POST", b"hello", 200)
    assert sent.request_head.startswith(b"POST /post HTTP/1.1\r\n")


def test_other_hosts_and_their_permission_are_asked(site, new_window):
    site.pages["/crossing"] = """<p id=p>nothing</p><script>
      fetch('http://other.site.test/shared', {headers: {'X-Own': '1'}}).then(answer => answer.text())
        .then(text => p.textContent = text)</script><iframe src="http://third.site.test/framed"></iframe>"""
    site.pages["/framed"] = "<img src=/image-framed>"

    rendered = new_window(allow_private=True).open(f"{PAGE}/crossing", allow_private=False)

    assert rendered.text == "given"
    asked = [(e.request.method, e.status) for e in rendered.exchanges if e.request.url.endswith("/shared")]
    assert asked == [("OPTIONS", 200), ("GET", 200)]
    assert by_url(rendered)["http://third.site.test/image-framed"].status == 200


def test_requests_that_would_change_things_are_refused(site, window):
    site.pages["/deletes"] = "<script>fetch('/image', {method: 'DELETE'})</script>"
    before = site.asked["/image"]

    refused = by_url(window.open(f"{PAGE}/deletes"))[f"{PAGE}/image"]

    assert (refused.status, refused.failure) == (0, "refused-method")
    assert site.asked["/image"] == before


def test_a_redirect_is_a_result_and_is_not_followed(site, window):
    rendered = window.open(f"{PAGE}/to//scripted-elsewhere")

    assert rendered.ok
    assert rendered.main.status == 302
    assert rendered.main.header("location") == "/scripted-elsewhere"
    assert rendered.notes == ["not-rendered: redirect"]
    assert not len(rendered.dom)
    assert site.asked["/scripted-elsewhere"] == 0


def test_a_redirect_that_only_gives_a_cookie_is_followed(site, window):
    rendered = window.open(f"{PAGE}/cookie-wall")

    assert rendered.main.status == 200
    assert rendered.text == "behind the wall"
    assert [exchange.status for exchange in rendered.exchanges][0] == 302


def test_redirects_of_what_a_page_loads_are_kept_step_by_step(site, window):
    site.pages["/moved-image"] = "<img src='/to//image-new'>"

    found = by_url(window.open(f"{PAGE}/moved-image"))

    assert found[f"{PAGE}/to//image-new"].status == 302
    assert found[f"{PAGE}/image-new"].status == 200


def test_where_scripts_lead_is_told(site, window):
    site.pages["/leads"] = "<script>location.replace('/led')</script>"
    site.pages["/led"] = "<p>arrived"

    rendered = window.open(f"{PAGE}/leads")

    assert rendered.final_url == f"{PAGE}/led"
    assert rendered.text == "arrived"
    assert rendered.main.body.bytes() == site.pages["/leads"].encode()


def test_shadow_trees_are_unfolded(site, window):
    site.pages["/shadow"] = """<x-card>inside <b>out</b></x-card><script>
      customElements.define('x-card', class extends HTMLElement { connectedCallback() {
        this.attachShadow({mode: 'open'}).innerHTML =
          '<h2>hidden title</h2><slot></slot><a href="/deep">deep &amp; far</a>';
      }});</script>"""

    rendered = window.open(f"{PAGE}/shadow")

    html = rendered.dom.bytes().decode()
    assert '<x-card><h2>hidden title</h2>inside <b>out</b><a href="/deep">deep &amp; far</a></x-card>' in html
    assert "hidden title" in rendered.text


def test_nothing_is_remembered_from_page_to_page(site, window):
    site.pages["/remember"] = """<p id=p></p><script>
      p.textContent = document.cookie + '|' + (localStorage.seen || 'first');
      localStorage.seen = 'again'; document.cookie = 'a=b';</script>"""

    assert window.open(f"{PAGE}/remember").text == "|first"
    assert window.open(f"{PAGE}/remember").text == "|first"


# hostile pages


def test_a_script_that_never_ends_is_ended_and_the_page_is_read(site, new_window):
    site.pages["/loop"] = "<p>before the loop</p><script>setTimeout(() => { while (true); }, 50)</script>"
    site.pages["/calm"] = "<p>calm"
    window = new_window(timeout=12.0, answer_seconds=3.0)

    rendered = window.open(f"{PAGE}/loop")

    assert rendered.text == "before the loop"
    assert "scripts-stopped: hung" in rendered.notes
    assert window.open(f"{PAGE}/calm").text == "calm"


def test_a_script_that_never_lets_the_page_begin_is_ended(site, new_window):
    site.pages["/stuck"] = "<p>never seen</p><script>while (true);</script>"

    rendered = new_window(timeout=10.0, answer_seconds=4.0).open(f"{PAGE}/stuck")

    assert rendered.main.status == 200
    assert rendered.text == "never seen"
    assert "scripts-stopped: hung" in rendered.notes


def test_a_flood_of_dialogs_is_dismissed(site, window):
    site.pages["/alerts"] = "<p>calm</p><script>while (true) { alert('hi'); confirm('?'); prompt('?'); }</script>"

    rendered = window.open(f"{PAGE}/alerts")

    assert rendered.text == "calm"
    assert "scripts-stopped: hung" in rendered.notes


def test_popups_are_not_opened_and_downloads_not_taken(site, window):
    site.pages["/pushy"] = """<p>pushy</p><a id=a href=/file download>x</a><script>
      window.open('/popup'); open('about:blank'); a.click(); location.href = '/file';</script>"""
    site.pages["/popup"] = "<script>fetch('/api?from-popup')</script>"

    rendered = window.open(f"{PAGE}/pushy")

    assert rendered.ok
    assert rendered.text.startswith("pushy")
    assert site.asked["/api?from-popup"] == 0
    assert not list(window.spool.glob("**/*.zip"))


def test_what_is_not_html_is_kept_and_not_opened(window):
    rendered = window.open(f"{PAGE}/file")

    assert rendered.ok
    assert len(rendered.main.body) == 5000
    assert rendered.notes == ["not-rendered: not-html: application/zip"]


def test_a_response_without_end_does_not_hold_the_page(site, window):
    site.pages["/streams"] = "<p>text</p><script>fetch('/endless'); new EventSource('/endless')</script>"

    rendered = window.open(f"{PAGE}/streams")

    assert rendered.ok
    assert rendered.text == "text"
    assert f"unfinished: {PAGE}/endless" in rendered.notes
    assert not [note for note in rendered.notes if note.startswith("scripts-stopped")], "there was time left"


def test_a_page_without_end_is_cut_by_time(new_window):
    rendered = new_window(timeout=8.0).open(f"{PAGE}/endless")  # for the browser to begin with it

    assert (rendered.failure, rendered.main.truncated) == ("timeout", "time")
    assert rendered.main.body.bytes(5) == b"more "


def test_the_requests_and_bytes_of_a_page_are_limited(site, new_window):
    site.pages["/greedy"] = "".join(f"<img src=/image{i}>" for i in range(60))
    site.pages["/heavy"] = """<script>(async () => { for (let i = 0; i < 6; i++) await fetch('/big'); })()</script>"""
    window = new_window(page_requests=20, page_bytes=1_500_000)

    greedy = window.open(f"{PAGE}/greedy")
    assert 1 + sum(exchange.status > 0 for exchange in greedy.exchanges) == 20
    assert any(note.startswith("page-requests: ") for note in greedy.notes)

    heavy = window.open(f"{PAGE}/heavy")
    assert sum(len(exchange.body) for exchange in heavy.exchanges) <= 1_500_000
    assert "length" in {exchange.truncated for exchange in heavy.exchanges}
    assert any(note.startswith("page-bytes: ") for note in heavy.notes)


def test_no_more_than_six_requests_go_to_a_host_at_once(site, window):
    site.pages["/one-host"] = "".join(f"<img src=/slow{i}>" for i in range(40))
    site.most_at_once = 0

    rendered = window.open(f"{PAGE}/one-host")

    assert sum(exchange.status == 200 for exchange in rendered.exchanges) >= 40
    assert 2 <= site.most_at_once <= 6


def test_a_page_that_changes_what_words_mean_is_read_all_the_same(site, window):
    site.pages["/liar"] = """<p>true</p><script>
      const flood = () => 'x'.repeat(1 << 28);
      String.prototype.slice = Array.prototype.join = flood;
      Object.defineProperty(Element.prototype, 'outerHTML', {get: flood});
      Object.defineProperty(HTMLElement.prototype, 'innerText', {get: flood});
      window.scrollTo = () => { while (true); };</script>"""

    rendered = window.open(f"{PAGE}/liar")

    assert rendered.text == "true"
    assert len(rendered.dom) < 2000


def test_names_of_elements_hide_nothing(site, window):
    names = ("body", "documentElement", "doctype", "querySelectorAll", "createElement", "readyState")
    site.pages["/names"] = "<p>seen</p>" + "".join(f"<form name={name}></form>" for name in names)

    rendered = window.open(f"{PAGE}/names")

    assert rendered.text == "seen"
    assert b"<p>seen</p>" in rendered.dom.bytes()


# the guard


def test_no_way_leads_to_a_private_address(site, window):
    """Every kind of request a page can make, to a server on another port of this machine that must hear nothing."""
    secret = RawServer(lambda *_: False)
    port = secret.port
    targets = [
        f"http://127.0.0.1:{port}/a",
        f"http://[::1]:{port}/b",
        f"http://localhost:{port}/c",
        f"http://2130706433:{port}/d",
        f"http://0x7f.1:{port}/e",
        f"https://127.0.0.1:{port}/f",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.other.test/",
        "http://10.0.0.1/",
    ]
    site.pages["/attack"] = f"""<p>attack</p><img src="{targets[0]}i"><script src="{targets[0]}s"></script>
      <link rel=stylesheet href="{targets[0]}l"><link rel=preconnect href="{targets[0]}">
      <link rel=prefetch href="{targets[0]}p">
      <iframe src="{targets[0]}f"></iframe><object data="{targets[0]}o"></object><video src="{targets[0]}v"></video>
      <img src="/to/{targets[0]}redirected"><script>
      for (const url of {targets}) fetch(url, {{mode: 'no-cors'}}).catch(() => 0);
      new WebSocket('ws://127.0.0.1:{port}/w'); new EventSource('{targets[0]}e');
      navigator.sendBeacon('{targets[0]}b', 'x');
      new Worker(URL.createObjectURL(new Blob(["fetch('{targets[0]}worker')"])));
      try {{ new WebSocket('wss://127.0.0.1:{port}/ws') }} catch {{}}
      </script>"""

    rendered = window.open(f"{PAGE}/attack")
    secret.close()

    assert rendered.text.startswith("attack")
    assert secret.connections == 0
    refused = {e.request.url: e for e in rendered.exchanges if e.failure == "refused-address"}
    assert f"http://127.0.0.1:{port}/a" in refused
    assert f"http://127.0.0.1:{port}/aredirected" in refused
    assert f"http://127.0.0.1:{port}/aworker" in refused
    assert f"https://127.0.0.1:{port}/f" in refused
    assert f"http://localhost:{port}/c" in refused
    assert "cloud metadata address" in refused["http://169.254.169.254/latest/meta-data/"].detail
    assert all(not e.status for e in refused.values())


def test_a_name_that_leads_to_a_private_address_is_refused(site, new_window):
    secret = RawServer(lambda *_: False)
    window = new_window(resolve=(f"*.inside.test=127.0.0.1:{secret.port}",))
    site.pages["/named"] = "<script>fetch('http://nas.inside.test/', {mode: 'no-cors'}).catch(() => 0)</script>"

    found = by_url(window.open(f"{PAGE}/named"))["http://nas.inside.test/"]
    page = window.open("http://nas.inside.test/", allow_private=False)
    secret.close()

    assert found.failure == "refused-address"
    assert (page.failure, page.main.failure, page.transient) == ("refused-address", "refused-address", False)
    assert not len(page.dom)
    assert secret.connections == 0


def test_nothing_leaves_by_udp(site, window):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        port = ear.getsockname()[1]
        site.pages["/udp"] = f"""<p>udp</p><script>
          const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}});
          peer.createDataChannel('x'); peer.createOffer().then(offer => peer.setLocalDescription(offer));
          try {{ new WebTransport('https://127.0.0.1:{port}/').ready.catch(() => 0); }} catch {{}}
          </script>"""

        rendered = window.open(f"{PAGE}/udp")

        ear.setblocking(False)
        with pytest.raises(BlockingIOError):
            ear.recv(2000)
        assert rendered.text == "udp"


def test_pages_lead_nowhere_but_to_the_web(site, window):
    site.pages["/inwards"] = """<p>still here</p><script>
      for (const url of ['file:///etc/passwd', 'chrome://version', 'data:text/html,gone', 'view-source:http://x/'])
        try { location.href = url } catch {}</script><iframe src="file:///etc/passwd"></iframe>"""

    rendered = window.open(f"{PAGE}/inwards")

    assert rendered.text.startswith("still here")
    assert rendered.final_url == f"{PAGE}/inwards"
    for url in ("file:///etc/passwd", "chrome://version", "data:text/html,x", "javascript:1"):
        assert window.open(url).failure == "url"


def test_robots_is_asked_about_everything_but_the_page(site, window):
    site.pages["/asks"] = "<p>x</p><img src=/image-open><img src=/image-closed>"
    asked: list[str] = []

    def allowed(url: str, answer) -> None:
        asked.append(url)
        answer(not url.endswith("closed"))

    found = by_url(window.open(f"{PAGE}/asks", allowed))

    assert f"{PAGE}/asks" not in asked
    assert found[f"{PAGE}/image-open"].status == 200
    assert found[f"{PAGE}/image-closed"].failure == "robots"
    assert site.asked["/image-closed"] == 0


def test_an_answer_may_come_later_and_without_one_nothing_is_asked(site, new_window):
    window = new_window(rules_seconds=6.0)
    site.pages["/asks"] = "<p>x</p><img src=/image-later><img src=/image-never>"
    waiting = []

    def allowed(url: str, answer) -> None:
        if url.endswith("later"):
            waiting.append(answer)
        else:
            for told in waiting:
                told(True)

    found = by_url(window.open(f"{PAGE}/asks", allowed))

    assert found[f"{PAGE}/image-later"].status == 200
    assert found[f"{PAGE}/image-never"].failure == "robots-unknown"
    assert site.asked["/image-never"] == 0


def test_chromium_itself_asks_for_nothing(site, window):
    site.pages["/plain"] = "<link rel=icon href=data:,><p>plain"
    before = site.asked.total()

    rendered = window.open(f"{PAGE}/plain")

    assert rendered.exchanges == []
    assert site.asked.total() == before + 1


# TLS


def test_certificates_of_sites_are_checked(certificates, new_window):
    good = RawServer(lambda c, *_: c.sendall(ok(b"<p>safe", b"Content-Type: text/html")) or True,
                     context=tls(certificates / "good.pem"))  # fmt: skip
    bad = RawServer(lambda c, *_: c.sendall(ok(b"<p>odd", b"Content-Type: text/html")) or True,
                    context=tls(certificates / "alone.pem"))  # fmt: skip
    window = new_window(
        ca_file=str(certificates / "ca.pem"),
        resolve=(f"good.test=127.0.0.1:{good.port}", f"bad.good.test=127.0.0.1:{bad.port}"),
    )

    assert window.open("https://good.test/").text == "safe"
    refused = window.open("https://bad.good.test/")
    assert (refused.failure, refused.main.status) == ("tls", 0)
    assert window.open("https://bad.good.test/", insecure=True).text == "odd"
    for server in (good, bad):
        server.close()


# processes


def test_a_browser_that_dies_fails_its_page_and_the_next_one_opens(site, new_window):
    site.pages["/waits"] = "<script>fetch('/endless?').catch(() => 0); while (Date.now() < 0);</script><p>waits"
    site.pages["/calm"] = "<p>calm"
    window = new_window()
    window.browser.submit(Request(url=f"{PAGE}/waits", allow_private=True), window.results.append)
    before = site.asked["/waits"]
    window.until(lambda: site.asked["/waits"] > before)
    process = window.browser.processes[0]
    family = descendants(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    window.until(lambda: window.results)

    rendered = window.results[0]
    assert (rendered.failure, rendered.transient) == ("browser-died", True)
    assert window.open(f"{PAGE}/calm").text == "calm"
    window.until(lambda: not any(_runs(pid) for pid in family) and not Path(process.home).exists())


def test_a_page_that_takes_too_much_memory_is_ended(site, new_window):
    site.pages["/hog"] = """<script>
      window.held = []; for (let i = 0; i < 16; i++) held.push(new Uint8Array(64 << 20).fill(7));</script>"""
    window = new_window(memory_bytes=800 << 20)

    rendered = window.open(f"{PAGE}/hog")

    assert rendered.failure in ("browser-memory", "page-crashed")
    assert "memory" in rendered.detail
    window.until(lambda: not list(window.spool.glob("browser-*")))


def test_a_process_renders_so_many_pages_and_is_then_replaced(site, new_window):
    site.pages["/calm"] = "<p>calm"
    window = new_window(pages_per_process=1)

    assert window.open(f"{PAGE}/calm").text == "calm"
    assert window.browser.processes == []
    assert window.open(f"{PAGE}/calm").text == "calm"
    window.until(lambda: not list(window.spool.glob("browser-*")))


def test_without_chromium_the_reason_is_told(new_window):
    window = new_window(executable="/nowhere/chromium")

    rendered = window.open(f"{PAGE}/calm")

    assert (rendered.failure, rendered.transient) == ("browser-missing", False)
    assert "install" in rendered.detail
    assert "/nowhere/chromium" in missing(window.settings)


ENGINE = """
import selectors, sys
from pathlib import Path
from hemeroteca.fetch import FetchSettings, Request
from hemeroteca.fetch.browser import BrowserFetcher, BrowserSettings
fetch = FetchSettings(spool_dir=Path(sys.argv[1]), resolve=(sys.argv[2],), allow_private=True)
selector = selectors.DefaultSelector()
browser = BrowserFetcher(BrowserSettings(fetch=fetch), selector)
browser.submit(Request(url="http://www.site.test/waits"), print)
while True:
    for key, mask in selector.select(browser.timeout()):
        key.data(key.fd, mask)
    browser.tick()
"""


def test_when_the_engine_is_killed_nothing_of_the_browser_stays(site, tmp_path):
    site.pages["/waits"] = "<script>setInterval(() => fetch('/image'), 100)</script><p>waits"
    command = [sys.executable, "-c", ENGINE, str(tmp_path / "spool"), f"*.site.test=127.0.0.1:{site.port}"]
    engine = subprocess.Popen(command)
    before = site.asked["/waits"]
    wait_for(lambda: site.asked["/waits"] > before)
    family = descendants(engine.pid)
    assert len(family) > 3

    engine.kill()
    engine.wait()

    wait_for(lambda: not any(_runs(pid) for pid in family))
    assert not list((tmp_path / "spool").iterdir())


def test_playwright_is_not_imported_by_the_engine():
    code = "import sys, hemeroteca.fetch.browser; sys.exit('playwright' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def _png_size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])
