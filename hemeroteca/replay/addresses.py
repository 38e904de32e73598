"""Where replay is, and tickets: what the console hands a member so that replay, which has no accounts, lets them in.

    ticket  in a link, good for a minute; replay turns it into a pass
    pass    in a cookie of replay's own name that no script can read, good for half a day

Both are a moment of expiry and its signature. The key is made from the instance's secret, so both processes know it and
neither needs the other; the secret itself never reaches the process that runs strangers' pages.
"""

import hashlib
import hmac
import ipaddress
import time
from urllib.parse import quote, urlsplit

DEFAULT_NAME = "replay.localhost"
"""Browsers take every name under `localhost` for this machine, and it is another site than `localhost` itself."""

TICKET_SECONDS = 60


class AddressError(ValueError):
    """A `replay_url` that cannot be used; the message says why and what to write instead."""


def origin_for(host: str, replay_url: str) -> str:
    """The origin of replay for a reader whose browser sent `Host: host`; empty when they have none.

    Somebody on another machine cannot follow `replay.localhost`; for them there must be a name of its own.
    """
    if not replay_url:
        return ""
    only_here = (urlsplit(replay_url).hostname or "").endswith(".localhost")
    if only_here and not is_this_machine(_name(host)):
        return ""
    return replay_url.rstrip("/")


def check(replay_url: str, console_names: set[str]) -> None:
    """Raise unless the address can be replay's: a bare origin under a name that the console does not have."""
    parts = urlsplit(replay_url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise AddressError(
            f"replay_url is {replay_url!r}; write only scheme, name and port: https://replay.example.org"
        )
    if parts.hostname in console_names:
        raise AddressError(
            f"replay_url has the name {parts.hostname}, which is the console's; archived scripts could then use the "
            "session of who reads them, because cookies ignore ports. Give replay a name of its own"
        )


def capture_address(origin: str, stamp: str, url: str) -> str:
    """Where replay shows the capture of that second."""
    return f"{origin}/{stamp}/{url}"


def entrance(origin: str, key: str, stamp: str, url: str, publication: str = "") -> str:
    """The same behind a ticket, for archives that are not open to all. With the name of a published collection the
    door leads to what belongs to that one only."""
    to = quote(f"/{stamp}/{url}", safe="")
    kind = f"ticket {publication}" if publication else "ticket"
    ticket = sign(key, kind, int(time.time()) + TICKET_SECONDS)
    return f"{origin}/_/enter?ticket={ticket}&to={to}" + (f"&publication={publication}" if publication else "")


def key_of(secret: str) -> str:
    """The key shared with replay: for tickets, and as its token when it asks our index and our files."""
    return hashlib.blake2b(b"hemeroteca replay", key=secret.encode()[:64], digest_size=32).hexdigest()


def sign(key: str, kind: str, until: int) -> str:
    return f"{until}.{hmac.new(key.encode(), f'{kind} {until}'.encode(), hashlib.sha256).hexdigest()}"


def is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _name(host: str) -> str:
    """`[::1]:8080` -> `::1`, `Example.org:80` -> `example.org`."""
    host = host.lower()
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
