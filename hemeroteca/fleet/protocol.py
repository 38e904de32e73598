"""What travels between coordinator and devices, as JSON, and the settings of the fleet. No Django here.

`device.coordinator_link` speaks the same without this module, because it has only the standard library.
"""

from typing import Annotated

import msgspec

MIN_VERSION = "0.1.0"  # of a worker
ACTIVITIES = ("crawls", "clients", "vantage", "load")
CATEGORIES = (  # kinds of pages an owner may leave out, of what clients and vantage checks ask for
    "general", "news", "politics", "religion", "health", "social", "circumvention", "gambling", "drugs", "adult",
)  # fmt: skip
USUAL_CATEGORIES = ("general", "news", "health", "social")  # without a word of the owner
AGENT = "HemerotecaFleet"  # closes a site to the fleet alone, in robots.txt


Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]  # as a database keeps it
Text = Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]*\Z")]  # … and PostgreSQL no NUL
Words = Annotated[Text, msgspec.Meta(max_length=200)]


class FleetSettings(msgspec.Struct, frozen=True):
    """Changed with `hemeroteca fleet set`; everybody obeys within seconds."""

    strategy: str = "auto"
    cache_seconds: int = 3600  # an answer of the archive this young serves clients too
    max_block: int = 64  # URLs
    task_seconds: float = 30.0  # a single request may take
    max_devices: int = 1000  # connected at once; further ones are told to come back
    device_percent: int = 70  # of what a client pays; the rest is the operator's
    probe_percent: int = 1  # of URLs are asked although the answer is known: they look like any other
    local: bool = True  # the engine fetches as well while devices are connected


class LentCaps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds its owner set on a device, for people: nobody else can change them. 0: none."""

    parallel: Number = 0  # requests under way
    bytes_per_second: Number = 0
    bytes_per_month: Number = 0
    disk_bytes: Number = 0
    hours: Annotated[str, msgspec.Meta(pattern=r"\A[^\x00]{0,10}\Z")] = ""
    cpu_percent: Number = 0
    min_delay: float = 0.0  # s between two requests to one host


class Hello(msgspec.Struct, forbid_unknown_fields=True):
    """Of a device, when it begins."""

    version: Words
    system: Words = ""
    activities: tuple[str, ...] = ("crawls",)
    categories: tuple[str, ...] = USUAL_CATEGORIES
    caps: LentCaps = LentCaps()
    blocks: list[Number] = []  # that it still has in hand: it was cut off, not started anew
    resting: bool = False  # it takes no work yet


class Welcome(msgspec.Struct):
    device: str  # its pseudonym
    agent: str  # the User-Agent of all requests
    min_version: str = MIN_VERSION
    heartbeat_seconds: float = 30.0
    part_bytes: int = 1 << 20  # most bytes of one piece of an upload
    max_bytes: int = 0  # of a body; the rest is cut


class Want(msgspec.Struct, forbid_unknown_fields=True):
    """What a device has room for, and what it measured since it asked last."""

    urls: Number = 64
    speed: float = 0.0  # URLs per second; 0: nothing to tell


class UrlTask(msgspec.Struct, omit_defaults=True):
    url: str
    etag: str = ""
    last_modified: str = ""
    method: str = "GET"
    headers: list[tuple[str, str]] = []
    certificate: bool = False  # the report tells the hash of the site's certificate


class HostWork(msgspec.Struct):
    """One host: its URLs are asked one after the other."""

    host: str
    delay: float  # seconds between the end of a request and the next …
    factor: float = 0.0  # … or this multiple of the time the last one took, if that is longer
    tasks: list[UrlTask] = []
    signature: list[tuple[str, str]] = []  # headers that prove who we are, for this host


class LeasedWork(msgspec.Struct):
    hosts: list[HostWork]
    timeout: float = 30.0  # of one request
    max_delay: float = 30.0  # the longest delay by `factor`


class LeasedBlock(msgspec.Struct):
    """A block as a device gets it. Times are seconds from now: no clock of a device needs to be right."""

    block: int
    nonce: str
    seconds: float  # until the deadline
    work: msgspec.Raw


class Beat(msgspec.Struct, forbid_unknown_fields=True):
    """A device lives, and what it holds."""

    blocks: list[Number] = []
    says: Words = ""  # what it does now, or why not
    resting: bool = False  # it takes no work now: nothing is put aside for it


class HeartbeatOrders(msgspec.Struct):
    """What a device is told at a heartbeat."""

    drop: list[int] = []  # blocks it no longer holds
    back: list[int] = []  # blocks to be returned as they are: nobody wants the rest
    closed: list[str] = []  # hosts it must not ask any more
    stop: str = ""  # why it must stop altogether
    rest: str = ""  # why it shall wait, and give back what it has, until it is told otherwise
    work: bool = False  # a block waits for it: it need not wait any longer
    load: bool = False  # a load test runs: POST /fleet/v1/load, each second


class FetchReport(msgspec.Struct):
    """In the metadata record at the end of an upload: what the WARC cannot say. URLs in neither are given back."""

    url: str
    seconds: float = 0.0
    failure: Text = ""
    detail: Text = ""
    truncated: Text = ""
    certificate: Text = ""  # SHA-256 of the one the site showed, where the task asked for it
