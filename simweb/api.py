"""The Python API: a simulated web in a process of its own, and the truth about it."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from simweb import truth
from simweb.clock import HOUR
from simweb.model import ADMIN_HOST, DOMAIN, Host, Settings, Web
from simweb.truth import Found
from simweb.zoo import INDEX_URL

TLS_HOST = f"zoo-tls.{DOMAIN}"


class SimWebError(RuntimeError):
    """The simulated web could not be started or asked."""


@dataclass(frozen=True)
class HostStats:
    """What one host saw of its visitors; see `simweb.politeness.HostLog` for the meaning of each."""

    requests: int
    active: int
    max_active: int
    connections: int
    max_connections: int
    min_gap: float | None
    min_start_gap: float | None
    robots_requests: int
    before_robots: int
    forbidden: int
    forbidden_samples: list[str]
    statuses: dict[int, int]


@dataclass(frozen=True)
class Stats:
    """The politeness log at one moment."""

    hosts: dict[str, HostStats]
    max_fetches: int  # of one URL; robots.txt apart
    urls: int
    dropped_urls: int
    dropped_hosts: int

    @property
    def requests(self) -> int:
        return sum(host.requests for host in self.hosts.values())

    @property
    def max_active(self) -> int:
        """The most requests any host saw at once."""
        return max((host.max_active for host in self.hosts.values()), default=0)

    @property
    def min_gap(self) -> float | None:
        """The shortest pause, in seconds, any host was given between two requests."""
        return min((host.min_gap for host in self.hosts.values() if host.min_gap is not None), default=None)

    @property
    def forbidden(self) -> int:
        """Requests against robots.txt, over all hosts."""
        return sum(host.forbidden for host in self.hosts.values())

    @property
    def before_robots(self) -> int:
        return sum(host.before_robots for host in self.hosts.values())


@dataclass(frozen=True)
class Truth:
    """A page's real history: how it changes, when it was born, and its changes since the start instant."""

    url: str
    process: str
    born: int
    changes: tuple[int, ...]


class SimWeb:
    """A simulated web, running while the `with` block does.

    >>> with SimWeb(seed=1, hosts=50, pages_per_host=100) as web:
    ...     environment = {"HEMEROTECA_RESOLVE": web.resolve, "HEMEROTECA_ALLOW_PRIVATE": "1"}
    """

    def __init__(self, settings: Settings | None = None, *, serve_port: int = 0, **options: Any) -> None:
        self.settings = settings or Settings(**options)
        self.web = Web(self.settings)
        self.port = 0
        self.tls_port: int | None = None
        self._serve_port = serve_port
        self._process: subprocess.Popen[bytes] | None = None

    # -- running

    def start(self) -> "SimWeb":
        command = [sys.executable, "-m", "simweb", "serve", "--attached", "--port", str(self._serve_port)]
        command += ["--settings", json.dumps(asdict(self.settings))]
        # Standard input stays open for as long as we live: when it closes the server ends, even if we are killed.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise SimWebError(f"simweb did not start on port {self._serve_port}; its reason is above")
        ports = json.loads(line)
        self.port, self.tls_port = ports["port"], ports["tls_port"]
        return self

    def close(self) -> None:
        if self._process:
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
            self._process = None

    def __enter__(self) -> "SimWeb":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def resolve(self) -> str:
        """Fixed addresses for a crawler's resolver; the first pattern that fits counts."""
        every = f"*.{DOMAIN}=127.0.0.1:{self.port}"
        return f"{TLS_HOST}=127.0.0.1:{self.tls_port},{every}" if self.tls_port else every

    # -- what there is

    @property
    def zoo_url(self) -> str:
        return INDEX_URL

    def hosts(self) -> list[str]:
        return [self.web.host_at(index).name for index in range(self.settings.hosts)]

    def seed_urls(self, count: int | None = None) -> list[str]:
        """The front pages of all hosts, or of the first `count`; the first alone leads to every other host."""
        return [
            self.web.host_at(index).url(0) for index in range(min(count or self.settings.hosts, self.settings.hosts))
        ]

    def urls(self, host: str) -> Iterator[str]:
        """Every page of a host now, those included that robots.txt forbids or nobody links to."""
        model = self._host(host)
        return (model.url(number) for number in range(model.count(self.now())))

    def reachable(self, seeds: str | Iterable[str], *, scope: str = "domain", sitemaps: bool = True) -> set[str]:
        """The documents a complete, robots-respecting crawl must find from these seeds, exactly."""
        return truth.reachable(self.web, _list(seeds), self.now(), scope=scope, sitemaps=sitemaps)

    def crawl_map(self, seeds: str | Iterable[str], **options: Any) -> dict[str, Found]:
        """The same with redirects, errors, feeds and (with `requisites=True`) files; options of `truth.crawl_map`."""
        return truth.crawl_map(self.web, _list(seeds), self.now(), **options)

    def truth(self, url: str) -> Truth:
        """How a page changes and when it did, so far."""
        host, number = self._page(url)
        times = host.change_times(number, self.web.start, self.now())
        return Truth(url, host.process(number).name, host.birth(number), tuple(times))

    def keyword(self, url: str) -> str:
        """The made-up word that is on this page (title and text) and on no other."""
        host, number = self._page(url)
        return host.keyword(number)

    # -- the clock and the log

    def now(self) -> float:
        """Virtual seconds since 1970; the start instant while the web is not running."""
        return float(self._ask("GET", "/clock")["now"]) if self._process else float(self.web.start)

    def advance(self, hours: float) -> float:
        """Let virtual time pass; returns the new instant."""
        return float(self._ask("POST", "/clock", {"advance": hours * HOUR})["now"])

    def set_speed(self, speed: float) -> None:
        self._ask("POST", "/clock", {"speed": speed})

    def stats(self) -> Stats:
        """The politeness log."""
        record = self._ask("GET", "/stats")
        hosts = {
            name: HostStats(**facts | {"statuses": {int(status): n for status, n in facts["statuses"].items()}})
            for name, facts in record.pop("hosts").items()
        }
        return Stats(hosts=hosts, **record)

    def fetches(self, host: str = "") -> dict[str, int]:
        """How often each URL was asked for (of one host, or of all)."""
        return dict(self._ask("GET", f"/fetches?host={host}"))

    def reset(self) -> None:
        """Empty the politeness log."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, target: str, body: Any = None) -> Any:
        return ask(self.port, method, target, body)

    def _host(self, name: str) -> Host:
        host = self.web.host(name)
        if host is None:
            raise SimWebError(f"this web has no host {name!r}; `hosts()` lists them")
        return host

    def _page(self, url: str) -> tuple[Host, int]:
        host, target = truth.locate(self.web, url)
        resource = host.resource(target, self.now()) if host else None
        if host is None or resource is None or resource.kind != "page":
            raise SimWebError(f"{url} is no page of this web; `urls(host)` lists them")
        return host, resource.number


def ask(port: int, method: str, target: str, body: Any = None) -> Any:
    """One question to the admin pages of a running web."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, target, json.dumps(body) if body is not None else None, {"Host": ADMIN_HOST})
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SimWebError(f"no simulated web answers on port {port} ({error}); start one with `simweb serve`")
    finally:
        connection.close()
    if response.status != 200:
        raise SimWebError(f"simweb refused {method} {target}: {answer['error']}")
    return answer


def _list(seeds: str | Iterable[str]) -> list[str]:
    return [seeds] if isinstance(seeds, str) else list(seeds)
