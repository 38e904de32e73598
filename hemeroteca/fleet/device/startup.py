"""Options, first start, Ctrl-C: `python3 worker.pyz --server URL --token-file F`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hemeroteca import __version__
from hemeroteca.fetch.guard import Guard
from hemeroteca.fleet.device import consent
from hemeroteca.fleet.device.caps import Caps, Meter, begin_and_end
from hemeroteca.fleet.device.coordinator_link import CoordinatorLink, LinkError, RefusedByCoordinator
from hemeroteca.fleet.device.http_requests import ThreadFetching
from hemeroteca.fleet.device.stages import Lending, Worker
from hemeroteca.fleet.device.status_page import StatusPage

BUSY = 2.0  # load per core from which on a machine has enough to do


def parser(name: str = "worker.pyz") -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog=name, description="Lends this machine to a fleet of polite web crawlers.")
    made.add_argument("--server", required=True, help="address of the coordinator")
    made.add_argument("--token", default="", help="token of this device; others on this machine may see it")
    made.add_argument("--token-file", default="", help="file that holds the token")
    made.add_argument("--code", default="", help="one-time code instead of a token; the token is kept in --state")
    made.add_argument("--state", default="", help="folder for what is remembered (default: ~/.hemeroteca-worker)")
    made.add_argument("--consent", default="", help="activities agreed to: crawls,clients,vantage,load")
    made.add_argument("--categories", default="", help="kinds of pages others may ask for: general,news,politics,…")
    made.add_argument("--allow-private", action="store_true", help="laboratories only: private addresses, any port")
    made.add_argument("--allow-network", action="append", default=[], help="laboratories: exactly this network is open")
    made.add_argument("--insecure", action="store_true", help="laboratories only: any certificate of the coordinator")
    whole = _number(int)
    made.add_argument("--parallel", type=_number(int, 1, 128), default=8, help="requests under way at once")
    made.add_argument("--page-port", type=_number(int, 0, 65535), default=0, help="of the page here; 0 picks one")
    made.add_argument("--bytes-per-second", type=whole, default=0, help="bandwidth; 0: no limit")
    made.add_argument("--bytes-per-month", type=whole, default=0, help="data; 0: no limit")
    made.add_argument("--disk-bytes", type=whole, default=256 << 20, help="of results that wait for their upload")
    made.add_argument("--hours", type=_hours, default="", help="only between these, local time: 22-7")
    made.add_argument("--min-delay", type=_number(float), default=0.5, help="seconds between requests to one host")
    made.add_argument("--cpu-percent", type=_number(int, 0, 100), default=0, help="of one core; 0: no limit")
    made.add_argument("--per-network", type=whole, default=4, help="requests under way to one public network; 0: any")
    made.add_argument(
        "--max-load", type=_number(float), help=f"no work while the load per core is above ({BUSY:g}; 0: never mind)"
    )
    made.add_argument("--on-battery", action="store_true", help="work on battery too")
    made.add_argument("--on-metered", action="store_true", help="work on a network paid by volume too")
    made.add_argument("--version", action="version", version=__version__)
    return made


def _number(kind: Callable[[str], float], least: float = 0, most: float = 1e18) -> Callable[[str], float]:
    """A type of options that says what may be written."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            upper = f" to {most:g}" if most < 1e18 else " or more"
            raise argparse.ArgumentTypeError(f"{text!r} is not possible; write a number, {least:g}{upper}")
        return value

    return read


def _hours(text: str) -> str:
    try:
        if text:
            begin_and_end(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error))
    return text


def main(
    arguments: Sequence[str] | None = None,
    make_fetching: Callable[[argparse.Namespace, Guard], Any] | None = None,
    name: str = "worker.pyz",
) -> None:
    options = parser(name).parse_args(arguments)
    try:
        sys.exit(run(options, make_fetching or _threads))
    except (ValueError, OSError, LinkError, RefusedByCoordinator) as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(1)


def run(options: argparse.Namespace, make_fetching: Callable[[argparse.Namespace, Guard], Any]) -> int:
    state = Path(options.state).expanduser() if options.state else Path.home() / ".hemeroteca-worker"
    try:
        state.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"the folder {state} cannot be used ({error.strerror}); name another with --state")
    token = _token(options, state)
    laboratory = options.allow_private or bool(options.allow_network)
    ask = input if sys.stdin is not None and sys.stdin.isatty() else None
    activities = consent.agreed(state / "consent.json", options.server, options.consent, ask, laboratory)
    if not activities:
        print("You agreed to nothing, so nothing is done.")
        return 0
    others = {"clients", "vantage"} & set(activities)
    categories = consent.categories(state / "categories.json", options.categories, ask if others else None)
    caps = Caps(
        bytes_per_second=options.bytes_per_second,
        bytes_per_month=options.bytes_per_month,
        disk_bytes=options.disk_bytes,
        hours=options.hours,
        min_delay=options.min_delay,
        max_load=options.max_load if options.max_load is not None else 0.0 if laboratory else BUSY,
        cpu_percent=options.cpu_percent,
        per_network=options.per_network,
        on_battery=options.on_battery,
        on_metered=options.on_metered,
    )
    meter = Meter(caps, state / "used.json")
    guard = Guard(options.allow_private, options.allow_network)
    worker = Worker(
        CoordinatorLink(options.server, token, options.insecure),
        make_fetching(options, guard),
        caps,
        meter,
        Lending(
            activities=activities,
            categories=categories,
            parallel=options.parallel,
            check_network=not laboratory,
            guard=guard,
            any_port=laboratory,
        ),
        say=lambda line: print(line, flush=True),
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: worker.stop())
    try:
        page = StatusPage(
            worker.facts, {"Stop": worker.stop, "Pause": worker.pause, "Go on": worker.go_on}, options.page_port
        )
    except OSError as error:
        raise ValueError(f"port {options.page_port} cannot be used ({error.strerror}); choose another with --page-port")
    print(f"It may fetch: {', '.join(activities)}. What it does, and a Stop button: {page.address}", flush=True)
    reason = worker.run()
    page.close()
    if reason:
        print(f"The coordinator wants no more of this device: {reason}", file=sys.stderr)
        return 1
    print("Stopped; nothing is left behind.")
    return 0


def _threads(options: argparse.Namespace, guard: Guard) -> ThreadFetching:
    return ThreadFetching(guard, options.parallel, any_port=options.allow_private or bool(options.allow_network))


def _token(options: argparse.Namespace, state: Path) -> str:
    if options.token:
        return options.token.strip()
    if options.token_file:
        return _read_token(Path(options.token_file).expanduser())
    kept = state / "token"
    if options.code:
        token = str(CoordinatorLink(options.server, "", options.insecure).post("code", {"code": options.code})["token"])
        with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(token)
        return token
    if kept.exists():
        return _read_token(kept)
    raise ValueError("give the token of this device with --token-file, or a one-time code with --code")


def _read_token(file: Path) -> str:
    why = "it is empty"
    try:
        if token := file.read_text("utf-8").strip():
            return token
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or "it is not text"
    raise ValueError(f"there is no token in the file {file}: {why}; write it there, or use a one-time code with --code")
