"""Settings of an instance: `hemeroteca.toml`, overridden by `HEMEROTECA_*` environment variables.

Every setting is a field of `Config` with a default that works on a Raspberry Pi. A field `max_body_bytes` is the key
`max_body_bytes` in the file and the variable `HEMEROTECA_MAX_BODY_BYTES`. Unknown keys are errors, so that a typing
mistake never passes silently.
"""

import dataclasses
import os
import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

FILE = "hemeroteca.toml"  # of the folder a command is called in
PREFIX = "HEMEROTECA_"
REGISTRATION = ("closed", "invitation", "open")
SECRETS = ("wiki_password", "wiki_token")


class ConfigError(ValueError):
    """A setting that cannot be used; the message names it, the reason and what to write instead."""


def setting(default: Any, help: str) -> Any:  # noqa: A002
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Config:
    """All settings, in the order a person would look for them."""

    data: Path = setting(Path("hemeroteca-data"), "folder that holds everything")  # noqa: RUF009
    database: str = setting("", "PostgreSQL address (postgresql://user:pass@host/db); empty: SQLite in `data`")

    # who we say we are
    contact: str = setting("", "address or page where a webmaster can reach you; sent in the User-Agent")
    user_agent: str = setting("", "whole User-Agent header; empty: Hemeroteca/<version> (+contact)")

    # politeness
    delay: float = setting(1.0, "least seconds between two requests to a host")
    delay_factor: float = setting(5.0, "delay as a multiple of the last response time")
    max_delay: float = setting(30.0, "longest adaptive delay, in seconds")
    max_crawl_delay: float = setting(120.0, "longest Crawl-delay obeyed, in seconds")
    concurrency: int = setting(64, "most requests under way at once, over all hosts")
    address_concurrency: int = setting(
        4, "most requests under way at once to one address, however many hosts live there"
    )
    host_page_cap: int = setting(1_000_000, "most pages kept per host (trap defence)")
    same_text_cap: int = setting(200, "pages of a host that say the same after which what they lead to is held back")
    max_depth: int = setting(5000, "links from a seed beyond which a crawl holds pages back")

    # watching
    watch_visits_per_day: int = setting(0, "most visits a day of watched pages, all together; 0: no limit")
    watch_bytes_per_day: int = setting(0, "most bytes a day received by such visits; 0: no limit")
    watch_saved_minutes: float = setting(
        10.0,
        "minutes' worth of a budget that may be saved up; more for a machine that sleeps, "
        "which then makes many visits when it wakes",
    )

    # fetching
    allow_private: bool = setting(False, "fetch from private and loopback addresses too (tests, intranets)")
    allow_networks: tuple[str, ...] = setting(
        (), "networks that are opened though they are not public, e.g. 192.0.2.0/24"
    )
    resolve: tuple[str, ...] = setting(
        (), "fixed addresses, `pattern=ip[:port]` each, e.g. `*.sim.test=127.0.0.1:8900`"
    )
    connect_timeout: float = setting(20.0, "seconds to connect")
    timeout: float = setting(120.0, "seconds a whole response may take")
    low_speed_seconds: int = setting(30, "seconds below 10 bytes/s after which a response is given up")
    max_body_bytes: int = setting(64 << 20, "longest body kept; the rest is cut and noted")
    max_header_bytes: int = setting(64 << 10, "longest header block accepted")
    spool_bytes: int = setting(1 << 20, "bodies longer than this wait on disk, not in memory")
    proxy: str = setting("", "proxy for all requests, e.g. socks5h://127.0.0.1:9050")
    max_redirects: int = setting(10, "redirects followed in a row")
    retries: int = setting(2, "further tries after a passing failure")
    retry_seconds: float = setting(5.0, "wait before the first further try; doubles")

    # work on this machine
    ingest_processes: int = setting(0, "processes that read pages; 0: one less than the cores, at least one")
    job_processes: int = setting(2, "jobs that `serve` does at once; each process lives only while there is work")
    job_limits: tuple[str, ...] = setting(
        ("archive.import=1", "instance.backup=1", "fleet.webhook=1"),
        "most jobs of a kind that run at once, `kind=number` each, e.g. `wiki.extract=1`",
    )
    commit_seconds: float = setting(1.0, "longest time between two commits")
    min_free_bytes: int = setting(256 << 20, "crawls stop when less is free on the disk")
    warc_bytes: int = setting(1 << 30, "a WARC file is closed at this size")
    warc_compression: str = setting(
        "gzip", "of new files: gzip, which every tool reads, or zstd (smaller; extra `zstd`)"
    )
    archive_store: str = setting(
        "", "object store closed WARC files are brought to, e.g. s3://bucket/prefix; empty: they stay in `data`"
    )
    archive_keep_bytes: int = setting(
        2 << 30, "files brought to that store stay in `data` too, the newest so many bytes"
    )
    upload_bytes: int = setting(20 << 30, "longest file of captures that may be sent over the network; 0: none")
    index_heap_bytes: int = setting(32 << 20, "memory of the search index writer")
    index_commit_seconds: float = setting(10.0, "longest time until a new page can be found by search while crawling")
    index_versions: bool = setting(True, "index every version of every page too, for `at:` and searches of the past")
    title_opens_live: bool = setting(
        False, "titles of results open the live page, the small link the archived copy; false: the reverse"
    )
    search_mapped_bytes: int = setting(
        160 << 20,
        "memory of mapped files a process that searches keeps, about; beyond it the index is opened anew "
        "(Linux; what was read stays in the system's cache)",
    )

    # geographic services
    geo_check_hours: float = setting(24.0, "hours after which `serve` looks at a geographic service again; 0: never")
    geo_check_deep: bool = setting(True, "ask for a small map or a feature and for metadata too when it looks")
    geo_harvest_hours: float = setting(
        168.0, "hours after which `serve` harvests a catalogue of others again; 0: never"
    )

    # wikis
    wiki_requests_per_minute: float = setting(
        0.0, "requests a minute to one farm of wikis, all workers together; 0: Wikimedia 200, others by `delay`"
    )
    wiki_follow_seconds: float = setting(
        120.0, "seconds between looks at what a wiki announces, in `serve`; 0: articles are not kept up to date"
    )
    wiki_stream: str = setting(
        "",
        "address of a stream of events (Wikimedia's EventStreams) that `serve` hears for the wikis of its "
        "farm; empty: their recent changes are asked for",
    )
    wiki_countries: str = setting("", "file (MMDB, such as GeoLite2 Country) that tells the country of an address")
    wiki_token: str = setting("", "OAuth 2 token sent to the APIs of wikis")
    wiki_user: str = setting("", "name of a bot password at the wiki (User@bot)")
    wiki_password: str = setting("", "that bot password")
    lake_store: str = setting("", "object store of the lake, e.g. s3://bucket/lake; empty: the folder `lake` in `data`")

    # fleet
    fleet: bool = setting(True, "visits of this instance's own crawls are given to connected devices too")
    address_database: str = setting("", "CSV file of address ranges and their countries, for the fleet; empty: unknown")

    # web
    host: str = setting("127.0.0.1", "address the console listens on")
    port: int = setting(8080, "port of the console and the API")
    web_processes: int = setting(1, "processes that answer console, API and devices; they share the port")
    public_url: str = setting("", "address people use, when a proxy stands in front")
    replay: bool = setting(True, "archived pages can be replayed, when pywb is installed")
    replay_port: int = setting(0, "port of replay; 0: the one after `port`")
    replay_url: str = setting(
        "",
        "address of replay, under a name the console does not have; empty: replay.localhost, for readers "
        "on this machine",
    )
    replay_python: str = setting("", "Python that has pywb; empty: the one `python -m hemeroteca.replay.install` made")
    demo: bool = setting(False, "the first page says that this is a demonstration, and has a tour")
    open_search: bool = setting(True, "search and status can be read without signing in")

    # people
    registration: str = setting(
        "invitation", "who may make an account: closed (administrators add people), invitation, or open (needs mail)"
    )
    registration_role: str = setting(
        "reader", "role of people who register without an invitation: reader or subscriber"
    )
    mail_server: str = setting(
        "",
        "server that sends mail about accounts, smtp://user:password@host:587 (STARTTLS, except on this "
        "machine) or smtps://…:465; empty: no mail",
    )
    mail_from: str = setting("", "sender of that mail; empty: hemeroteca@ and the host of `public_url`")

    @property
    def agent(self) -> str:
        """The User-Agent header: honest about who we are and how to reach us."""
        if self.user_agent:
            return self.user_agent
        from hemeroteca import __version__

        return f"Hemeroteca/{__version__}" + (f" (+{self.contact})" if self.contact else "")

    @property
    def robots_token(self) -> str:
        """The name by which robots.txt speaks of us: the product of the User-Agent, `MyBot` of `MyBot/1.0 (+contact)`
        and of `Mozilla/5.0 (compatible; MyBot/1.0)`."""
        found = re.search(r"compatible;\s*([\w-]+)", self.agent, re.ASCII) or re.search(
            r"([\w-]+)", self.agent, re.ASCII
        )
        return found[1] if found else "Hemeroteca"

    @property
    def readers(self) -> int:
        """How many ingest processes to run."""
        return self.ingest_processes or max(1, (os.cpu_count() or 2) - 1)


def load(file: Path | None = None, environ: Mapping[str, str] | None = None, **overrides: Any) -> Config:
    """Defaults, then the file, then the environment, then `overrides` (command-line options that are not None)."""
    environ = os.environ if environ is None else environ
    hints = typing.get_type_hints(Config)
    values: dict[str, Any] = {}
    for name, value, source in (*_in_file(file, environ), *_in_environment(environ), *_given(overrides)):
        if name not in hints:
            raise ConfigError(f"{source} has an unknown setting `{name}`; `hemeroteca config` lists those that exist")
        values[name] = _convert(name, value, hints[name], source)
    return Config(**values)


class MailServer(NamedTuple):
    """The setting `mail_server`, read."""

    host: str
    port: int
    user: str
    password: str
    tls: bool  # from the first byte
    starttls: bool
    sender: str


def mail_server(config: Config) -> MailServer:
    """Passwords never go in clear over a network: plain SMTP is for a server on this machine only."""
    parts = urlsplit(config.mail_server)
    if config.mail_server and (parts.scheme not in ("smtp", "smtps") or not parts.hostname):
        raise ConfigError("setting `mail_server` cannot be read; write smtp://user:password@host:587 or smtps://…:465")
    host, tls = parts.hostname or "", parts.scheme == "smtps"
    here = host in ("localhost", "127.0.0.1", "::1")
    domain = urlsplit(config.public_url).hostname or "localhost"
    return MailServer(
        host=host,
        port=parts.port or (465 if tls else 25 if here else 587),
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=tls,
        starttls=not tls and not here,
        sender=config.mail_from or f"hemeroteca@{domain}",
    )


def describe() -> list[tuple[str, str, str]]:
    """(name, default, help) of every setting, for the command line and the reference page."""
    return [(f.name, str(f.default), f.metadata["help"]) for f in dataclasses.fields(Config)]


def file_in_force(environ: Mapping[str, str] | None = None) -> Path | None:
    """The settings file that `load` reads; None when there is none."""
    path = Path((os.environ if environ is None else environ).get(f"{PREFIX}CONFIG", "") or FILE)
    return path if path.exists() else None


def shown(name: str, value: object) -> object:
    """The value of a setting as people see it: secrets are not shown."""
    if name in SECRETS:
        return "(set)" if value else ""
    if isinstance(value, str):  # a password inside an address
        return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:(set)@", value)
    return value


def _in_file(file: Path | None, environ: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    """Settings as (name, value, where it was written)."""
    named = environ.get(f"{PREFIX}CONFIG", "")
    path = file or Path(named or FILE)
    if not path.exists():
        if file is not None or named:
            raise ConfigError(f"the settings file {path} does not exist; create it, or leave out {PREFIX}CONFIG")
        return
    import tomllib  # many instances have no such file

    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML ({error}); correct that line")
    for name, value in table.items():
        yield name, value, str(path)


def _in_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any, str]]:
    for name in Config.__dataclass_fields__:
        if text := environ.get(PREFIX + name.upper(), ""):
            yield name, text, "the environment"


def _given(overrides: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    for name, value in overrides.items():
        if value is not None:
            yield name, value, "the command line"


def _convert(name: str, value: Any, kind: Any, source: str) -> Any:
    converted = _as_kind(value, kind)
    if converted is None:
        raise ConfigError(f"setting `{name}` in {source} is {value!r}; it must be {_spell(kind)}")
    return converted


def _as_kind(value: Any, kind: Any) -> Any:
    """The value as a setting of that kind; None when it cannot be one."""
    if kind is bool:
        if isinstance(value, str):
            return _TRUTH.get(value.strip().lower())
        return value if isinstance(value, bool) else None
    if typing.get_origin(kind) is tuple:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        texts = isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)
        return tuple(value) if texts else None
    if isinstance(kind, types.UnionType) or isinstance(value, bool) or not isinstance(value, str | int | float | Path):
        return None
    try:
        converted = kind(value)
    except ValueError:
        return None
    return None if kind in (int, float) and not 0 <= converted < float("inf") else converted


_TRUTH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _spell(kind: Any) -> str:
    names = {bool: "true or false", int: "a whole number of 0 or more", float: "a number of 0 or more"}
    return names.get(kind, "a list of texts" if typing.get_origin(kind) is tuple else "a text")
