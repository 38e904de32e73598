"""`compare`: the three vectors between two snapshots.

Components of view and form are shares: what differs, of all there is. Those of content grow with the logarithm of what
was added and removed, so that one changed word of a long page weighs as much as it should, and a whole new page is 1.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, compress, filterfalse, repeat
from math import log1p
from operator import ne
from typing import Any

from resiliparse.parse.html import DOMNode

from hemeroteca.change import diffs, noise, picture, site_rules, visit_moment
from hemeroteca.change.judgement import WEIGHTS, ChangedBlock, Judgement, Resource
from hemeroteca.change.sequences import common_prefix, common_suffix
from hemeroteca.change.site_rules import ChangeRules
from hemeroteca.change.snapshot import Parts, Snapshot, blocks, is_said, path, take_apart, tidy

SHINGLE = 4
LETTERS = 6  # of a word and its space; how long a page is need not be known more exactly
CLEANED_CHARS = 300_000  # of differing text on each side; beyond, noise counts
MAX_RESOURCES = 200  # listed in a Change
MAX_BLOCKS = 100
BLOCK_CHARS = 500
MAX_PASSING = 4  # lines of a page that tell time, day and weather; more are what it is about
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
) -> Judgement:
    """How `new` differs from `old`.

    With `learned` (`NoiseModel.noisy`), blocks known as noise are put aside and all others are named. Without `view`
    that vector stays empty, which saves about a seventh of the time.
    """
    return Comparison(old, new, given, learned, view=view).change


class Comparison:
    """`change` is how two snapshots differ, as `compare` has it; `text_diff` shows it without reading them again."""

    def __init__(
        self,
        old: Snapshot,
        new: Snapshot,
        given: ChangeRules = _DEFAULTS,
        learned: frozenset[str] | None = None,
        *,
        view: bool = True,
    ) -> None:
        status = {"status": 1.0} if old.status != new.status else {}
        picture_same = old.screenshot == new.screenshot or not (old.screenshot and new.screenshot)
        self._read = None if old.body == new.body and picture_same else _Comparison(old, new, given, learned, view)
        if self._read is None:
            self.change = Judgement(same_bytes=True, content=status, threshold=given.threshold)
        else:
            self.change = self._read.change(status)

    def text_diff(self, names: tuple[str, str] = ("old", "new")) -> str:
        """A unified diff of the texts; empty when they are equal."""
        if self._read is None:
            return ""
        (old, new), read = self._read.snapshots, self._read
        return diffs.unified(diffs.shown_lines(read.old, old), diffs.shown_lines(read.new, new), names)


class _Comparison:
    def __init__(
        self, old: Snapshot, new: Snapshot, given: ChangeRules, learned: frozenset[str] | None, view: bool
    ) -> None:
        self.view = view
        self.snapshots = old, new
        self.given = given
        self.learned = learned
        self.old, self.new = take_apart(old, given, view), take_apart(new, given, view)
        self.passages = _trimmed(self.old.passages, self.new.passages)
        self.fewer, self.more = _surplus(*self.passages)
        self.notes = list(dict.fromkeys(self.old.notes + self.new.notes))
        self.expressions = site_rules.expressions(given.ignore_text)
        self.blocks: list[ChangedBlock] = []
        self.ignored: dict[str, None] = {}
        self.main_places: dict[bool, str] = {}  # of the new page, and of the old one
        self.resources: list[Resource] = []
        self.words = 0, 0

    def change(self, status: dict[str, float]) -> Judgement:
        content = {**self._content(), **status}
        weights = WEIGHTS | site_rules.weights_of(self.given.weights)
        vectors = [self._view() if self.view else {}, self._form(), content]
        for vector in vectors:
            for name, value in vector.items():
                vector[name] = round(min(1.0, max(0.0, value * weights.get(name, 1.0))), 6)
        return Judgement(
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
        if old.kind == new.kind and old.kind in ("html", "text"):
            vector["order"] = self._order()
        vector["images"], _ = self._resources("images", old.images, new.images)
        vector["media"], _ = self._resources("media", old.media, new.media)
        vector["links"], vector["files"] = self._resources("links", old.links, new.links)
        return vector

    def _text(self) -> float:
        old, new = self.passages
        removed, added = tidy(_first(old, dict(self.fewer))), tidy(_first(new, dict(self.more)))
        if not removed and not added:
            return 0.0
        gone, come = self._words_apart(removed, added)
        if gone == come:  # noise only, or the same words, cut into other lines
            return 0.0
        if self.given.noise:
            removed, added = self._without_passing(self.old, removed), self._without_passing(self.new, added)
            gone, come = self._words_apart(removed, added)
        if gone != come and self.given.noise and (found := self._without_moments(removed, added)) is not None:
            removed, added = found
            gone, come = self._words_apart(removed, added)
        if gone != come and self.learned is not None and (self.old.tree or self.new.tree):
            gone, come = self._words_apart(*self._without_learned(removed, added))
        if gone == come:
            return 0.0
        fewer, more = Counter(gone), Counter(come)
        self.words = (fewer - more).total(), (more - fewer).total()
        return _growth(max(1, sum(self.words)), _words(self.old) + _words(self.new))

    def _without_passing(self, page: Parts, lines: list[str]) -> list[str]:
        """Drop lines that tell the time, the day or the weather of the visit, where a masthead or a margin says so."""
        if page.tree is None or not (found := set(filter(noise.is_passing, lines))):
            return lines
        if sum(map(noise.is_passing, page.lines)) > MAX_PASSING:
            return lines  # a timetable, a forecast
        for line, holder in blocks(page):
            if line in found and is_said(holder):
                found.discard(line)
        return [line for line in lines if line not in found]

    def _without_moments(self, removed: list[str], added: list[str]) -> tuple[list[str], list[str]] | None:
        """Lines without clocks and dates that moved as the visits did; None where nothing of that kind differs."""
        before, after = (snapshot.at_ms for snapshot in self.snapshots)
        if not before or not after or sum(map(len, chain(removed, added))) > CLEANED_CHARS:
            return None
        old, new = visit_moment.without(removed, before, added, after)
        same = Counter(old) & Counter(new)  # differ in their moments only
        return (_left(removed, old, same), _left(added, new, same)) if same else None

    def _order(self) -> float:
        """How many of the lines that both versions have stand elsewhere: a moved paragraph, a list in another order."""
        old, new = self.passages
        apart = self.fewer.keys() | self.more.keys()  # a line that came, went or is said more often has changed already
        before, after = (list(filterfalse(apart.__contains__, lines)) for lines in (old, new))
        if before == after:  # as nearly always; the rest costs more
            return 0.0
        moved = _moved(*_trimmed(list(filter(str.strip, before)), list(filter(str.strip, after))))
        if moved and self.learned:
            holders = {line: path(holder) for line, holder in blocks(self.new)}
            moved = [line for line in moved if not self._known_noise(holders.get(line, ""), self.new)]
        return _growth(len(moved), len(self.old.passages) + len(self.new.passages))

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
            ChangedBlock(where, "\n".join(old)[:BLOCK_CHARS], "\n".join(new)[:BLOCK_CHARS])
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
        counts = Counter[str]()
        described = kind == "images" or (kind == "links" and "area" in self.old.tags)
        if described:
            both = old.keys() & new.keys()
            counts[kind] += self._descriptions(list(map(old.get, both)), list(map(new.get, both)))
        gone = self._cleaned_addresses(kind, 0, (address for address in old if address not in new))
        come = self._cleaned_addresses(kind, 1, (address for address in new if address not in old))
        both = gone.keys() & come.keys()
        if both and described:
            counts[kind] += self._descriptions([old[gone[one]] for one in both], [new[come[one]] for one in both])
        for side, added, found, nodes in ((0, False, gone, old), (1, True, come, new)):
            for cleaned, address in found.items():
                if not cleaned or cleaned in both:
                    continue
                if self.learned is not None:
                    where = path(nodes[address]) if nodes[address] is not None else kind
                    if len(self.blocks) < 2 * MAX_BLOCKS:
                        self.blocks.append(ChangedBlock(where, *(("", address) if side else (address, ""))))
                    if self._known_noise(where):
                        continue
                name = "files" if kind == "links" and _FILES.search(cleaned) else kind
                counts[name] += 1
                if len(self.resources) < MAX_RESOURCES:
                    self.resources.append(Resource(name, address[:1000], added))
        total = len(old) + len(new)
        return _growth(counts[kind], total), _growth(counts["files"], total)

    def _cleaned_addresses(self, kind: str, side: int, addresses: Iterable[str]) -> dict[str, str]:
        """Addresses as written, by what they lead to: a file on whichever host, a page by whichever protocol."""
        if not self.given.noise:
            return {address: address for address in addresses}
        page = self.snapshots[side].url
        name = noise.place_of if kind == "links" else noise.file_of
        return {name(cleaned, page) if (cleaned := noise.clean_address(one)) else "": one for one in addresses}

    def _descriptions(self, olds: list[DOMNode | None], news: list[DOMNode | None]) -> int:
        """How many pictures that stayed are described (`alt`) in other words."""
        if None in olds or None in news:
            return 0
        befores, afters = (list(map(DOMNode.getattr, nodes, repeat("alt"))) for nodes in (olds, news))
        count = 0
        for new, before, after in zip(news, befores, afters, strict=True) if befores != afters else ():
            before, after = before or "", after or ""
            if before == after or self._cleaned([before]) == self._cleaned([after]) or new is None:
                continue
            if self._known_noise(path(new)):
                continue
            count += 1
            if len(self.resources) < MAX_RESOURCES:
                address = new.getattr("src") or new.getattr("href") or ""
                self.resources.append(Resource("descriptions", address[:1000], True, f"{before} → {after}"[:1000]))
        return count

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
        vector["scripts"] = self._parts(old.scripts, new.scripts, self._script)
        vector["styles"] = self._parts(old.embedded, new.embedded, self._sheet)
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
            "inline": self._parts(old.inline, new.inline, self._style),
            "sheets": self._parts(old.sheets, new.sheets, self._file),
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

    def _file(self, address: str) -> str:
        return noise.file_of(noise.clean_address(address), self.snapshots[1].url)

    def _style(self, style: str) -> str:
        return noise.clean_style(style, self.snapshots[1].url)

    def _sheet(self, sheet: str) -> str:
        return self._style(_clean_style(sheet))

    def _script(self, script: str) -> str:
        if len(script) < noise.LONG and ("/" in script or "." in script) and not re.search(r"[\s;(){}]", script):
            return self._file(script)
        return noise.skeleton(script)

    def _note(self, reason: str) -> None:
        if reason not in self.notes:
            self.notes.append(reason)


def _difference(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """What only one of two lists has, as often as it has it more, in its order."""
    return _apart(*_trimmed(old, new))


def _left(lines: list[str], cleaned: list[str], same: Counter[str]) -> list[str]:
    """The lines whose cleaned form is not among those that both sides have."""
    room = Counter(same)
    left = []
    for line, form in zip(lines, cleaned, strict=True):
        room[form] -= 1
        if room[form] < 0:
            left.append(line)
    return left


def _apart(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    if not old or not new:
        return old, new
    fewer, more = _surplus(old, new)
    return _first(old, fewer), _first(new, more)


def _surplus(old: list[str], new: list[str]) -> tuple[dict[str, int], dict[str, int]]:
    """How many more of each item that differs in number the old list has, and how many more the new one has."""
    counts, others = Counter(old), Counter(new)
    # few of many differ; they are found without a loop in Python
    unlike = list(compress(counts, map(ne, counts.values(), map(others.get, counts))))
    fewer = {item: counts[item] - others[item] for item in unlike}
    more = {item: others[item] - counts[item] for item in chain(unlike, others.keys() - counts.keys())}
    return fewer, more


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
    return max(1, len("".join(page.passages)) // LETTERS)


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
    return Counter(filter(None, map(noise.clean_class, " ".join(values).split())))


def _moved(before: list[str], after: list[str]) -> list[str]:
    """Of two lists of the same lines: the fewest that must be taken out so that the others follow each other alike."""
    if before == after:
        return []
    places: dict[str, list[int]] = {}
    for number in range(len(after) - 1, -1, -1):
        places.setdefault(after[number], []).append(number)
    sequence = [places[line].pop() for line in before]
    # the longest rising part of the sequence stays (patience sorting)
    tops: list[int] = []
    heights: list[int] = []
    for place in sequence:
        height = bisect_left(tops, place)
        if height < len(tops):
            tops[height] = place
        else:
            tops.append(place)
        heights.append(height)
    wanted = len(tops) - 1
    moved: list[str] = []
    for line, height in zip(reversed(before), reversed(heights), strict=True):
        if height == wanted:
            wanted -= 1
        else:
            moved.append(line)
    return moved[::-1]


def _colours(page: Parts) -> set[str]:
    text = "\n".join(chain(page.inline, page.embedded))[:MAX_STYLE]
    return {colour.strip().lower() for colour in _COLOUR.findall(text)}


def _clean_style(sheet: str) -> str:
    return re.sub(r"(?:__?|--?)[A-Za-z0-9]{5,10}(?=[\s.,:{>])", "", sheet[:MAX_STYLE])
