"""`hemeroteca serve`: console, API and engine of one data folder, kept running until Ctrl-C."""

import errno
import json
import logging
import logging.handlers
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Annotated
from urllib.parse import urlsplit

import typer

from hemeroteca import config
from hemeroteca.cli import common
from hemeroteca.instance import Instance
from hemeroteca.instance.supervisor import Program, Supervisor
from hemeroteca.jobs import workers as job_workers
from hemeroteca.replay import addresses as replay_addresses
from hemeroteca.replay import program as replay

LOG_BYTES = 5 << 20
LOG_FILES = 3
ON_DEMAND = {  # they end when they have nothing to do
    "jobs": "hemeroteca.jobs",
    "watch": "hemeroteca.watch.chores",
    "wiki": "hemeroteca.wiki.upkeep",
}
WAKE_SECONDS = 600.0  # after which they look by themselves, should nobody have called


class ServeError(Exception):
    """Why serving cannot begin, and what to do."""


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; 0.0.0.0 for every one.")] = None,
    port: Annotated[int | None, typer.Option(help="Port of the console and the API; 0 picks a free one.")] = None,
) -> None:
    """Run the whole system: console, API and engine. Ctrl-C stops it cleanly."""
    try:
        settings = config.load(host=host, port=port)
        run(settings)
    except (ServeError, config.ConfigError) as error:
        common.give_up(str(error), common.USAGE if isinstance(error, config.ConfigError) else 1)
    except KeyboardInterrupt:  # before the supervisor began; nothing runs yet
        raise typer.Exit(common.INTERRUPTED)


def run(settings: config.Config) -> None:
    """Serve until Ctrl-C. When that cannot begin, a data folder that was not there before is not there afterwards."""
    beginning = common.Beginning(settings.data)
    try:
        _run(settings)
    except (ServeError, config.ConfigError):
        beginning.take_back()
        raise


def _run(settings: config.Config) -> None:
    instance = Instance(settings.data)
    sockets = listen(settings.host, settings.port)
    lock = _only_server(instance)
    port = sockets[0].getsockname()[1]
    console = address(settings, port)
    with_pywb = replay.python_of(settings)
    replay_sockets = listen_for_replay(settings, port) if with_pywb else []
    replay_url = replay_address(settings, replay_sockets)
    environment = {
        "HEMEROTECA_DATA": str(instance.data),
        "HEMEROTECA_HOST": settings.host,
        "HEMEROTECA_PORT": str(port),
        "HEMEROTECA_REPLAY_URL": replay_url,
        "PYTHONUNBUFFERED": "1",
    }
    _log_to(instance.log_dir / "hemeroteca.log")
    administrator = _prepare(environment)

    instance.served_at(console)
    typer.echo(f"Hemeroteca is at {console}   (Ctrl-C stops it)")
    file = config.file_in_force()
    typer.echo(f"Data folder: {instance.data}")
    typer.echo(f"Settings: {file.absolute() if file else f'the usual ones; there is no {Path.cwd() / config.FILE}'}")
    common.say_contact(settings, instance)
    if settings.replay and not replay_url:
        typer.echo("Archived pages are shown without scripts; `python -m hemeroteca.replay.install` adds their replay.")
    if administrator:
        typer.echo(
            f"Sign in as {administrator['name']} with the password {administrator['password']}\n"
            f"It is shown only now; `hemeroteca user password {administrator['name']}` sets another."
        )
    sys.stdout.flush()

    on_demand = dict(ON_DEMAND)
    on_demand |= dict.fromkeys(job_workers.process_names(settings.job_processes), ON_DEMAND["jobs"])
    ears = [instance.ear(name) for name in on_demand]
    for name in on_demand:
        instance.wake(name)  # something may be left from an earlier run
    descriptors = [listener.fileno() for listener in sockets]
    web = [sys.executable, "-m", "hemeroteca.console.web", *map(str, descriptors)]
    programs = [
        *(
            Program("web" if n == 1 else f"web-{n}", web, environment, descriptors, may_stop=False)
            for n in range(1, max(1, settings.web_processes) + 1)
        ),
        Program("engine", [sys.executable, "-m", "hemeroteca.engine"], environment),
        *(
            Program(name, [sys.executable, "-m", module], environment, wakers=[ear], wake_seconds=WAKE_SECONDS)
            for (name, module), ear in zip(on_demand.items(), ears, strict=True)
        ),
    ]
    if with_pywb:
        shared = [listener.fileno() for listener in replay_sockets]
        programs.append(replay.program(settings, instance, with_pywb, replay_url, console, port, shared))
    try:
        ear = instance.ear("supervisor")
        Supervisor(programs, _say, ear=ear, report_file=instance.processes_path).run()
    finally:
        instance.processes_path.unlink(missing_ok=True)
        for listener in [*sockets, *replay_sockets]:
            listener.close()
        lock.close()
    typer.echo("Hemeroteca has stopped.")


def listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets for every address of `host`, opened here so that the port outlives a web process that dies."""
    if port > 65_535:
        raise ServeError(f"port {port} does not exist; choose one from 1024 to 65535 with --port")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise ServeError(
            f"the address {host!r} to listen on cannot be resolved ({error.strerror}); give another --host"
        )
    sockets: list[socket.socket] = []
    refused: OSError | None = None
    for family, _, _, _, where in dict.fromkeys(found):
        chosen = port or (sockets[0].getsockname()[1] if sockets else 0)
        try:
            sockets.append(socket.create_server((where[0], chosen), family=family, backlog=256))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ServeError(
                    f"port {chosen} on {host} is taken by another program; stop it or choose one with --port"
                )
            if error.errno == errno.EACCES:
                raise ServeError(f"port {chosen} on {host} needs privileges; choose one above 1023 with --port")
            refused = error  # such as ::1 for `localhost` on a machine without IPv6; the other address may do
    if refused and not sockets:
        raise ServeError(f"cannot listen on {host} port {port} ({refused.strerror}); give another --host")
    return sockets


def listen_for_replay(settings: config.Config, console_port: int) -> list[socket.socket]:
    """Sockets for replay. A port that nobody asked for may be taken; then any other does."""
    if settings.replay_port or not settings.port:
        return listen(settings.host, settings.replay_port)
    try:
        return listen(settings.host, console_port + 1)
    except ServeError:
        return listen(settings.host, 0)


def replay_address(settings: config.Config, sockets: list[socket.socket]) -> str:
    """Where browsers find replay; empty when there is none. Without sockets, `replay_url` is somebody else's."""
    if settings.replay_url:
        names = {settings.host, urlsplit(settings.public_url).hostname or ""}
        try:
            replay_addresses.check(settings.replay_url, names)
        except replay_addresses.AddressError as error:
            raise config.ConfigError(str(error))
        return settings.replay_url.rstrip("/")
    return f"http://{replay_addresses.DEFAULT_NAME}:{sockets[0].getsockname()[1]}" if sockets else ""


def address(settings: config.Config, port: int) -> str:
    """Where a person on this machine finds the console."""
    if settings.public_url:
        return settings.public_url
    host = "localhost" if settings.host in ("0.0.0.0", "::", "") else settings.host  # noqa: S104 - a comparison
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _only_server(instance: Instance) -> IO[str]:
    try:
        lock = instance.lock_server()
    except OSError as error:
        why = f"{error.strerror or error}: {error.filename or instance.data}"
        raise ServeError(f"the data folder {instance.data} cannot be used ({why}); check its rights and the disk")
    if lock is None:
        try:
            holder = (instance.data / "serve.lock").read_text("ascii").strip()
        except OSError:
            holder = ""
        raise ServeError(
            f"another `hemeroteca serve`{f' (process {holder})' if holder else ''} already runs on {instance.data}; "
            "use that one, or give another folder with --data"
        )
    return lock


def _prepare(environment: dict[str, str]) -> dict[str, str] | None:
    """Tables and the first administrator, made in a process that ends and gives its memory back."""
    done = subprocess.run(
        [sys.executable, "-m", "hemeroteca.accounts"],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        why = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        why = re.sub(r"^[\w.]*(Error|Exception): ", "", why)  # the class of an error says nothing to people
        logging.getLogger("hemeroteca.supervisor").debug("%s", done.stderr)
        folder = environment["HEMEROTECA_DATA"]
        raise ServeError(f"the instance in {folder} cannot be made ready: {why}")
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else None


def _log_to(file: Path) -> None:
    """Plain lines on stderr and in a file that is turned over before it grows large. Times are UTC."""
    file.touch(mode=0o600)
    formatter = logging.Formatter("%(asctime)sZ %(message)s", "%Y-%m-%d %H:%M:%S")
    formatter.converter = time.gmtime
    rotating = logging.handlers.RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=LOG_FILES, encoding="utf-8")
    logger = logging.getLogger("hemeroteca")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    for handler in (logging.StreamHandler(), rotating):
        handler.setFormatter(formatter)
        handler.setLevel(logging.INFO if handler is not rotating else logging.DEBUG)
        logger.addHandler(handler)


def _say(name: str, line: str) -> None:
    # A hostile address in a message must not reach the terminal as an escape sequence.
    plain = "".join(letter if letter.isprintable() or letter == "\t" else "\ufffd" for letter in line)
    logging.getLogger("hemeroteca.child").info("%s: %s", name, plain)
