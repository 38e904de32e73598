import os
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hemeroteca import config
from hemeroteca.replay import program
from tests.waiting import PATIENCE, held_port, wait_for

ROOT = Path(__file__).parents[2]


class Served:
    """A real `hemeroteca serve` with replay, on a data folder made for these tests."""

    def __init__(self, folder, port, sink=0, stun=0, **settings):
        self.data = folder / "data"
        self.port = port
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")}
        environment |= {"HEMEROTECA_DATA": str(folder / "data"), "HEMEROTECA_CONFIG": os.devnull}
        environment |= {f"HEMEROTECA_{name.upper()}": value for name, value in settings.items()}
        made = f"import django; django.setup(); from tests.replay.making import fill; fill({self.port}, {sink}, {stun})"
        django = environment | {"DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings"}
        subprocess.run([sys.executable, "-c", made], cwd=ROOT, env=django, check=True, timeout=PATIENCE)
        serve = [sys.executable, "-m", "hemeroteca", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            serve, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = []
        threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True).start()
        self.console = f"http://127.0.0.1:{self.port}"
        self.wait(lambda: self.status(f"{self.console}/") in (200, 302))
        self.replay_port = self.wait(self._replay_port)

    def _replay_port(self):
        """The port the console tells browsers; the first to ask there wakes replay."""
        started = [re.search(r"web started \(process (\d+)\)", line) for line in self.lines]
        pid = next((found[1] for found in started if found), "")
        found = Path(f"/proc/{pid}/environ").read_bytes() if pid else b""
        origin = re.search(rb"HEMEROTECA_REPLAY_URL=http://replay\.localhost:(\d+)", found)
        port = int(origin[1]) if origin else 0
        return port if port and self.get("/robots.txt", port=port)[0] == 200 else 0

    @property
    def origin(self):
        return f"http://replay.localhost:{self.replay_port}"

    def replay_pid(self):
        started = [re.search(r"replay started \(process (\d+)\)", line) for line in self.lines]
        return [int(found[1]) for found in started if found][-1] if any(started) else 0

    def get(self, path, port=0, host="", method="GET", sent=b"x", **headers):
        """Status, headers and body of an answer of replay; redirects are not followed."""
        port = port or self.replay_port
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}",
            headers={"Host": host or f"replay.localhost:{port}", **names},
            method=method,
            data=sent if method == "POST" else None,
        )
        try:
            with _OPENER.open(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()
        except OSError as error:
            return 0, {}, str(error).encode()

    def status(self, url):
        try:
            with _OPENER.open(url, timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def wait(self, condition):
        def look():
            assert self.process.poll() is None, "".join(self.lines)
            return condition()

        return wait_for(look, lambda: "".join(self.lines))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay)


def need_pywb():
    if not program.python_of(config.Config()):
        pytest.skip("replay is not installed (python -m hemeroteca.replay.install)")


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    need_pywb()
    with held_port() as port:
        server = Served(tmp_path_factory.mktemp("replay"), port)
        yield server
        server.stop()


@pytest.fixture(scope="session")
def sink():
    """Where a hostile page would carry things to."""
    found = Sink()
    yield found
    found.stop()


@pytest.fixture(scope="session")
def closed(tmp_path_factory, sink):
    """The same for members only."""
    need_pywb()
    with held_port() as port:
        folder = tmp_path_factory.mktemp("closed")
        server = Served(folder, port, sink.port, sink.stun, open_search="false")
        yield server
        server.stop()


class Sink:
    """A web server and a socket for datagrams that note all that comes."""

    def __init__(self):
        self.heard = []
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                sink.heard.append(self.path.strip("/").partition("?")[0])
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(sink.page if self.path == "/page" else b"")

            do_POST = do_HEAD = do_GET  # noqa: N815

            def log_message(self, *arguments):
                pass

        self.page = b""
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", 0))
        self.stun = self.datagrams.getsockname()[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            try:
                self.datagrams.recvfrom(2048)
            except OSError:
                return
            self.heard.append("rtc")

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.datagrams.close()
