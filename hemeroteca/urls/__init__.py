"""What a URL is to Hemeroteca: parsing, the canonical form and its 64-bit key, SURT, scope, robots, traps.

Pure: text in, values out; no clock, no network, no files. Whatever text comes in, the only error that comes out is
`UrlError`. Memory is bounded: every cache here has a limit.
"""

from typing import TYPE_CHECKING

from hemeroteca.lazy import lazily

if TYPE_CHECKING:
    from hemeroteca.urls import robots_txt
    from hemeroteca.urls.candidate import Candidate, UrlRole
    from hemeroteca.urls.canon import DEFAULT_RULES, CanonRules, canonical, key, typed
    from hemeroteca.urls.domains import registrable_domain
    from hemeroteca.urls.links import Target, directory, resolve_links, resolve_targets
    from hemeroteca.urls.scopes import Scope, ScopeMatcher
    from hemeroteca.urls.shapes import shape, trap
    from hemeroteca.urls.surts import surt
    from hemeroteca.urls.whatwg import UrlError, host, join, origin
else:
    __getattr__ = lazily(
        __name__,
        candidate="Candidate UrlRole",
        canon="DEFAULT_RULES CanonRules canonical key typed",
        domains="registrable_domain",
        links="Target directory resolve_links resolve_targets",
        scopes="Scope ScopeMatcher",
        shapes="shape trap",
        surts="surt",
        whatwg="UrlError host join origin",
    )

__all__ = [
    "DEFAULT_RULES", "Candidate", "CanonRules", "Scope", "ScopeMatcher", "Target", "UrlError", "UrlRole", "canonical",
    "directory", "host", "join", "key", "origin", "registrable_domain", "resolve_links", "resolve_targets",
    "robots_txt", "shape", "surt", "trap", "typed",
]  # fmt: skip
