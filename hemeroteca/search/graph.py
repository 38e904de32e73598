"""The link graph: who links to whom, and what that says about pages and hosts.

Edges are kept as columns of 64-bit keys in segment files (16 bytes an edge), appended while crawling and read whole for
ranking. PageRank is a power iteration over plain numpy arrays: memory grows with the edges (about 60 bytes each at the
peak), never with their square. A page captured again replaces its own edges; one that is gone is noted as a page that
links to itself only, which hides its older edges and counts for nothing. A file that cannot be read is left out and
said: `hemeroteca search rebuild` makes the graph anew.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from hemeroteca import lazy

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy.Module("numpy")

log = logging.getLogger("hemeroteca.search")
_MAX_ANCHORS = 12  # different texts kept per page
MAX_EDGES = 20_000_000  # the newest that are kept and ranked: 320 MB on disk, about 1.2 GB for a moment
_DAMPING = 0.85  # how probably the random reader of PageRank follows a link
_TOLERANCE = 1e-6  # of the sum of all ranks: when they move less they are final …
_MAX_ROUNDS = 300  # … or after so many rounds
_MIN_RANK = 0.045  # share of the average rank below which a page counts as one nobody recommends
_UNLED = 0.3  # the best rank of a page no seed leads to
_MERGED_ANCHORS = 4 << 20  # bytes of packed link texts in one file …
_MAX_ANCHOR_BYTES = 128 << 20  # … and in all; the oldest go first


class LinkGraph:
    """A folder of edge segments. One writer; readers take what is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def writer(self) -> LinkWriter:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        numbers = [int(file.name.split(".")[0]) for file in self.path.glob("*.edges.npy")]
        return LinkWriter(self.path, max(numbers, default=0) + 1)

    def segments(self) -> list[str]:
        """Names of what is complete, oldest first."""
        return sorted(file.name.split(".")[0] for file in self.path.glob("*.edges.npy"))

    def edges(self, names: Sequence[str] | None = None, most: int = MAX_EDGES) -> tuple[np.ndarray, np.ndarray]:
        """Sources and targets as keys; of a page captured more than once, only its last links. Duplicates remain."""
        names = self.segments() if names is None else names
        if not names:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        seen = np.empty(0, np.int64)
        kept = []
        room = most
        for name in reversed(names):  # the newest word of a page counts
            source, target = _load_pairs(self.path / f"{name}.edges.npy")[:, :room]
            if len(names) > 1:
                fresh = ~_contains(seen, source)
                source, target, seen = source[fresh], target[fresh], np.union1d(seen, source)
            kept.append((source, target))
            room -= len(source)
            if room <= 0:
                break
        return np.concatenate([s for s, _ in kept]), np.concatenate([t for _, t in kept])

    def hosts(self, names: Sequence[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Page keys, sorted, and the key of the host of each."""
        names = self.segments() if names is None else names
        parts = [_load_pairs(self.path / f"{name}.hosts.npy") for name in names]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        both = np.concatenate(parts, axis=1)
        pages, first = np.unique(both[0], return_index=True)
        return pages, both[1][first]

    def anchor_texts(self, most_bytes: int = 64 << 20) -> Iterator[tuple[int, str]]:
        """(page key, texts of the links to it, most frequent first). Memory stays near `most_bytes`."""
        files = sorted(self.path.glob("*.anchors"))
        passes = max(1, -(-sum(file.stat().st_size for file in files) * 8 // most_bytes))
        for turn in range(passes):
            texts: dict[int, Counter[str]] = {}
            for file in files:
                for key, text in _load_anchors(file):
                    if key % passes == turn:
                        texts.setdefault(key, Counter())[text] += 1
            for key, counts in texts.items():
                yield key, "\n".join(text for text, _ in counts.most_common(_MAX_ANCHORS))

    def compact(self) -> None:
        """Many small segments into one, without links that were replaced.

        A writer may go on beside it (its segments are newer), another `compact` may not.
        """
        names = self.segments()
        if len(names) < 2:
            return
        source, target = self.edges(names)
        linked = source != target  # nothing older is left that a page noted as gone would have to hide
        source, target = source[linked], target[linked]
        pages, hosts = self.hosts(names)
        known = _contains(distinct(np.concatenate([source, target])), pages)
        last = names[-1]
        _save(self.path / f"{last}.hosts.npy", np.stack([pages[known], hosts[known]]))
        _save(self.path / f"{last}.edges.npy", np.stack([source, target]))
        for name in names[:-1]:
            (self.path / f"{name}.edges.npy").unlink(missing_ok=True)
            (self.path / f"{name}.hosts.npy").unlink(missing_ok=True)
        for draft in self.path.glob("*.draft"):  # of somebody who was killed
            if draft.name.split(".")[0] <= last:
                draft.unlink(missing_ok=True)
        self._compact_anchors(last)

    def forget_before(self, number: int) -> None:
        """Let go of segments below that number: all that is known was written again."""
        for file in self.path.iterdir():
            if (name := file.name.split(".")[0]).isdigit() and int(name) < number:
                file.unlink(missing_ok=True)

    def forget_texts(self, texts: frozenset[tuple[int, str]]) -> None:
        """Let go of these texts of links, whoever wrote them: of each only the target is known. No writer beside it."""
        for file in self.path.glob("*.anchors"):
            known = _load_anchors(file)
            kept = [entry for entry in known if entry not in texts]
            if len(kept) < len(known):
                _pack(file, kept)

    def _compact_anchors(self, last: str) -> None:
        """Small files of link texts into larger ones; the oldest go when there is too much."""
        files = [file for file in sorted(self.path.glob("*.anchors")) if file.name.split(".")[0] <= last]
        total = sum(file.stat().st_size for file in files)
        while total > _MAX_ANCHOR_BYTES:
            total -= files[0].stat().st_size
            files.pop(0).unlink()
        group: list[Path] = []
        for file in [*files, None]:
            size = sum(one.stat().st_size for one in group)
            if file is None or size + file.stat().st_size > _MERGED_ANCHORS:
                if len(group) > 1:
                    _pack(group[-1], (entry for one in group for entry in _load_anchors(one)))
                    for one in group[:-1]:
                        one.unlink()
                group = []
            if file is not None:
                group.append(file)


class LinkWriter:
    """Collects the links of captured pages; `commit` makes them durable as one segment."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self.first = self._number = number  # of the segments written since it was opened
        self._clear()

    def add(self, page: int, host: int, targets: bytes, hosts: bytes, anchors: list[tuple[int, str]]) -> None:
        """The links of one page: keys of the targets and of their hosts as packed 64-bit integers; texts of links."""
        self._sources.extend(array("q", [page]) * (len(targets) // 8))
        self._targets.frombytes(targets)
        self._pages.append(page)
        self._hosts.append(host)
        self._pages.frombytes(targets)
        self._hosts.frombytes(hosts)
        self._anchors += anchors

    def forget(self, page: int) -> None:
        """The page is gone, and so are its links."""
        self._gone[page] = len(self._sources)

    def __len__(self) -> int:
        """Links waiting for `commit`."""
        return len(self._sources)

    def commit(self) -> None:
        if not self._sources and not self._gone:
            return
        name = f"{self._number:08d}"
        if self._anchors:
            _pack(self._path / f"{name}.anchors", self._anchors)
        pages = np.frombuffer(self._pages, dtype=np.int64)
        hosts = np.frombuffer(self._hosts, dtype=np.int64)
        pages, first = np.unique(pages, return_index=True)
        _save(self._path / f"{name}.hosts.npy", np.stack([pages, hosts[first]]))
        edges = np.stack([np.frombuffer(self._sources, dtype=np.int64), np.frombuffer(self._targets, dtype=np.int64)])
        _save(self._path / f"{name}.edges.npy", self._without_gone(edges) if self._gone else edges)
        self._number += 1
        self._clear()

    def _without_gone(self, edges: np.ndarray) -> np.ndarray:
        """Of a page that went, only the links it had when it came back; and a note that it went."""
        gone = np.array(sorted(self._gone), dtype=np.int64)
        since = np.array([self._gone[page] for page in gone.tolist()])
        place = np.minimum(np.searchsorted(gone, edges[0]), len(gone) - 1)
        stays = (gone[place] != edges[0]) | (np.arange(edges.shape[1]) >= since[place])
        return np.concatenate([edges[:, stays], np.stack([gone, gone])], axis=1)

    def _clear(self) -> None:
        self._sources, self._targets = array("q"), array("q")
        self._pages, self._hosts = array("q"), array("q")
        self._anchors: list[tuple[int, str]] = []
        self._gone: dict[int, int] = {}  # page → how many links waited when it went


def pagerank(
    source: np.ndarray, target: np.ndarray, seeds: Iterable[int] = (), tolerance: float = _TOLERANCE
) -> tuple[np.ndarray, np.ndarray]:
    """Keys of all pages, sorted, and their PageRank (they add up to 1).

    With `seeds`, the random reader who gets bored, or comes to a page without links, starts again at one of them: pages
    far from what a person chose count less, and those nothing leads to from there get 0, however many they are.
    """
    nodes, tail, head = _numbered(source, target)
    chosen = _places(nodes, np.array(sorted(set(seeds)), dtype=np.int64))
    return nodes, _iterated(len(nodes), tail, head, chosen, tolerance=tolerance)


def _iterated(
    count: int,
    tail: np.ndarray,
    head: np.ndarray,
    seeds: np.ndarray,
    step: Callable[[], None] = lambda: None,
    tolerance: float = _TOLERANCE,
) -> np.ndarray:
    """PageRank of pages numbered from 0; links from `tail` to `head`."""
    if count == 0:
        return np.empty(0, np.float64)
    real = tail != head
    edges = distinct(head[real].astype(np.int64) * count + tail[real])  # sorted by head, each once
    del tail, head, real
    tail = (edges % count).astype(np.int32)
    head = (edges // count).astype(np.int32)
    del edges
    first = np.flatnonzero(np.concatenate([[True], head[1:] != head[:-1]])) if len(head) else np.empty(0, np.int64)
    heads = head[first]
    del head
    degree = np.bincount(tail, minlength=count)
    share = np.zeros(count)
    np.divide(1.0, degree, out=share, where=degree > 0)
    dangling = degree == 0
    start = np.full(count, 1.0 / count)
    if len(seeds):
        start[:] = 0.0
        start[seeds] = 1.0 / len(seeds)
    rank = start.copy()
    for _ in range(_MAX_ROUNDS):
        step()
        fresh = start * (1 - _DAMPING + _DAMPING * rank[dangling].sum())
        if len(heads):
            given = (rank * share).astype(np.float32)  # half the memory to walk through; sums stay exact
            fresh[heads] += _DAMPING * np.add.reduceat(given[tail], first, dtype=np.float64)
        moved = np.abs(fresh - rank).sum()
        rank = fresh
        if moved < tolerance:
            break
    return rank / rank.sum()


def rank_pages_and_hosts(
    graph: LinkGraph, seeds: Iterable[int] = (), step: Callable[[], None] = lambda: None
) -> LinkRanks:
    """PageRank of every known page and of every host, on a scale from 0 (the least) to 1 (the best). `step` is called
    in each round and may end it by raising."""
    pages, tail, head = _numbered(*graph.edges())
    chosen = _places(pages, np.array(sorted(set(seeds)), dtype=np.int64))
    ranks = _ranked(len(pages), tail, head, chosen, step)
    host_of = _look_up(*graph.hosts(), pages)  # 0: not known
    hosts, numbers = np.unique(host_of, return_inverse=True)
    # from here on the pairs of different hosts, each once: few, where the links were many
    pairs = distinct(numbers[tail] * len(hosts) + numbers[head])
    del tail, head
    source, target = hosts[pairs // max(1, len(hosts))], hosts[pairs % max(1, len(hosts))]
    across = (source != target) & (source != 0) & (target != 0)
    linked, tail, head = _numbered(source[across], target[across])
    host_ranks = _ranked(len(linked), tail, head, _places(linked, distinct(host_of[chosen])), step)
    return LinkRanks(pages, ranks, linked, host_ranks)


def _ranked(count: int, tail: np.ndarray, head: np.ndarray, seeds: np.ndarray, step: Callable[[], None]) -> np.ndarray:
    """Scaled ranks. Pages no seed leads to (imported ones) are ranked by the links between them, and count for less
    than those a seed leads to: nobody chose to begin there."""
    ranks = _iterated(count, tail, head, seeds, step)
    scaled = _scaled(ranks)
    unled = ranks == 0
    if unled.any():
        theirs = unled[tail]
        others, tail, head = _numbered(tail[theirs], head[theirs])
        alone = _UNLED * _scaled(_iterated(len(others), tail, head, np.empty(0, np.int64), step))
        scaled[others] = np.where(unled[others], alone, scaled[others])
    return scaled


class LinkRanks:
    """Ranks by key, looked up at query time. Files are mapped, not read."""

    def __init__(self, pages: np.ndarray, page_ranks: np.ndarray, hosts: np.ndarray, host_ranks: np.ndarray) -> None:
        self._pages, self._page_ranks = pages, page_ranks
        self._hosts, self._host_ranks = hosts, host_ranks

    def pages(self, keys: np.ndarray) -> np.ndarray:
        return _look_up(self._pages, self._page_ranks, keys)

    def hosts(self, keys: np.ndarray) -> np.ndarray:
        return _look_up(self._hosts, self._host_ranks, keys)

    def __len__(self) -> int:
        return len(self._pages)

    def save(self, path: Path) -> None:
        """Write beside what is there, then put in place with one rename each; readers map the old files until then."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        numbers = [int(file.name.split(".")[0]) for file in path.glob("*.pages.npy")]
        name = f"{max(numbers, default=0) + 1:08d}"
        _save(path / f"{name}.hosts.npy", self._hosts)
        _save(path / f"{name}.host_ranks.npy", self._host_ranks)
        _save(path / f"{name}.page_ranks.npy", self._page_ranks)
        _save(path / f"{name}.pages.npy", self._pages)  # last: its presence says the others are complete
        for file in path.iterdir():  # older ones, and drafts of somebody who was killed
            if re.match(r"\d{8}\.", file.name) and not file.name.startswith(name):
                file.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> LinkRanks | None:
        for file in sorted(path.glob("*.pages.npy"), reverse=True):
            name = file.name.split(".")[0]
            try:
                pages, page_ranks, hosts, host_ranks = (
                    np.load(path / f"{name}.{part}.npy", mmap_mode="r")
                    for part in ("pages", "page_ranks", "hosts", "host_ranks")
                )
            except (OSError, ValueError, EOFError):
                continue  # replaced by a newer one just now, or damaged
            if len(pages) == len(page_ranks) and len(hosts) == len(host_ranks):
                return cls(pages, page_ranks, hosts, host_ranks)
        return None


def distinct(values: np.ndarray) -> np.ndarray:
    """Sorted, each once. numpy sorts numbers far faster than its `unique` hashes them, which loads `numpy.ma` first."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])] if len(values) else values


def _numbered(source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All keys, sorted, and the links as places among them, in another order: looking up sorted keys walks straight."""
    nodes = distinct(np.concatenate([source, target]))
    order = np.argsort(source)
    tail, target = np.searchsorted(nodes, source[order]).astype(np.int32), target[order]
    order = np.argsort(target)
    return nodes, tail[order], np.searchsorted(nodes, target[order]).astype(np.int32)


def _scaled(ranks: np.ndarray) -> np.ndarray:
    """PageRank follows a power law: the logarithm spreads it evenly; the least page gets 0, the best 1. A page far down
    a chain gets 0 as well: the scale is for the others."""
    if not len(ranks):
        return np.empty(0, np.float32)
    low, high = max(ranks.min(), _MIN_RANK / len(ranks)), ranks.max()
    if high <= low * 1.0001:
        return np.zeros(len(ranks), np.float32)
    return (np.log(np.maximum(ranks, low) / low) / np.log(high / low)).astype(np.float32)


def _found(keys: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each wanted key stands or would stand among the sorted `keys`, and whether it is there."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), dtype=bool)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return places, keys[places] == wanted


def _places(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    places, there = _found(keys, wanted)
    return places[there]


def _contains(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return _found(keys, wanted)[1]


def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The values of keys; 0 where there is none."""
    places, there = _found(keys, wanted)
    return np.where(there, values[places], values.dtype.type(0)) if len(keys) else np.zeros(len(wanted), values.dtype)


def _load_pairs(path: Path) -> np.ndarray:
    """Two rows of keys; none where the file cannot be read."""
    try:
        pairs = np.load(path)
        if pairs.ndim == 2 and pairs.shape[0] == 2 and pairs.dtype == np.int64:
            return pairs
        reason = "not a table of links"
    except FileNotFoundError:  # merged into a newer one just now
        return np.empty((2, 0), np.int64)
    except (OSError, ValueError, EOFError) as error:
        reason = str(error)
    log.warning("the links in %s are left out (%s); `hemeroteca search rebuild` makes them anew", path, reason)
    return np.empty((2, 0), np.int64)


def _load_anchors(path: Path) -> list[tuple[int, str]]:
    try:
        return _decode_anchors(zlib.decompress(path.read_bytes()))
    except (OSError, zlib.error, msgspec.MsgspecError) as error:
        log.warning("the link texts in %s are left out (%s); `hemeroteca search rebuild` makes them anew", path, error)
        return []


_decode_anchors = msgspec.msgpack.Decoder(list[tuple[int, str]]).decode


def _save(path: Path, values: np.ndarray) -> None:
    with _replaced(path) as file:
        np.save(file, values)


def _pack(path: Path, anchors: Iterable[tuple[int, str]]) -> None:
    with _replaced(path) as file:
        file.write(zlib.compress(msgspec.msgpack.encode(list(dict.fromkeys(anchors))), 1))


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """A file that appears whole and durable, or not at all."""
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
