"""Real parts for the tests of the fetcher: a loop, a server that sends exactly the bytes it is told, certificates."""

import selectors
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import mkdtemp

import pytest

from hemeroteca.fetch import Fetcher, FetchSettings, Guard, Request, Result
from tests.waiting import PATIENCE, held_port, wait_for


class Loop:
    """A fetcher and the loop its caller would run."""

    def __init__(self, settings: FetchSettings, lookup=None) -> None:
        self.selector = selectors.DefaultSelector()
        self.fetcher = Fetcher(settings, self.selector, lookup=lookup)

    def turn(self, at_most: float = 1.0) -> None:
        timeout = self.fetcher.timeout()
        for key, mask in self.selector.select(at_most if timeout is None else min(timeout, at_most)):
            key.data(key.fd, mask)
        self.fetcher.tick()

    def until(self, condition: Callable[[], object]) -> None:
        wait_for(condition, turn=self.turn)

    def get_all(self, requests: list[Request]) -> list[Result]:
        results: list[Result] = []
        for request in requests:
            self.fetcher.submit(request, results.append)
        self.until(lambda: len(results) == len(requests))
        return results

    def get(self, url: str, **fields) -> Result:
        return self.get_all([Request(url=url, **fields)])[0]

    def close(self) -> None:
        self.fetcher.close()
        if self.selector.get_map() is not None:
            self.selector.close()


class RawServer:
    """Accepts connections and lets `answer(connection, head, path)` do what it likes; falsy: the connection ends."""

    def __init__(
        self, answer, context: ssl.SSLContext | None = None, address: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.answer = answer
        self.heads: list[bytes] = []
        self.connections = 0
        self._context = context
        self._socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((address, port))
        self._socket.listen(64)
        self.port: int = self._socket.getsockname()[1]
        self.open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            self.open.add(connection)
            connection.settimeout(PATIENCE)
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    head += piece
                self.heads.append(head)
                if not self.answer(connection, head, head.split(b" ")[1].decode("latin-1")):
                    return
        except OSError:
            pass
        finally:
            self.open.discard(connection)
            connection.close()

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # else the thread that waits in `accept` takes one more
        self._socket.close()
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def say(*parts: bytes):
    """An answer that sends these bytes and closes."""

    def answer(connection, _head, _path):
        for part in parts:
            connection.sendall(part)
        return False

    return answer


def ok(body: bytes = b"ok", *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def keep(data: bytes):
    """An answer that sends the same bytes to every request and keeps the connection."""

    def answer(connection, _head, _path):
        connection.sendall(data)
        return True

    return answer


def reset(connection: socket.socket) -> None:
    """Closes with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    connection.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., RawServer]]:
    servers: list[RawServer] = []

    def start(answer, **options) -> RawServer:
        servers.append(RawServer(answer, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def new_loop(tmp_path) -> Iterator[Callable[..., Loop]]:
    loops: list[Loop] = []

    def start(lookup=lambda host: ["127.0.0.1"], **fields) -> Loop:
        fields = {"spool_dir": tmp_path / "spool", "allow_private": True, "user_agent": "Hemeroteca/test"} | fields
        loops.append(Loop(FetchSettings(**fields), lookup))
        return loops[-1]

    yield start
    for loop in loops:
        loop.close()


@pytest.fixture
def loop(new_loop) -> Loop:
    return new_loop()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Path:
    """ca.pem, and key + certificate in one file: good (good.test), expired, alone (self-signed)."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", "-days", "2")
    (folder / "names").write_text("subjectAltName=DNS:good.test,DNS:*.good.test\n")
    for name, days in (("good", "1"), ("expired", "-1")):
        openssl("req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=good.test")
        signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", days]
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.crt", *signing)
        (folder / f"{name}.pem").write_bytes(
            (folder / f"{name}.key").read_bytes() + (folder / f"{name}.crt").read_bytes()
        )
    openssl("req", "-x509", *new, "-keyout", "a.key", "-out", "a.crt", "-subj", "/CN=good.test", "-days", "1",
            "-addext", "subjectAltName=DNS:good.test")  # fmt: skip
    (folder / "alone.pem").write_bytes((folder / "a.key").read_bytes() + (folder / "a.crt").read_bytes())
    return folder


def tls(file: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


class Nginx:
    """An nginx of our own on loopback; `server` is the inside of its server block, `{port}` stands for its port.
    `before` stands before that block."""

    def __init__(self, folder: Path, port: int, server: str, before: str = "") -> None:
        self.port = port
        self._errors = folder / "error.log"
        paths = " ".join(f"{name}_temp_path {folder}/{name};" for name in _NGINX_PATHS)
        (folder / "nginx.conf").write_text(
            f"daemon off; worker_processes 1; pid {folder}/pid; error_log {self._errors};\n"
            "events { worker_connections 1024; }\n"
            f"http {{ access_log off; {paths} keepalive_requests 100000; {before}\n"
            f"server {{ {server.replace('{port}', str(port))} }} }}\n"
        )
        command = [_nginx(), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-g", "user root;"]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        wait_for(self._answers, self._said)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._said()
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def _said(self) -> str:
        return f"nginx answers: {self._errors.read_text() if self._errors.exists() else 'it wrote nothing'}"

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)


_NGINX_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def _nginx() -> str:
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if found is None:
        pytest.skip("nginx is not installed")
    return found


@pytest.fixture
def nginx(tmp_path) -> Iterator[Callable[..., Nginx]]:
    with ExitStack() as running:

        def start(server: str, before: str = "") -> Nginx:
            folder = Path(mkdtemp(prefix="nginx", dir=tmp_path))
            made = Nginx(folder, running.enter_context(held_port()), server, before)
            running.callback(made.close)
            return made

        yield start


@pytest.fixture
def fooled_once(monkeypatch):
    """The first address that is checked passes, whatever it is."""
    check, asked = Guard.check, []

    def fooled(guard, ip):
        asked.append(ip)
        return check(guard, ip) if len(asked) > 1 else None

    monkeypatch.setattr(Guard, "check", fooled)
