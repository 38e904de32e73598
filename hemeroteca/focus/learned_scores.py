"""Which links lead to targets, learned while a crawl goes on.

Two learners. A classifier (logistic regression on hashed words of address, anchor and context, one Adagrad step per
observation) carries what was learned from one site to the next. Rates of groups of links (the same shape of address,
the same under pages of one shape, the same on hosts named alike, the same on this host) tell within a few visits which
parts of a site are worth it. What words and wide groups say counts alike; what the narrow ones say moves it further.
How far is learned too (`weigh`): on some webs the sites of one kind are alike, on others each is its own.

A link that led to a target is worth 1, one that led elsewhere 0. Lists and records are no targets but lead to them, so
a target also credits the links on the way to it: `DISCOUNT` for each step, and never more than 1 in all.
"""

import re
from array import array
from collections import OrderedDict
from functools import lru_cache
from itertools import islice
from math import exp, log, sqrt
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from hemeroteca.extract import native
from hemeroteca.focus.matcher import fold_words

if TYPE_CHECKING:
    import numpy as np

BITS = 18
DISCOUNT = 0.8  # what a target is worth to the link one step before it
MAX_STEPS = 4  # links before a target that are credited
# Visits of a group that count as much as what was thought of its links before: at first, and what is tried.
INERTIA = 4.0
INERTIAS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 200.0)
MIN_WEIGHED, MAX_WEIGHED = 40, 1500  # links they are chosen on
UNRIPE = 30  # links followed last, whose worth is not known yet
# Visits of a group that count, from the widest to the narrowest: a shape; under pages of a shape; a shape on hosts that
# are named alike (ide.example.es, ide.example.org); there under pages of a shape; the same on this host. Wide ones mix
# good and bad sites and count less.
MAX_COUNTED = (12.0, 12.0, 60.0, 30.0, 100.0)
WIDE = 2  # groups of those that are wide
GROUPS_REMEMBERED = 100_000
MAX_WORDS = 12  # of an anchor, a context, an address
RATE = 0.25
PAGES_REMEMBERED = 50_000
WORDS_REMEMBERED = 50_000  # whose feature is not worked out again

MIN_SHARE = 0.002  # what is thought of a link is never surer than this, nor than its opposite

MAX_TEXT = 300  # characters of an anchor, a context, an address
_NO_WORDS = [b"-"]
_MASK = (1 << BITS) - 1
_NUMBER = re.compile(r"(?<![a-z])[a-z]*\d[a-z\d]*", re.I)  # numbers and codes: 12, 8f3a, v2
_DIGIT = re.compile(r"\d")
_DIGIT_BYTE = re.compile(rb"\d")
_PARTS = re.compile(r"//([^/?#]*)([^?#]*)\??([^#]*)")


# What the learners see of a link: words of the classifier (numbers of hashed features, each once, of four bytes), and
# the groups it belongs to, from the widest to the narrowest. A plain tuple, because one is made for every link.
Features = tuple[bytes, tuple[int, ...]]


class _Followed(msgspec.Struct, gc=False):
    """A link that was followed."""

    features: Features
    parent: int  # key of the page it stands on
    left: float  # of what was thought of it, after words that lead elsewhere
    before: float = -1.0  # what was thought of it without its groups, when it was followed; -1: not known
    target: float = 0.0  # 1: it led to one
    credit: float = 0.0  # from targets behind it
    promised: float = 0.0  # the most that a link of its page, not followed yet, was worth since all were scored anew
    hoped: float = 0.0  # of that, what its groups count beyond its credit


class LinkModel:
    """The learners, and the way back from a page to the links that led to it."""

    def __init__(self) -> None:
        self._weights = (native.WordWeights or WordWeights)()
        self._rates: OrderedDict[int, list[float]] = OrderedDict()  # group → visits, what they were worth
        self._followed: OrderedDict[int, _Followed] = OrderedDict()  # by the key of the page
        self._inertia = [INERTIA] * len(MAX_COUNTED)  # of each kind of group
        self.targets = 0

    def chance(self, features: Features) -> float:
        """How likely such a link leads to a target, by its words alone."""
        return _logistic(self._weights.total(features[0], _BIAS))

    def worth(self, features: Features, before: float, left: float = 1.0) -> float:
        """What following such a link is worth: what was thought `before`, moved by the rates of its groups.

        `left`: the share that remains where its words lead elsewhere. It lowers what words and wide groups say, for
        these mix good and bad sites; what visits of its own kind of site and of its host say may raise it again.
        """
        rates, worth = self._rates, before
        for place, group in enumerate(features[1]):
            if place == WIDE:
                if worth != before:
                    worth = 1.0 / (1.0 + exp(-(_log_odds(before) + _log_odds(worth)) / 2))
                worth *= left
            if rate := rates.get(group):
                visits, inertia = min(rate[0], MAX_COUNTED[place]), self._inertia[place]
                worth = (rate[1] / rate[0] * visits + inertia * worth) / (visits + inertia)
        return worth

    def promise(self, page: int, worth: float) -> None:
        """A link on that page is queued, and thought to be worth that."""
        link = self._followed.get(page)
        if link is not None and worth > link.promised:
            link.promised = worth

    def hope(self) -> None:
        """Count what the queued links of visited pages promise: a list whose records wait to be followed has not
        failed. To be called before all that is queued is scored anew."""
        for link in self._followed.values():
            hoped = 0.0 if link.target else max(DISCOUNT * link.promised - link.credit, 0.0)
            if abs(hoped - link.hoped) > MIN_SHARE:
                for group in link.features[1]:
                    if rate := self._rates.get(group):
                        rate[1] += hoped - link.hoped
                link.hoped = hoped
            link.promised = 0.0

    def weigh(self) -> None:
        """Choose the inertia of each kind of group, from the widest to the narrowest: the one by which the other links
        of their groups foretell best what the links followed so far were worth."""
        import numpy as np  # only here: few processes follow links

        ripe = [link for link in islice(reversed(self._followed.values()), UNRIPE, None) if link.before >= 0.0]
        links = ripe[:MAX_WEIGHED]
        if len(links) < MIN_WEIGHED:
            return
        own = np.array([link.target + link.credit + link.hoped for link in links])
        wanted = np.minimum(own, 1.0)
        before = worth = np.array([link.before for link in links])
        for place, most in enumerate(MAX_COUNTED):
            if place == WIDE:
                odds = [np.log(share / (1.0 - share)) for share in (_kept(before), _kept(worth))]
                worth = np.array([link.left for link in links]) / (1.0 + np.exp(-sum(odds) / 2))
            rates = [self._rates.get(link.features[1][place], _NO_RATE) for link in links]
            others = np.maximum(np.array([rate[0] for rate in rates]) - 1.0, 0.0)  # without the link itself
            share = np.maximum(np.array([rate[1] for rate in rates]) - own, 0.0) / np.maximum(others, 1.0)
            visits = np.minimum(others, most)
            moved = [(share * visits + inertia * worth) / (visits + inertia) for inertia in INERTIAS]
            losses = [-np.mean(wanted * np.log(_kept(one)) + (1 - wanted) * np.log(1 - _kept(one))) for one in moved]
            best = int(np.argmin(losses))
            self._inertia[place], worth = INERTIAS[best], moved[best]

    def observe(
        self, page: int, parent: int, features: Features, before: float, target: bool, left: float = 1.0
    ) -> None:
        """A link was followed, to a target or not; `before`: what was thought of it without its groups; `left`: as in
        `worth`."""
        worth = 1.0 if target else 0.0
        self._step(features[0], worth)
        for group in features[1]:
            rate = self._rates.setdefault(group, [0.0, 0.0])
            rate[0] += 1.0
            rate[1] += worth
        while len(self._rates) > GROUPS_REMEMBERED:
            self._rates.popitem(last=False)
        self.remember(page, parent, features, before, worth, left)
        if target:
            self.targets += 1
            self._credit(parent)

    def remember(
        self,
        page: int,
        parent: int,
        features: Features,
        before: float = -1.0,
        target: float = 0.0,
        left: float = 1.0,
    ) -> None:
        """The way to a page, for the credit that targets behind it give."""
        self._followed[page] = _Followed(features, parent, left, before, target)
        if len(self._followed) > PAGES_REMEMBERED:
            self._followed.popitem(last=False)

    def features_of(self, page: int) -> Features | None:
        """Those of the link that led to a page; None when it is forgotten."""
        link = self._followed.get(page)
        return link.features if link is not None else None

    def _credit(self, page: int) -> None:
        """The pages on the way to a target were worth following."""
        worth = 1.0
        for _ in range(MAX_STEPS):
            worth *= DISCOUNT
            link = self._followed.get(page)
            if link is None:
                return
            given = min(worth, 1.0 - link.credit)
            if given > 0.0:
                link.credit += given
                self._step(link.features[0], link.credit)
                for group in link.features[1]:
                    if rate := self._rates.get(group):
                        rate[1] += given
            page = link.parent

    def _step(self, words: bytes, label: float) -> None:
        error = _logistic(self._weights.total(words, _BIAS)) - label
        self._weights.step(words, error, RATE)


def features(url: str, host: str, anchor: str, context: str, parent_url: str, page: float) -> Features:
    """Of a link on a page of that relevance."""
    if native.link_features is not None:
        found: Features | None = native.link_features(url, host, anchor, context, parent_url, page)
        if found is not None:
            return found
    return features_in_python(url, host, anchor, context, parent_url, page)


# The same in Python: its meaning, and the way of links that are not plain.


class WordWeights:
    """Those of the classifier, by the numbers of words. They are added one after the other, not by `sum`, which from
    Python 3.12 on is more exact than the compiled way."""

    def __init__(self) -> None:
        self._weights = array("d", bytes(8 << BITS))
        self._squares = array("d", [1.0]) * (1 << BITS)

    def total(self, words: bytes, start: float) -> float:
        for one in memoryview(words).cast("I"):
            start += self._weights[one]
        return start

    def step(self, words: bytes, error: float, rate: float) -> None:
        for one in memoryview(words).cast("I"):
            self._squares[one] += error * error
            self._weights[one] -= rate * error / sqrt(self._squares[one])


def features_in_python(url: str, host: str, anchor: str, context: str, parent_url: str, page: float) -> Features:
    """See `features`."""
    found = _PARTS.search(url)
    path, query = (found[2], found[3]) if found else ("", "")
    parent_host, of_page, page_number = _page_features(parent_url, int(page * 5), int(page * 4))
    of_link, groups = _link_features(shape_of(path, query), _ending(path), host, parent_host, page_number)
    anchor_words, context_words, address_words = fold_words(
        anchor[:MAX_TEXT], context[:MAX_TEXT], f"{path} {query}"[:MAX_TEXT]
    )
    words = (
        *of_page,
        *of_link,
        *map(_anchor_number, anchor_words[:MAX_WORDS] or _NO_WORDS),
        *map(_context_number, context_words[:MAX_WORDS] or _NO_WORDS),
        *map(_address_number, address_words[:MAX_WORDS] or _NO_WORDS),
    )
    return array("I", dict.fromkeys(words)).tobytes(), groups


def _ending(path: str) -> str:
    """That of the file an address names: `.pdf`; empty when it has none."""
    dot = path.rfind(".")
    return path[dot : dot + 7] if dot > path.rfind("/") else ""


class _WordNumbers(dict[bytes, int]):
    """Words of anchors, contexts or addresses → the numbers of their features; numbers and codes are all one word."""

    def __init__(self, salt: int) -> None:
        self._salt = salt

    def __missing__(self, word: bytes) -> int:
        number = crc32(b"0" if _DIGIT_BYTE.search(word) else word, self._salt) & _MASK
        if len(self) < WORDS_REMEMBERED:
            self[word] = number
        return number


_anchor_number, _context_number, _address_number = (_WordNumbers(salt).__getitem__ for salt in (1, 2, 3))
_SAME_HOST, _OTHER_HOST = crc32(b"oTrue") & _MASK, crc32(b"oFalse") & _MASK


@lru_cache(20_000)
def _link_features(
    shape: str, ending: str, host: str, parent_host: str, page_number: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """What all links to addresses of one shape on one host share that stand on pages of one shape: features, groups."""
    kin, own, of_host = _host_features(host)
    shape_name = shape.encode("utf-8", "replace")
    place = _SAME_HOST if host == parent_host else _OTHER_HOST
    kind = crc32(b"s" + shape_name) & _MASK, crc32(b"e" + ending.encode("utf-8", "replace")) & _MASK
    under, shaped = crc32(shape_name, page_number), crc32(shape_name, 7)
    groups = shaped, under, crc32(kin, shaped), crc32(kin, under), crc32(own, under)
    return (*of_host, place, *kind), groups


@lru_cache(10_000)
def _host_features(host: str) -> tuple[bytes, bytes, tuple[int, int]]:
    """The first label of a host's name without numbers, which hosts of one kind often share (ide, sig, geoportal, www);
    its whole name; and the features of both."""
    label = _NUMBER.sub("", host.partition(".")[0]).strip("-_")
    kin, own = label.encode("utf-8", "replace"), host.encode("utf-8", "replace")
    return kin, own, (crc32(b"h" + own) & _MASK, crc32(kin, 4) & _MASK)


@lru_cache(1000)
def _page_features(url: str, relevance: int, rough: int) -> tuple[str, tuple[int, int], int]:
    """The host of a page, the features its links have from it, and a number of pages of its shape; its relevance is
    given in fifths and in quarters."""
    found = _PARTS.search(url)
    host, shape = (found[1], shape_of(found[2], found[3])) if found else ("", "")
    first, second, number = (
        crc32(name.encode("utf-8", "replace")) for name in (f"p{shape}", f"r{relevance}", f"{shape} {rough}>")
    )
    return host, (first & _MASK, second & _MASK), number


_NO_RATE = [0.0, 0.0]


def _kept(shares: "np.ndarray") -> "np.ndarray":
    return shares.clip(MIN_SHARE, 1.0 - MIN_SHARE)


def _log_odds(share: float) -> float:
    if share < MIN_SHARE:
        share = MIN_SHARE
    elif share > 1.0 - MIN_SHARE:
        share = 1.0 - MIN_SHARE
    return log(share / (1.0 - share))


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + exp(-value)) if value > -30.0 else 0.0


def shape_of(path: str, query: str = "") -> str:
    """An address without what differs between pages of one kind: `/record/~` of `/record/red-hidrografica-12`."""
    parts = path.split("/")[:8]
    last = len(parts) - 1
    for place, part in enumerate(parts):
        if part.isalpha() and len(part) <= 20:
            continue
        parted = part.count("-") + part.count("_")
        if len(part) > 20 or parted > 1 or (parted and place == last and part[-1:].isdigit()):
            parts[place] = "~" + part[part.rfind(".") :] if "." in part[-6:] else "~"
        elif _DIGIT.search(part):
            parts[place] = _NUMBER.sub("0", part)
    shape = "/".join(parts)
    if not query:
        return shape
    if "&" not in query:
        return f"{shape}?{query.partition('=')[0].lower()}"
    return f"{shape}?{'&'.join(sorted([pair.partition('=')[0].lower() for pair in query.split('&')[:8]]))}"


_BIAS = log(0.02 / 0.98)  # before anything is learned one link in fifty is taken to be good
