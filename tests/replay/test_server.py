"""The replay process over HTTP: what it shows, what it refuses, which headers leave it."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse

import pytest

from hemeroteca import config
from hemeroteca.instance import Instance
from hemeroteca.replay import program
from hemeroteca.replay.addresses import entrance, key_of, sign
from tests.console.world import BREAD
from tests.replay.conftest import need_pywb
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

STAMP = "20251115094640"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (f"/{STAMP}mp_/https://diario.example/portada", b"Portada 1"),
        ("/20251116094640mp_/https://diario.example/portada", b"Portada 2"),
        ("/mp_/https://diario.example/portada", b"Portada 2"),
        (f"/20251115104640mp_/{BREAD}", b"sube otra vez"),
        (f"/{STAMP}mp_/https://diario.example/br", b"packed with brotli"),
        (f"/{STAMP}mp_/https://diario.example/zst", b"packed with zstandard"),
        (f"/{STAMP}cs_/https://diario.example/estilo.css", b"rgb(200, 0, 0)"),
    ],
    ids=["first version", "second version", "latest", "revisit", "brotli", "zstandard", "style sheet"],
)
def test_captures_are_shown_also_from_a_file_still_being_written(served, path, words):
    status, headers, body = served.get(path)
    assert status == 200
    assert words in body
    assert "noindex" in headers["X-Robots-Tag"]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "ws:" not in headers["Content-Security-Policy"]


def test_the_bar_leads_back_to_the_console_in_the_readers_language(served):
    _, headers, body = served.get(f"/{STAMP}/{BREAD}", Accept_Language="es-ES,en;q=0.5")
    assert f'href="{served.console}/page?url=https%3A%2F%2Fdiario.example%2Feconomia%2Fpan"'.encode() in body
    assert b"Todas las versiones" in body
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("url", ['https://a.example/"><script>x</script>', "https://a.example/%22%3E%3Cscript%3E"])
def test_an_address_cannot_write_into_the_frame(served, url):
    _, _, body = served.get(f"/{STAMP}/{urllib.parse.quote(url, safe='/:%')}")
    assert b"<script>x" not in body
    assert b'"><script>' not in body


def test_no_header_of_an_archived_page_has_power(served):
    status, headers, body = served.get(f"/{STAMP}mp_/https://evil.example/headers")
    assert (status, b"<p>headers" in body) == (200, True)
    given = {name.lower() for name in headers if not name.lower().startswith("x-archive-orig-")}
    taken = {"set-cookie", "refresh", "www-authenticate", "report-to", "service-worker-allowed", "clear-site-data"}
    assert not given & taken
    assert "access-control-allow-origin" not in given
    assert headers.get_all("X-Robots-Tag") == ["noindex, nofollow, noarchive"]
    assert "live.example" not in str(headers.get_all("Link"))


def test_a_redirect_stays_in_the_archive(served):
    _, headers, _ = served.get(f"/{STAMP}mp_/https://evil.example/away")
    assert headers["Location"].startswith(served.origin + "/")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "evil.example", "[::1]"])
def test_only_its_own_name_is_answered(served, name):
    status, _, body = served.get(f"/{STAMP}mp_/{BREAD}", host=f"{name}:{served.replay_port}")
    assert status == 421
    assert b"panaderos" not in body


def test_the_console_does_not_answer_under_the_name_of_replay(served):
    assert served.get("/", port=served.port, host=f"replay.localhost:{served.port}")[0] == 421


def test_nothing_can_be_sent_and_no_service_worker_installed(served):
    assert served.get(f"/{STAMP}mp_/{BREAD}", method="PUT")[0] == 405
    script = f"/{STAMP}id_/https://evil.example/sw.js"
    assert served.get(script)[0] == 200
    assert served.get(script, Service_Worker="script")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/live/https://example.org/", "/record/https://example.org/", "/cdx?url=example.org", "/collinfo.json",
        "/static/x",
        "/_/../server.py", "/_/..%2fserver.py", "/_/wabacSW.js", "/proxy-fetch/https://example.org/", "/etc/passwd",
        f"/{STAMP}mp_/file:///etc/passwd", f"/{STAMP}mp_/https://nobody.example/", f"/{STAMP}vi_/https://nobody.example/",
    ],
)  # fmt: skip
def test_there_is_nothing_but_the_archive(served, path):
    assert served.get(path)[0] == 404


def test_versions_are_listed_by_the_console(served):
    _, headers, _ = served.get("/*/https://diario.example/portada")
    assert headers["Location"] == f"{served.console}/page?url=https%3A%2F%2Fdiario.example%2Fportada"


def test_it_is_started_again_when_it_dies(served):
    before = served.replay_pid()
    os.kill(before, signal.SIGKILL)
    served.wait(lambda: served.replay_pid() != before)
    served.wait(lambda: served.get("/robots.txt")[0] == 200)


def test_a_closed_archive_lets_in_only_who_comes_with_a_ticket(closed):
    path = f"/{STAMP}mp_/{BREAD}"
    status, _, body = closed.get(path)
    assert (status, b"panaderos" in body) == (401, False)
    key = key_of(Instance(closed.data).secret_key())
    old = f"/_/enter?to=/&ticket={sign(key, 'ticket', int(time.time()) - 1)}"
    other = f"/_/enter?to=/&ticket={sign('0' * 64, 'ticket', int(time.time()) + 60)}"
    assert [closed.get(bad)[0] for bad in (old, other, "/_/enter")] == [403, 403, 403]
    place = entrance(closed.origin, key, STAMP, BREAD)
    status, headers, _ = closed.get(place.removeprefix(closed.origin))
    assert (status, headers["Location"]) == (307, f"{closed.origin}/{STAMP}/{BREAD}")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert b"panaderos" in closed.get(path, Cookie=cookie.partition(";")[0])[2]
    ticket_as_pass = f"hemeroteca_replay={sign(key, 'ticket', int(time.time()) + 60)}"
    assert closed.get(path, Cookie=ticket_as_pass)[0] == 401
    assert closed.status(f"{closed.console}/page?url={BREAD}") == 302, "the console asks to sign in"


def test_files_that_are_not_in_the_folder_come_from_our_server(served, tmp_path):
    """As when closed files rest in an object store, which only the web process can open."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        told = program.program(
            config.Config(),
            Instance(served.data),
            program.python_of(config.Config()),
            f"http://replay.localhost:{port}",
            served.console,
            served.port,
            [listener.fileno()],
        )
        environment = {**os.environ, **told.environment, "REPLAY_FILES": str(tmp_path)}
        process = subprocess.Popen(told.arguments, env=environment, pass_fds=told.inherit)
        try:
            status, _, body = served.get(f"/{STAMP}mp_/https://diario.example/portada", port=port)
        finally:
            process.terminate()
            process.wait(PATIENCE)
    assert (status, b"Portada 1" in body) == (200, True)


def test_what_a_page_got_by_post_is_replayed_by_what_it_sends(served):
    path = "/20251114mp_/https://diario.example/graphql"
    for page, news in ((1, "first"), (2, "second")):
        sent = b'{"q": {"page": %d}, "ok": true}' % page
        status, _, body = served.get(path, method="POST", sent=sent, Content_Type="application/json")
        assert (status, body) == (200, b'{"news": "%s"}' % news.encode())
    assert served.get(path, method="POST", sent=b"{}", Content_Type="application/json")[0] == 404
    assert served.get(path)[0] == 404  # a plain request never got an answer there
    assert served.get(path, method="POST", sent=b"x" * 20_000)[0] == 413


def test_a_page_of_a_closed_archive_gets_scripts_only_in_its_frame_and_an_origin_of_its_own(closed):
    key = key_of(Instance(closed.data).secret_key())
    _, headers, _ = closed.get(entrance(closed.origin, key, STAMP, BREAD).removeprefix(closed.origin))
    cookie = headers["Set-Cookie"].partition(";")[0]
    page = "/https://evil.example/attack"

    def policy_of(path, **more):
        status, headers, _ = closed.get(path, Cookie=cookie, **more)
        return status, headers, set(headers["Content-Security-Policy"].replace(";", " ").split())

    in_frame = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    alone = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    for kind in ("mp_", "if_", "js_", "im_"):
        _, _, silent = policy_of(f"/{STAMP}{kind}{page}")  # a program, or a browser that does not say what it does
        assert "sandbox" in silent
        assert not {"allow-scripts", "allow-top-navigation", "allow-popups"} & silent
        status, headers, _ = policy_of(f"/{STAMP}{kind}{page}", **alone)
        assert (status, headers["Location"]) == (307, f"{closed.origin}/{STAMP}{page}"), "by itself it gets the frame"
        status, headers, _ = policy_of(f"/{STAMP}{kind}{page}", **in_frame)
        assert (status, "/~" in headers["Location"]) == (307, True)
        place = headers["Location"].removeprefix(closed.origin)
        status, _, running = policy_of(place, **in_frame)
        assert (status, {"sandbox", "allow-scripts"} <= running) == (200, True)
        assert not {"allow-same-origin", "allow-top-navigation", "allow-popups"} & running
        assert policy_of(place, **alone)[1]["Location"] == f"{closed.origin}/{STAMP}{page}"


def test_bytes_as_received_need_the_console_in_a_closed_archive(closed):
    """Neither the pass of a member nor the ticket of a page opens them."""
    key = key_of(Instance(closed.data).secret_key())
    _, headers, _ = closed.get(entrance(closed.origin, key, STAMP, BREAD).removeprefix(closed.origin))
    cookie = headers["Set-Cookie"].partition(";")[0]
    assert closed.get(f"/{STAMP}id_/{BREAD}", Cookie=cookie)[0] == 403
    frame = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    _, headers, _ = closed.get(f"/{STAMP}mp_/{BREAD}", Cookie=cookie, **frame)
    ticket = headers["Location"].removeprefix(closed.origin).partition(f"/{STAMP}")[0]
    assert closed.get(f"{ticket}/{STAMP}mp_/{BREAD}")[0] == 200
    status, _, body = closed.get(f"{ticket}/{STAMP}id_/{BREAD}")
    assert (status, b"panaderos" in body) == (403, False)


def test_the_ticket_of_a_page_opens_nothing_from_another_address_or_for_another_site(closed):
    key = key_of(Instance(closed.data).secret_key())
    _, headers, _ = closed.get(entrance(closed.origin, key, STAMP, BREAD).removeprefix(closed.origin))
    cookie = headers["Set-Cookie"].partition(";")[0]
    frame = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    _, headers, _ = closed.get(f"/{STAMP}mp_/{BREAD}", Cookie=cookie, **frame)
    ticket = headers["Location"].removeprefix(closed.origin).partition(f"/{STAMP}")[0]
    own = f"{ticket}/{STAMP}mp_/{BREAD}"
    assert closed.get(own)[1]["Access-Control-Allow-Origin"] == "null"
    assert closed.get(own, X_Forwarded_For="203.0.113.9")[0] == 401, "carried off, it is worth nothing"
    assert closed.get(own.replace("diario.example.", "evil.example.", 1))[0] == 401
    other = f"{ticket}/{STAMP}mp_/https://evil.example/attack"
    status, headers, _ = closed.get(other)
    assert (status, headers["Access-Control-Allow-Origin"]) == (200, None), "shown, never read"


def test_cookies_that_a_site_set_are_not_shown(served):
    assert b"sessionid" not in str(served.get(f"/{STAMP}mp_/https://evil.example/headers")[1]).encode()


def test_one_address_cannot_take_all_connections(served):
    """Sixty of the console for one address; the rest is closed at once, and who has one is answered."""
    held = [socket.create_connection(("127.0.0.1", served.port), PATIENCE) for _ in range(70)]
    try:
        for wire in held:
            wire.settimeout(PATIENCE)
        closed_at_once = 0
        for wire in held[60:]:
            wire.sendall(b"G")
            try:
                closed_at_once += wire.recv(1) == b""
            except ConnectionError:
                closed_at_once += 1
        assert closed_at_once == 10
    finally:
        for wire in held:
            wire.close()
    served.wait(lambda: served.status(f"{served.console}/robots.txt") == 200)


def test_one_address_or_network_holds_forty_connections_of_replay_and_no_more():
    """Told to the server itself: from this machine all connections are a proxy's."""
    code = """
import gevent, gevent.event, importlib.util, sys
spec = importlib.util.spec_from_file_location("server", sys.argv[1])
server = importlib.util.module_from_spec(spec)
spec.loader.exec_module(server)
ended = gevent.event.Event()
server.WSGIServer.handle = lambda self, sock, address: ended.wait()
class Sock:
    closed = False
    def close(self):
        self.closed = True
one = server.Server.__new__(server.Server)
wires = [Sock() for _ in range(45)]
at_work = [gevent.spawn(one.handle, wire, (f"2001:db8::{n + 1:x}", 1)) for n, wire in enumerate(wires)]
gevent.sleep(0)
other = Sock()
at_work += [gevent.spawn(one.handle, other, (f"::ffff:192.0.2.{n}", 1)) for n in range(1, 46)]
gevent.sleep(0)
print(sum(wire.closed for wire in wires), other.closed)
ended.set()
gevent.joinall(at_work)
print(sum(one.held.values()))
"""
    need_pywb()
    environment = {
        "REPLAY_ORIGIN": "https://r.example",
        "REPLAY_CONSOLE": "https://c.example",
        "REPLAY_INDEX": "http://i",
    }
    environment |= {"REPLAY_FILES": "/", "REPLAY_KEY": "k", "REPLAY_OPEN": "1", "PATH": os.environ["PATH"]}
    python = program.python_of(config.Config())
    told = subprocess.run(
        [python, "-I", "-c", code, str(program.SERVER)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert told.stdout.split() == ["5", "False", "0"], told.stderr


def test_the_console_hands_members_the_bytes_and_no_page_of_replay_can_take_them(closed):
    """By the API with a token, as a download that no other origin may read; strangers get nothing."""
    made = subprocess.run(
        [sys.executable, "-m", "hemeroteca", "token", "create", "eva", "--data", str(closed.data)],
        env={**os.environ, "HEMEROTECA_CONFIG": os.devnull},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    key = {"Authorization": f"Bearer {made.stdout.split()[0]}"}

    def ask(path, **headers):
        return closed.get(path, port=closed.port, host=f"127.0.0.1:{closed.port}", **headers)

    _, _, listed = ask(f"/api/v1/captures?url={BREAD}", **key)
    number = json.loads(listed)["items"][-1]["id"]
    for path in (f"/api/v1/captures/{number}/content", f"/memento/{STAMP}/{BREAD}"):
        status, headers, body = ask(path, **key)
        assert (status, b"panaderos" in body) == (200, True), path
        assert headers["Access-Control-Allow-Origin"] is None
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin", path
        assert "sandbox" in headers["Content-Security-Policy"] or "attachment" in headers["Content-Disposition"]
        status, _, body = ask(path)
        assert (status in (302, 401, 403), b"panaderos" in body) == (True, False), path
        ticket = {"Cookie": "hemeroteca_replay=1.x", "Origin": "null", "Sec-Fetch-Site": "cross-site"}
        assert ask(path, **ticket)[0] in (302, 401, 403), "what opens replay opens nothing here"


def test_the_pass_of_a_published_collection_opens_that_collection_only(closed):
    key = key_of(Instance(closed.data).secret_key())
    publish = (
        "import django; django.setup(); from hemeroteca.accounts import SYSTEM; from hemeroteca.watch import "
        "publications, services; from hemeroteca.watch.fields import Order; "
        f"services.subscribe(SYSTEM, Order(url={BREAD!r}, scope='page', collection='Pan')); "
        "publications.publish(SYSTEM, 'Pan', 'pan')"
    )
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings", "HEMEROTECA_DATA": str(closed.data),
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", publish], env=environment, check=True, timeout=PATIENCE)
    others = [url for url in archived_in(closed) if "diario.example" not in url]
    assert others
    place = entrance(closed.origin, key, STAMP, BREAD, "pan").removeprefix(closed.origin)
    assert closed.get(place.replace("publication=pan", "publication="))[0] == 403, "not a member's ticket"
    assert closed.get(place.replace("publication=pan", "publication=otra"))[0] == 403
    status, headers, _ = closed.get(place)
    assert status == 307
    cookie = headers["Set-Cookie"].partition(";")[0]
    status, _, body = closed.get(f"/{STAMP}mp_/{BREAD}", Cookie=cookie)
    assert (status, b"panaderos" in body) == (200, True)
    for url in others:
        assert closed.get(f"/{STAMP}mp_/{url}", Cookie=cookie)[0] == 404, url
        assert json.loads(closed.get(f"/_/captures?url={url}", Cookie=cookie)[2]) == []
    assert closed.get(f"/{STAMP}mp_/{BREAD}", Cookie=cookie.partition("~")[0])[0] == 401, "without its name: nothing"
    frame = {"Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "iframe"}
    _, headers, _ = closed.get(f"/{STAMP}mp_/{BREAD}", Cookie=cookie, **frame)
    ticket = headers["Location"].removeprefix(closed.origin).partition(f"/{STAMP}")[0]
    assert ticket.endswith("~pan")
    assert closed.get(f"{ticket}/{STAMP}mp_/{BREAD}")[0] == 200
    assert closed.get(f"{ticket}/{STAMP}mp_/{others[0]}")[0] == 404
    forged = f"{ticket.removesuffix('~pan')}/{STAMP}mp_"
    assert closed.get(f"{forged}/{BREAD}")[0] == 401
    told = {"X_Forwarded_For": "here pan"}  # what the ticket was signed for, and its collection behind it
    assert closed.get(f"{forged}/{others[0]}", **told)[0] == 401, "no member's ticket by an address with a space"


def archived_in(served):
    with sqlite3.connect(served.data / "hemeroteca.sqlite3", timeout=PATIENCE) as database:
        found = database.execute("SELECT DISTINCT url FROM capture WHERE url LIKE 'http%' AND status = 200").fetchall()
    return [url for (url,) in found]
