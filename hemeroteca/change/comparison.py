"""`compare`: the three vectors between two snapshots.

Components of view and form are shares: what differs, of all there is. Those of content grow with the logarithm of what
was added and removed, so that one changed word of a long page weighs as much as it should, and a whole new page is 1.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, pairwise
from math import log1p
from operator import ne
from typing import Any

from resiliparse.parse.html import DOMNode

from hemeroteca.change import noise, picture, site_rules
from hemeroteca.change.judgement import WEIGHTS, Block, Change, Resource
from hemeroteca.change.sequences import common_prefix, common_suffix
from hemeroteca.change.site_rules import ChangeRules
from hemeroteca.change.snapshot import Parts, Snapshot, blocks, path, take_apart, tidy

SHINGLE = 4
LETTERS = 6  # of a word and its space; how long a page is need not be known more exactly
CLEANED_CHARS = 300_000  # of differing text on each side; beyond, noise counts
MAX_RESOURCES = 200  # listed in a Change
MAX_BLOCKS = 100
BLOCK_CHARS = 500
LITTLE_CHARS = 200  # in one place may be noise even where they are most of a page
MAX_STYLE = 200_000

_DEFAULTS = ChangeRules()
_COLOUR = re.compile(
    r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b|\b(?:rgb|hsl)a?\([^()]{1,60}\)|(?<=color:)[ ]{0,3}[a-z]+", re.I
)
_FILES = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|csv|zip|rar|7z|t?gz|epub|kml|gpx|shp|tiff?|dwg|exe|apk|iso)(?:\?|$)", re.I
)


def compare(
    old: Snapshot,
    new: Snapshot,
    given: ChangeRules = _DEFAULTS,
    learned: frozenset[str] | None = None,
    *,
    view: bool = True,
) -> Change:
    """How `new` differs from `old`.

    With `learned` (`NoiseModel.noisy`), blocks known as noise are put aside and all others are named. Without `view`
    that vector stays empty, which saves about a seventh of the time.
    """
    status = {"status": 1.0} if old.status != new.status else {}
    picture_same = old.screenshot == new.screenshot or not (old.screenshot and new.screenshot)
    if old.body == new.body and picture_same:
        return Change(same_bytes=True, content=status, threshold=given.threshold)
    return _Comparison(old, new, given, learned, view).change(status)


class _Comparison:
    def __init__(
        self, old: Snapshot, new: Snapshot, given: ChangeRules, learned: frozenset[str] | None, view: bool
    ) -> None:
        self.view = view
        self.snapshots = old, new
        self.given = given
        self.learned = learned
        self.old, self.new = take_apart(old, given, view), take_apart(new, given, view)
        self.notes = list(dict.fromkeys(self.old.notes + self.new.notes))
        self.expressions = site_rules.expressions(given.ignore_text)
        self.blocks: list[Block] = []
        self.ignored: dict[str, None] = {}
        self.main_places: dict[bool, str] = {}  # of the new page, and of the old one
        self.resources: list[Resource] = []
        self.words = 0, 0

    def change(self, status: dict[str, float]) -> Change:
        content = {**self._content(), **status}
        weights = WEIGHTS | site_rules.weights_of(self.given.weights)
        vectors = [self._view() if self.view else {}, self._form(), content]
        for vector in vectors:
            for name, value in vector.items():
                vector[name] = round(min(1.0, max(0.0, value * weights.get(name, 1.0))), 6)
        return Change(
            view=vectors[0],
            form=vectors[1],
            content=vectors[2],
            threshold=self.given.threshold,
            words_removed=self.words[0],
            words_added=self.words[1],
            resources=self.resources,
            blocks=self.blocks,
            ignored=list(self.ignored),
            notes=self.notes,
        )

    # γ

    def _content(self) -> dict[str, float]:
        old, new = self.old, self.new
        if "binary" in (old.kind, new.kind):
            return {"bytes": float(self.snapshots[0].body != self.snapshots[1].body)}
        vector = {"text": self._text()}
        if old.kind == new.kind == "json":
            return vector
        vector["images"], _ = self._resources("images", old.images, new.images)
        vector["media"], _ = self._resources("media", old.media, new.media)
        vector["links"], vector["files"] = self._resources("links", old.links, new.links)
        return vector

    def _text(self) -> float:
        old, new = _trimmed(self.old.passages, self.new.passages)
        # half of the passages are empty, and tidying drops them
        removed, added = map(tidy, _apart(list(filter(None, old)), list(filter(None, new))))
        if not removed and not added:
            return 0.0
        gone, come = self._words_apart(removed, added)
        if gone == come:  # noise only, or the same words, cut into other lines
            return 0.0
        if self.learned is not None and (self.old.tree or self.new.tree):
            gone, come = self._words_apart(*self._without_learned(removed, added))
            if gone == come:
                return 0.0
        fewer, more = Counter(gone), Counter(come)
        self.words = (fewer - more).total(), (more - fewer).total()
        return _growth(max(1, sum(self.words)), _words(self.old) + _words(self.new))

    def _words_apart(self, removed: list[str], added: list[str]) -> tuple[list[str], list[str]]:
        """The words of the lines that differ once noise is put aside."""
        removed, added = _difference(self._cleaned(removed), self._cleaned(added))
        return " ".join(removed).split(), " ".join(added).split()

    def _cleaned(self, lines: list[str]) -> list[str]:
        if not self.given.noise and not self.expressions:
            return lines
        cleaned: list[str] = []
        room = CLEANED_CHARS
        for number, line in enumerate(lines):
            room -= len(line)
            if room < 0:
                self._note("noise-cut")
                return cleaned + lines[number:]
            for expression in self.expressions:
                line = expression.sub("", line.encode("utf-8", "replace").decode())
            cleaned.append(noise.clean(line) if self.given.noise else line)
        return list(filter(None, map(str.strip, cleaned)))

    def _without_learned(self, removed: list[str], added: list[str]) -> tuple[list[str], list[str]]:
        """Drop the lines at places known as noise; name the places of all others."""
        places: dict[str, tuple[list[str], list[str]]] = {}
        left: tuple[list[str], list[str]] = ([], [])
        for side, page, lines in ((0, self.old, removed), (1, self.new, added)):
            wanted = Counter(lines)
            # title and description stand before the body's text; to look for them there would be to walk all of it
            outside = Counter(tidy(page.passages[: page.outside])) & wanted
            missing = wanted.total() - outside.total()
            paths: dict[DOMNode, str] = {}
            for line, holder in blocks(page) if missing else ():
                if wanted.get(line, 0) <= 0:
                    continue
                wanted[line] -= 1
                missing -= 1
                where = paths.get(holder) or paths.setdefault(holder, path(holder))
                if not self._known_noise(where, page):
                    left[side].append(line)
                if len(places) < MAX_BLOCKS or where in places:
                    places.setdefault(where, ([], []))[side].append(line)
                if not missing:
                    break
            left[side].extend(wanted.elements())  # title, description: not in the body
        self.blocks += [
            Block(where, "\n".join(old)[:BLOCK_CHARS], "\n".join(new)[:BLOCK_CHARS])
            for where, (old, new) in places.items()
            if self._cleaned(old) != self._cleaned(new)
        ]
        return left

    def _known_noise(self, where: str, page: Parts | None = None) -> bool:
        """Whether what differs there is put aside; text never where most text of its page stands."""
        if self.learned is None or where not in self.learned:
            return False
        if page is not None and self._main_place(page) == where:
            return False
        self.ignored[where] = None
        return True

    def _main_place(self, page: Parts) -> str:
        """Where most text of a page stands; empty when it stands nowhere in particular, or is little."""
        found = self.main_places.get(page is self.new)
        if found is None:
            letters, paths = Counter[str](), dict[DOMNode, str]()
            for line, holder in blocks(page):
                letters[paths.get(holder) or paths.setdefault(holder, path(holder))] += len(line)
            where, most = letters.most_common(1)[0]
            found = where if most > LITTLE_CHARS and 2 * most > letters.total() else ""
            self.main_places[page is self.new] = found
        return found

    def _resources(
        self, kind: str, old: dict[str, DOMNode | None], new: dict[str, DOMNode | None]
    ) -> tuple[float, float]:
        """(change of the kind, change of the files among it)."""
        clean: Callable[[str], str] = noise.clean_address if self.given.noise else str
        if old.keys() == new.keys():
            return 0.0, 0.0
        gone = {clean(address): address for address in old if address not in new}
        come = {clean(address): address for address in new if address not in old}
        both = gone.keys() & come.keys()
        counts = Counter[str]()
        for side, added, found, nodes in ((0, False, gone, old), (1, True, come, new)):
            for cleaned, address in found.items():
                if not cleaned or cleaned in both:
                    continue
                if self.learned is not None:
                    where = path(nodes[address]) if nodes[address] is not None else kind
                    if len(self.blocks) < 2 * MAX_BLOCKS:
                        self.blocks.append(Block(where, *(("", address) if side else (address, ""))))
                    if self._known_noise(where):
                        continue
                name = "files" if kind == "links" and _FILES.search(cleaned) else kind
                counts[name] += 1
                if len(self.resources) < MAX_RESOURCES:
                    self.resources.append(Resource(name, address[:1000], added))
        total = len(old) + len(new)
        return _growth(counts[kind], total), _growth(counts["files"], total)

    # β

    def _form(self) -> dict[str, float]:
        old, new = self.old, self.new
        if old.kind != new.kind:
            return {"kind": 1.0}
        if old.kind not in ("html", "json"):
            return {}
        total = max(1, len(old.tags) + len(new.tags))
        before, after = _trimmed(old.tags, new.tags, SHINGLE - 1)
        vector = {"tags": _unlike(Counter(before), Counter(after)) / total}
        if old.kind == "json":
            return vector
        vector["structure"] = min(1.0, _unlike(_runs(before), _runs(after)) / total)
        vector["forms"] = self._parts(old.fields, new.fields, noise.clean_field)
        vector["scripts"] = self._parts(old.scripts, new.scripts, _clean_script)
        vector["styles"] = self._parts(old.embedded, new.embedded, _clean_style)
        return vector

    # α

    def _view(self) -> dict[str, float]:
        old, new = self.old, self.new
        if self.snapshots[0].screenshot and self.snapshots[1].screenshot:
            seen = picture.difference(self.snapshots[0].screenshot, self.snapshots[1].screenshot)
            if isinstance(seen, float):
                return {"picture": seen}
            self._note(seen)
        if not old.kind == new.kind == "html":
            return {}
        vector = {
            "classes": _classes(old.classes, new.classes),
            "inline": _share(*_difference(old.inline, new.inline), len(old.inline) + len(new.inline)),
            "sheets": self._parts(old.sheets, new.sheets, noise.clean_address),
            "arrangement": _arrangement(old.passages, new.passages),
            "colours": 0.0,
        }
        if old.inline != new.inline or old.embedded != new.embedded:
            before, after = _colours(old), _colours(new)
            vector["colours"] = len(before ^ after) / max(1, len(before | after))
        return vector

    def _parts(self, old: list[str], new: list[str], clean: Callable[[str], str]) -> float:
        removed, added = _difference(old, new)
        if self.given.noise and (removed or added):
            removed, added = _difference(list(map(clean, removed)), list(map(clean, added)))
        return _share(list(filter(None, removed)), list(filter(None, added)), len(old) + len(new))

    def _note(self, reason: str) -> None:
        if reason not in self.notes:
            self.notes.append(reason)


def _difference(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """What only one of two lists has, as often as it has it more, in its order."""
    return _apart(*_trimmed(old, new))


def _apart(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    if not old or not new:
        return old, new
    counts, others = Counter(old), Counter(new)
    # few of many differ; they are found without a loop in Python
    unlike = list(compress(counts, map(ne, counts.values(), map(others.get, counts))))
    fewer = {item: counts[item] - others[item] for item in unlike}
    more = {item: others[item] - counts[item] for item in chain(unlike, others.keys() - counts.keys())}
    return _first(old, fewer), _first(new, more)


def _first(items: list[str], wanted: dict[str, int]) -> list[str]:
    """As many of each item as are wanted, in their order."""
    found: list[str] = []
    for item in filter(wanted.__contains__, items):
        if wanted[item] > 0:
            wanted[item] -= 1
            found.append(item)
    return found


def _trimmed(old: list[str], new: list[str], margin: int = 0) -> tuple[list[str], list[str]]:
    """Two lists without their common beginning and end, but for a margin."""
    head = max(0, common_prefix(old, new) - margin)
    old, new = old[head:], new[head:]
    tail = max(0, common_suffix(old, new) - margin)
    return old[: len(old) - tail], new[: len(new) - tail]


def _share(removed: Sequence[object], added: Sequence[object], total: int) -> float:
    return (len(removed) + len(added)) / total if total else 0.0


def _growth(changed: int, total: int) -> float:
    return min(1.0, log1p(changed) / log1p(total)) if changed and total else 0.0


def _words(page: Parts) -> int:
    return max(1, sum(map(len, page.passages)) // LETTERS)


def _unlike(counts: Counter[Any], others: Counter[Any]) -> int:
    """How many items only one of two collections has."""
    return (counts - others).total() + (others - counts).total()


def _runs(tags: list[str]) -> Counter[tuple[str, ...]]:
    """The runs of four elements."""
    return Counter(zip(*(tags[start:] for start in range(SHINGLE)), strict=False))


def _classes(old: list[str], new: list[str]) -> float:
    removed, added = _difference(old, new)
    if not removed and not added:
        return 0.0
    before, after = _names(removed), _names(added)
    total = " ".join(chain(old, new)).count(" ") + 1
    return min(1.0, _unlike(before, after) / max(1, total))


def _names(values: Iterable[str]) -> Counter[str]:
    return Counter(map(noise.clean_class, " ".join(values).split()))


def _arrangement(old: list[str], new: list[str]) -> float:
    """Share of the passages both have that follow another one than before."""
    total = len(old) + len(new)
    old, new = _trimmed(old, new)
    gone, come = set(old), set(new)
    gone, come = gone - come, come - gone
    before, after = [line for line in old if line not in gone], [line for line in new if line not in come]
    if before == after:
        return 0.0
    pairs, others = Counter(pairwise(_said(before))), Counter(pairwise(_said(after)))
    return _unlike(pairs, others) / total


def _said(passages: list[str]) -> list[str]:
    return [passage for passage in passages if passage and not passage.isspace()]


def _colours(page: Parts) -> set[str]:
    text = "\n".join(chain(page.inline, page.embedded))[:MAX_STYLE]
    return {colour.strip().lower() for colour in _COLOUR.findall(text)}


def _clean_script(script: str) -> str:
    if len(script) < noise.LONG and ("/" in script or "." in script) and not re.search(r"[\s;(){}]", script):
        return noise.clean_address(script)
    return noise.skeleton(script)


def _clean_style(sheet: str) -> str:
    return re.sub(r"(?:__?|--?)[A-Za-z0-9]{5,10}(?=[\s.,:{>])", "", sheet[:MAX_STYLE])
