"""Whoever controls a host can close it to the fleet: a file under `/.well-known/` proves it."""

import hashlib
import hmac
import re

import msgspec
from django.conf import settings

from hemeroteca import urls
from hemeroteca.accounts import STRANGER
from hemeroteca.config import Config
from hemeroteca.errors import Invalid
from hemeroteca.fleet import services
from hemeroteca.fleet.models import Answer
from hemeroteca.frontier.models import Page

PATH = "/.well-known/hemeroteca-fleet.txt"


class Requests(msgspec.Struct, frozen=True):
    """What is known of a host."""

    pages: int
    answers: int  # that devices brought


def host_name(given: str) -> str:
    """The host that somebody says is theirs: a name alone. Nobody has us ask ports and paths of their choice."""
    text = given.strip().lower()
    try:
        name = urls.host(urls.canonical(f"http://{text}/"))
    except urls.UrlError:
        name = ""
    if not name or len(text) > 255 or re.search(r"[\x00-\x20/?#@\\]|:\d+$", text):
        raise Invalid(f"{given[:100]!r} is not a host name; write it like example.org")
    return name


def proof(host: str) -> str:
    """The text that proves control of a host: another for each host, and only this instance can make it."""
    made = hmac.new(settings.SECRET_KEY.encode(), f"fleet opt-out {host}".encode(), hashlib.sha256)
    return f"leave-alone-{made.hexdigest()[:32]}"


def close(host: str, config: Config) -> str:
    """Look for the proof, through the address guard, and close the host; what happened, for people. Raises Invalid for
    what is no host name, Busy while others are looked at."""
    host = host_name(host)
    with services.looking():
        return _close(host, config)


def _close(host: str, config: Config) -> str:
    from hemeroteca.fetch.client import GuardedClient

    told = "no answer"
    for scheme in ("https", "http"):
        reply = GuardedClient(config).send(f"{scheme}://{host}{PATH}")
        if reply.ok and proof(host).encode() in reply.body[:1000]:
            services.close_host(STRANGER, host, "its owner asked for it, with proof", by_owner=True)
            return f"{host} is closed to the fleet, as is everything below it."
        if reply.status:  # why there is none would tell strangers what names of our own network mean
            told = f"the answer was {reply.status}"
    return f"The proof was not found at {PATH} of {host} ({told})."


def requests_to(host: str) -> Requests:
    keys = Page.objects.filter(host__name=host)
    answers = Answer.objects.filter(key__in=keys.values("key")).count()
    return Requests(keys.count(), answers)
