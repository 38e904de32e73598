"""The web process: requests that never end, and what a browser is told under https."""

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
import waitress.server

from hemeroteca.console import web
from tests.waiting import PATIENCE, wait_for


def test_a_request_that_drips_is_ended_in_time_however_slowly_it_goes_on(monkeypatch):
    """A byte now and then keeps a connection alive for ever, unless the whole request has a deadline."""
    monkeypatch.setattr(web, "READ_SECONDS", 0.3)
    monkeypatch.setattr(waitress.server.TcpWSGIServer, "channel_class", web.BoundedChannel)
    server = waitress.server.create_server(lambda *_: [b""], host="127.0.0.1", port=0, threads=1)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        with socket.create_connection(("127.0.0.1", server.effective_port), PATIENCE) as wire:
            wire.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            until = time.monotonic() + PATIENCE
            with pytest.raises(ConnectionError):
                while time.monotonic() < until:
                    wire.sendall(b"X")
                    wire.settimeout(0.05)
                    try:
                        if wire.recv(1) == b"":
                            raise ConnectionResetError
                    except TimeoutError:
                        continue
    finally:
        server.close()


def test_who_does_not_read_what_they_asked_for_holds_half_of_the_threads_and_not_for_ever(monkeypatch):
    """Each of these answers is longer than what is buffered, and would hold a thread for as long as nobody reads it."""
    monkeypatch.setattr(web, "WRITE_SECONDS", 2.0)
    monkeypatch.setattr(waitress.server.TcpWSGIServer, "channel_class", web.BoundedChannel)
    ended = []

    def answer(environ, start):
        start("200 OK", [("Content-Type", "text/plain")])
        return [b"here"] if environ["PATH_INFO"] == "/short" else long()

    def long():
        try:
            for _ in range(1 << 20):
                yield bytes(1 << 16)
        finally:
            ended.append(1)

    server = waitress.server.create_server(answer, host="127.0.0.1", port=0, threads=web.THREADS)
    threading.Thread(target=server.run, daemon=True).start()
    wires = [socket.create_connection(("127.0.0.1", server.effective_port), PATIENCE) for _ in range(2 * web.THREADS)]
    try:
        for wire in wires:
            wire.sendall(b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n")
        with urllib.request.urlopen(f"http://127.0.0.1:{server.effective_port}/short", timeout=PATIENCE) as short:
            assert short.read() == b"here"
        wait_for(lambda: len(ended) == len(wires), lambda: f"{len(ended)} of {len(wires)} were left")
        assert web.BoundedChannel.slow._value == web.SLOW_READERS
    finally:
        for wire in wires:
            wire.close()
        server.close()


def run_apart(code: str, data: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Code in a process of its own, with no settings but these."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")} | {
        "HEMEROTECA_DATA": str(data),
        "HEMEROTECA_CONFIG": os.devnull,
        "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings",
        **settings,
    }
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )


def test_under_https_cookies_are_secure_and_browsers_stay_with_it(tmp_path):
    code = (
        "import django; django.setup(); from django.conf import settings as s; from django.test import Client; "
        "from django.core.management import call_command; s.INSTANCE.create(); call_command('migrate', verbosity=0); "
        "from django.http import HttpResponse; "
        "a = Client().get('/sign-in', secure=True, headers={'host': 'archivo.example'}); "
        "c = a.cookies['__Host-csrftoken']; "
        "print(a.headers['Strict-Transport-Security'], bool(c['secure']), c['samesite'], s.SESSION_COOKIE_NAME, "
        "s.SESSION_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY, s.SESSION_COOKIE_SAMESITE)"
    )
    done = run_apart(code, tmp_path / "data", HEMEROTECA_PUBLIC_URL="https://archivo.example/")
    assert done.stdout.split() == [
        "max-age=31536000", "True", "Lax", "__Host-sessionid", "True", "True", "Lax",
    ], done.stderr[-2000:]  # fmt: skip


def test_pages_need_no_library_of_the_api_which_comes_with_the_first_request_for_it(tmp_path):
    code = (
        "import django, sys; django.setup(); from django.conf import settings as s; s.INSTANCE.create(); "
        "from django.core.management import call_command; call_command('migrate', verbosity=0); "
        "from django.test import Client; from django.urls import reverse; c = Client(headers={'host': 'localhost'}); "
        "print(c.get('/sign-in').status_code, 'ninja' in sys.modules); "
        "print(reverse('cdx'), reverse('api:openapi-json'), c.get('/api/v1/docs').status_code, 'ninja' in sys.modules)"
    )
    done = run_apart(code, tmp_path / "data")
    assert done.stdout.split() == ["200", "False", "/cdx", "/api/v1/openapi.json", "200", "True"], done.stderr[-2000:]


def test_the_web_process_asks_another_about_wikis_and_stays_small(tmp_path):
    """Ibis, Arrow and DuckDB would more than double its memory."""
    code = (
        "import django, sys; django.setup(); from django.conf import settings as s; s.INSTANCE.create(); "
        "from hemeroteca.instance import schema; schema.prepare(); from hemeroteca.errors import Invalid; "
        "from hemeroteca.accounts import SYSTEM; from hemeroteca.wiki import free_queries as f, queries as q; "
        "from hemeroteca.wiki import query_process; query_process.begin(); "
        "print(q.count(SYSTEM, {}), q.trends(SYSTEM)['articles'], f.sql(SYSTEM, 'SELECT count(*) FROM texts').rows)\n"
        "try: f.pipeline(SYSTEM, [{'$nothing': 1}])\n"
        "except Invalid as error: print(error)\n"
        "print({'ibis', 'pyarrow', 'duckdb'} & set(sys.modules))"
    )
    done = run_apart(code, tmp_path / "data")
    answers, refusal, loaded = done.stdout.splitlines() or [done.stderr[-2000:]] * 3
    assert answers == "0 [] ((0,),)"
    assert "$nothing" in refusal
    assert loaded == "set()"
