"""How `hemeroteca serve` runs replay: with which Python, on which sockets, and what it is told."""

from pathlib import Path

from hemeroteca.config import Config
from hemeroteca.instance import Instance
from hemeroteca.instance.supervisor import Program
from hemeroteca.replay.addresses import key_of
from hemeroteca.replay.install import beside

SERVER = Path(__file__).with_name("server.py")


def python_of(settings: Config) -> str:
    """The Python that has pywb; empty when replay is off or not installed."""
    if not settings.replay:
        return ""
    if settings.replay_python:
        return settings.replay_python if Path(settings.replay_python).exists() else ""
    python = beside() / "bin" / "python"
    return str(python) if python.exists() and (beside() / "installed.txt").exists() else ""


def program(
    settings: Config, instance: Instance, python: str, origin: str, console: str, console_port: int, sockets: list[int]
) -> Program:
    """`console` is where people find it; the process itself asks it on this machine."""
    wildcard = settings.host in ("0.0.0.0", "::", "", "localhost")  # noqa: S104 - a comparison
    host = "127.0.0.1" if wildcard else settings.host
    environment = {
        "REPLAY_ORIGIN": origin,
        "REPLAY_CONSOLE": console.rstrip("/"),
        "REPLAY_INDEX": f"http://{f'[{host}]' if ':' in host else host}:{console_port}",
        "REPLAY_FILES": str(instance.warc_dir),
        "REPLAY_KEY": key_of(instance.secret_key()),
        "REPLAY_OPEN": "1" if settings.open_search else "",
        "PYTHONUNBUFFERED": "1",
    }
    # -I: neither the current folder nor PYTHONPATH of our own environment.
    arguments = [python, "-I", str(SERVER), *map(str, sockets)]
    return Program("replay", arguments, environment, sockets, wakers=sockets)  # with the first reader of the archive
