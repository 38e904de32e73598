"""What people set for a site. A value that travels between the frontier, the engine and the people's rooms: it knows no
tables."""

from typing import Literal

import msgspec

from hemeroteca import urls
from hemeroteca.ingest.rules import THRESHOLD, ComparisonRules
from hemeroteca.instance.sealed_secrets import unseal

_USUAL = ComparisonRules()


SECRETS = ("password", "proxy")  # lie encrypted in the database


class SiteSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person set for one host; wins over the crawl and the instance."""

    delay: float | None = None
    ignore_robots: bool = False
    allow_private: bool = False
    insecure: bool = False
    proxy: str = ""
    username: str = ""
    password: str = ""
    origins: tuple[
        str, ...
    ] = ()  # scheme://host[:port] that login, allow_private and insecure are for; empty: see `at`
    paused: bool = False
    visits_per_day: int = 0  # most visits of watched pages; 0: no limit of its own
    bytes_per_day: int = 0  # the same in bytes received
    render: Literal["auto", "always", "never"] = "auto"  # which of its pages are opened in a browser
    include: tuple[str, ...] = ()  # elements that hold its text, as `div[id=content]`; empty: found by themselves …
    exclude: tuple[str, ...] = ()  # … and elements that never do
    threshold: float | None = None  # F(μ): changes of its pages matter above it; None: 0.05
    ignore: tuple[str, ...] = ()  # CSS selectors or XPath: parts of its pages that are not compared
    keep: tuple[str, ...] = ()  # the same: when given, only these parts are compared
    ignore_text: tuple[str, ...] = ()  # RE2: text that does not count as a change

    @classmethod
    def read(cls, kept: object) -> "SiteSettings":
        """As it lies in the database. What cannot be read is left alone until a person sets it anew."""
        try:
            found = msgspec.convert(kept or {}, cls)
        except msgspec.ValidationError:
            return cls(paused=True)
        secrets = {name: unseal(value) for name in SECRETS if (value := getattr(found, name))}
        return msgspec.structs.replace(found, **secrets) if secrets else found

    def at(self, url: str) -> "SiteSettings":
        """What of it counts for a URL: who may be told a secret, or trusted, is an origin and not a host. Unless others
        are named: https at its usual port, and http there where no password is sent."""
        if not (self.username or self.password or self.allow_private or self.insecure):
            return self
        origin, name = urls.origin(url), urls.host(url)
        usual = (f"https://{name}",) if self.username or self.password else (f"https://{name}", f"http://{name}")
        if origin in (self.origins or usual):
            return self
        return msgspec.structs.replace(self, username="", password="", allow_private=False, insecure=False)

    def comparison(self, own: ComparisonRules | None = None) -> ComparisonRules:
        """How versions of its pages are compared; `own` is what a subscription says, which goes before."""
        own = own or _USUAL
        threshold = own.threshold
        if threshold == THRESHOLD and self.threshold is not None:
            threshold = self.threshold
        return ComparisonRules(
            threshold, (*self.ignore, *own.ignore), own.keep or self.keep, (*self.ignore_text, *own.ignore_text)
        )
