"""Separate machines for tests: network namespaces on one switch, each with an address of the documentation ranges."""

import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RANGES = ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")
_numbers = itertools.count()


class Laboratory:
    def __init__(self) -> None:
        if os.getuid() != 0 or shutil.which("ip") is None:
            pytest.skip("network namespaces need root and `ip` (Debian: iproute2)")
        self._mark = f"hf{os.getpid() % 10_000}"
        self._machines: list[str] = []
        self._processes: list[subprocess.Popen] = []
        self._switch = self.machine()
        if self._ip(self._switch, "link", "add", "switch", "type", "bridge").returncode:
            self.close()
            pytest.skip("this kernel makes no bridges in namespaces")
        self._ip(self._switch, "link", "set", "switch", "up")

    def machine(self, *addresses: str) -> str:
        """A machine with these addresses, that can reach all others."""
        name = f"{self._mark}-{next(_numbers)}"
        done = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"no network namespaces here: {done.stderr.decode()}")
        self._machines.append(name)
        self._ip(name, "link", "set", "lo", "up")
        if addresses:
            port = f"p{len(self._machines)}"
            made = self._ip(self._switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
            assert not made.returncode, made.stderr
            self._ip(self._switch, "link", "set", port, "master", "switch", "up")
            for address in addresses:
                self._ip(name, "addr", "add", f"{address}/32", "dev", "eth0")
            self._ip(name, "link", "set", "eth0", "up")
            for network in RANGES:
                self._ip(name, "route", "add", network, "dev", "eth0", "src", addresses[0])
        return name

    def start(self, machine: str, *command: str, log: Path, **environment: str) -> subprocess.Popen:
        with log.open("ab") as file:
            process = subprocess.Popen(
                ["ip", "netns", "exec", machine, *command],
                env={**{k: v for k, v in os.environ.items() if not k.startswith("HEMEROTECA_")}, **environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def kill(self, process: subprocess.Popen) -> None:
        """As a power cut would."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for process in self._processes:
            self.kill(process)
        for name in self._machines:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def _ip(self, machine: str, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(["ip", "-n", machine, *words], capture_output=True, text=True, check=False)


# A site: notes for each request when it began and ended, at which address, and from where. A request ends with its
# answer, or when the asker leaves; one whose asker left before it began (this machine was slow) was never answered.
SITE = """
import http.server, json, select, sys, threading, time
addresses, file, lock = sys.argv[2:], open(sys.argv[1], "a", buffering=1), threading.Lock()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.is_alone(0): return
        began = time.monotonic()
        if self.is_alone(0.05): return self.note(began, time.monotonic())
        known = self.path != "/robots.txt"
        body = f"<title>{self.path}</title><p>The page {self.path} says the same to everybody.</p>".encode()
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        ended = time.monotonic()
        self.wfile.write(body)
        self.note(began, ended)
    def is_alone(self, seconds):
        return bool(select.select([self.connection], [], [], seconds)[0])  # nobody sends more than one request
    def note(self, began, ended):
        with lock:
            here, there = self.server.server_address[0], self.client_address[0]
            print(json.dumps([here, self.path, there, began, ended]), file=file)
    def log_message(self, *args): pass
servers = [http.server.ThreadingHTTPServer((address, 80), Handler) for address in addresses]
for server in servers: threading.Thread(target=server.serve_forever, daemon=True).start()
threading.Event().wait()
"""

# A proxy between a device and the coordinator: SIGUSR1 cuts every connection and refuses new ones, SIGUSR2 heals.
PROXY = """
import os, random, signal, socket, sys, threading, time
open_now, pairs = [True], set()
def cut(*_):
    open_now[0] = False
    for one in list(pairs):
        try: one.shutdown(socket.SHUT_RDWR)
        except OSError: pass
def heal(*_): open_now[0] = True
signal.signal(signal.SIGUSR1, cut); signal.signal(signal.SIGUSR2, heal)
def pump(a, b):
    try:
        while data := a.recv(65536):
            time.sleep(random.uniform(0, 0.02))
            b.sendall(data)
    except OSError: pass
    for one in (a, b):
        pairs.discard(one)
        try: one.shutdown(socket.SHUT_RDWR)
        except OSError: pass
with socket.create_server((sys.argv[1], 9000)) as server:
    while True:
        a, _ = server.accept()
        if not open_now[0]: a.close(); continue
        try: b = socket.create_connection((sys.argv[1], 8970))
        except OSError: a.close(); continue
        pairs.update((a, b))
        for x, y in ((a, b), (b, a)): threading.Thread(target=pump, args=(x, y), daemon=True).start()
"""
PYTHON = sys.executable
