"""What a person set for one site: CSS selectors, XPath and regular expressions, checked and made ready for use."""

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
import re2
from lxml import etree
from resiliparse.parse.html import HTMLTree

from hemeroteca.errors import Invalid

THRESHOLD = 0.05
"""F(μ) unless a site has its own: on a page of any length it is passed by one word that is not noise."""

COMPONENTS = {
    *("picture", "classes", "inline", "sheets", "colours"),  # view
    *("kind", "tags", "structure", "forms", "scripts", "styles"),  # form
    *("text", "order", "images", "media", "links", "files", "bytes", "status"),  # content
}
MAX_RULES = 100
MAX_LENGTH = 1000


class ChangeRules(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person set for one site. `check` tells whether the expressions in it can be used."""

    threshold: float = THRESHOLD  # F(μ): a change is important above it
    ignore: tuple[str, ...] = ()  # CSS selectors, or XPath (begins with `/`, `(` or `./`): left out
    keep: tuple[str, ...] = ()  # the same: when given, only what they select is compared
    ignore_text: tuple[str, ...] = ()  # RE2: what they match in a line of text is left out
    weights: tuple[str, ...] = ()  # of components of the vectors, as NAME=0.5; 0 silences one
    noise: bool = True  # put the noise aside that every site has


class RulesError(Invalid, ValueError):
    """A rule that cannot be used; the message quotes it and says why."""


class Selectors(NamedTuple):
    """Parts of a page named by CSS selectors and XPath."""

    css: str  # all selectors in one; empty when there are none
    xpath: tuple[etree.XPath, ...]

    def __bool__(self) -> bool:
        return bool(self.css or self.xpath)


@lru_cache(maxsize=1000)
def weights_of(texts: tuple[str, ...]) -> dict[str, float]:
    """Weights by the name of their component. Raises `RulesError`."""
    found = {}
    for text in texts:
        name, _, value = text.replace(" ", "").partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise RulesError(f"{text!r} is not a weight; write it like colours=0.5")
        if name not in COMPONENTS:
            raise RulesError(f"there is no component {name!r}; there are {', '.join(sorted(COMPONENTS))}")
        if not 0 <= found[name] <= 1:
            raise RulesError(f"the weight of {name} is {value}; it must lie between 0 and 1")
    return found


def check(rules: ChangeRules) -> None:
    """Raise `RulesError` for the first rule that cannot be used."""
    if not 0 < rules.threshold < 1:
        raise RulesError(f"the threshold {rules.threshold} does not lie between 0 and 1; 0.05 is usual")
    weights_of(rules.weights)
    selectors(rules.ignore)
    selectors(rules.keep)
    expressions(rules.ignore_text)


@lru_cache(maxsize=256)
def selectors(rules: tuple[str, ...]) -> Selectors:
    css: list[str] = []
    xpath: list[etree.XPath] = []
    for rule in _few(rules):
        if rule.lstrip().startswith(("/", "(", "./")):
            try:
                xpath.append(etree.XPath(rule, regexp=False, smart_strings=False))
            except etree.XPathSyntaxError as error:
                raise RulesError(f"the XPath {rule!r} cannot be read ({error}); try it in a browser's console")
        else:
            try:
                _EMPTY.document.query_selector_all(rule)
            except ValueError:
                raise RulesError(f"the CSS selector {rule!r} cannot be read; try it in a browser's console")
            css.append(rule)
    return Selectors(",".join(css), tuple(xpath))


@lru_cache(maxsize=256)
def expressions(rules: tuple[str, ...]) -> tuple[Any, ...]:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    found = []
    for rule in _few(rules):
        try:
            found.append(re2.compile(rule, options))
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
            raise RulesError(f"the expression {rule!r} cannot be used ({reason}); RE2 has no look-around")
    return tuple(found)


def _few(rules: tuple[str, ...]) -> tuple[str, ...]:
    if len(rules) > MAX_RULES:
        raise RulesError(f"{len(rules)} rules are too many for one site; {MAX_RULES} are allowed")
    for rule in rules:
        if not rule.strip() or len(rule) > MAX_LENGTH or "\x00" in rule:
            raise RulesError(f"the rule {rule[:60]!r} is empty, too long or has a null character")
    return rules


_EMPTY = HTMLTree.parse("<p></p>")
