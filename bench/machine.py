"""What every measurement needs: the machine's size, a site behind nginx, peers in an environment of their own."""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
WORK = HERE / ".work"
PEERS = HERE / ".peers"


def describe() -> str:
    """`2 cores (model), 23 GiB`."""
    model = "unknown processor"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{os.cpu_count()} cores ({model}), {memory} GiB, {platform.system()}, Python {platform.python_version()}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fresh(name: str) -> Path:
    """An empty folder for one measurement."""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def compile_modules() -> None:
    """As `make setup` does, and pip for the peers: a copy that was edited since would be compiled at every start."""
    subprocess.run([sys.executable, "-m", "compileall", "-q", "hemeroteca"], cwd=HERE.parent, check=True)


def apt(*packages: str) -> bool:
    """Install Debian packages when allowed; whether they are there afterwards."""
    query = ["dpkg-query", "-W", "-f", "${Status}\n", *packages]
    state = subprocess.run(query, capture_output=True, text=True, check=False)
    if state.returncode == 0 and state.stdout.count("install ok installed") == len(packages):
        return True
    if os.getuid() != 0 or not shutil.which("apt-get"):
        return False
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, capture_output=True, check=False)
    done = subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages],
        env=environment,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def peer_python(*packages: str) -> Path | None:
    """A Python with these packages, apart from the project's environment; None when they cannot be had."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    command = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
    return python if subprocess.run(command, check=False).returncode == 0 else None


@contextlib.contextmanager
def nginx(root: Path) -> Iterator[int]:
    """A folder of files behind nginx on loopback; gives the port."""
    folder = fresh("nginx")
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"""
        worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log; user root;
        events {{ worker_connections 1024; }}
        http {{
          include /etc/nginx/mime.types; access_log off; sendfile on; keepalive_requests 1000000; keepalive_timeout 300;
          client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
          uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
          server {{ listen 127.0.0.1:{port}; root {root}; index index.html; }}
        }}
        """
    )
    server = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(configuration)])
    try:
        wait_for_port(port)
        yield port
    finally:
        server.terminate()
        server.wait()


def wait_for_port(port: int, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.02)
    raise TimeoutError(f"nothing answers on port {port}")


@dataclass
class Usage:
    seconds: float
    cpu_seconds: float
    max_rss_bytes: int
    output: str
    code: int


def measure(command: list[str], cwd: Path, env: dict[str, str] | None = None, timeout: float = 1800) -> Usage:
    """Run a command: wall clock, processor time of it and its children, largest memory of all its processes at once."""
    before = os.times()
    start = time.monotonic()
    with (cwd / "output.txt").open("w+b") as output:
        process = subprocess.Popen(command, cwd=cwd, env=env or dict(os.environ), stdout=output, stderr=output)
        peak = 0
        while process.poll() is None:
            peak = max(peak, tree_rss(process.pid))
            if time.monotonic() - start > timeout:
                process.kill()
            time.sleep(0.25)  # looking at the memory of processes slows them down
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Usage(time.monotonic() - start, cpu, peak, text, process.returncode)


def tree_rss(pid: int) -> int:
    """Memory of a process and its children, shared pages counted once (PSS)."""
    total = 0
    for process in (pid, *children(pid)):
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{process}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
                    break
    return total


def children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    found += [child, *children(child)]
    return found
