"""The `simweb` command: serve a simulated web, ask a running one, let its time pass."""

import argparse
import dataclasses
import json
import sys
from typing import Any

from simweb.api import TLS_HOST, SimWebError, ask
from simweb.geo import Corner
from simweb.model import DOMAIN, Settings, Web
from simweb.zoo import INDEX_URL

OPTIONS = {
    "seed": "another number gives another web",
    "hosts": "number of virtual hosts",
    "pages_per_host": "pages per host at the start",
    "page_bytes": "median size of an HTML page",
    "links_per_page": "median number of links in a page's text",
    "growth": "new pages per host and virtual day",
    "changes": "mixed, groups (high, medium and low in turn), or one process for all: never, hourly, daily, weekly …",
    "trouble": "how many links lead to redirects and errors; 0: none",
    "robots": "mixed, or open",
    "crawl_delay": "seconds asked for by the hosts with a Crawl-delay; 0: none asks",
    "charsets": "mixed, or utf-8",
    "compression": "mixed, or none",
    "latency": "median seconds until an answer",
    "speed": "virtual seconds per real second",
    "corner": "hosts of the geographic corner, with 200 pages and 2 services each; 0: none",
    "log_urls": "URLs whose fetches are counted one by one",
}


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        match options.command:
            case "serve":
                return _serve(options)
            case "info":
                print(json.dumps(ask(options.port, "GET", "/"), indent=2))
            case "stats":
                print(json.dumps(ask(options.port, "GET", "/stats"), indent=2))
            case "advance":
                print(ask(options.port, "POST", "/clock", {"advance": options.hours * 3600})["date"])
    except (SimWebError, ValueError) as error:
        print(f"simweb: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"simweb: cannot listen on port {options.port} ({error}); choose another with --port", file=sys.stderr)
        return 1
    return 0


def _serve(options: argparse.Namespace) -> int:
    from simweb.server import serve

    if options.settings:
        settings = Settings(**json.loads(options.settings))
    else:
        settings = Settings(**{name: getattr(options, name) for name in OPTIONS}, zoo=options.zoo)

    def ready_for_program(port: int, tls_port: int | None) -> None:
        print(json.dumps({"port": port, "tls_port": tls_port}), flush=True)

    def ready_for_people(port: int, tls_port: int | None) -> None:
        resolve = f"*.{DOMAIN}=127.0.0.1:{port}"
        if tls_port:
            resolve = f"{TLS_HOST}=127.0.0.1:{tls_port},{resolve}"
        print(f"simweb: {settings.hosts:,} hosts with {settings.pages_per_host:,} pages each on 127.0.0.1:{port}")
        print(f"  first page   {Web(settings).host_at(0).url(0)}" + (f"   zoo {INDEX_URL}" if settings.zoo else ""))
        if settings.corner:
            print(f"  geography    {Corner(settings.seed, settings.corner).first_url}")
        print(f"  a crawler's  HEMEROTECA_ALLOW_PRIVATE=1 HEMEROTECA_RESOLVE='{resolve}'")
        print(f"  facts        simweb info --port {port}    Ctrl-C stops", flush=True)

    serve(settings, options.port, ready_for_program if options.attached else ready_for_people, options.attached)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simweb", description="A deterministic living web on loopback.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve a simulated web until Ctrl-C")
    serve.add_argument("--port", type=int, default=8900, help="port on 127.0.0.1; 0: any free one (default 8900)")
    defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Settings)}
    for name, text in OPTIONS.items():
        flags = [f"--{name.replace('_', '-')}"] + (["--pages"] if name == "pages_per_host" else [])
        default = defaults[name]
        serve.add_argument(*flags, dest=name, type=type(default), default=default, help=f"{text} (default {default})")
    serve.add_argument("--zoo", action="store_true", help="with the monsters of zoo.sim.test")
    serve.add_argument("--settings", default="", help=argparse.SUPPRESS)  # all settings as JSON, for the Python API
    serve.add_argument("--attached", action="store_true", help=argparse.SUPPRESS)
    for name, text in (("info", "settings, clock and ports of a running web"), ("stats", "its politeness log")):
        commands.add_parser(name, help=text).add_argument("--port", type=int, default=8900)
    advance = commands.add_parser("advance", help="let virtual time pass")
    advance.add_argument("hours", type=float)
    advance.add_argument("--port", type=int, default=8900)
    return parser


if __name__ == "__main__":
    sys.exit(main())
