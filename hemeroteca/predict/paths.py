"""Groups a page belongs to by its address: path prefixes, and pages of the same name elsewhere in its site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

PATHS = 6  # the site itself and the first five path segments
LEVELS = PATHS + 1  # … and the subject, wherever in the site its pages live
_WORD = re.compile(r"[^\W\d_]{4,}")


def sections(site: str, url: str) -> list[str]:
    """Names of the groups of a page, one per level, "" where there is none: "site", "site/noticias" … and the subject.

    `url` may be a whole address or only a path. The last segment is the page itself, not a section; its longest word
    is the subject, so that /es/radiador.html and /en/radiador-2.html are neighbours.
    """
    path = urlsplit(url).path if "://" in url[:12] else url.split("?", 1)[0]
    *folders, last = path.split("/")
    names = [site]
    for segment in [s for s in folders if s][: PATHS - 1]:
        names.append(f"{names[-1]}/{segment}")
    names += [""] * (PATHS - len(names))
    word = max(_WORD.findall(last.partition(".")[0].lower()[:200]), key=len, default="")
    return [*names, f"{site}/…{word}…" if word else ""]


def section_key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)


class SectionIndex:
    """Numbers for sites and sections. A section gets one when its second page appears; number 0 means none.

    `effective` maps a section to itself, or to 0 where it has the same pages as the section around it and would only
    repeat its evidence.
    """

    def __init__(self) -> None:
        self.effective = np.zeros(1, np.int32)
        self.members = np.zeros(1, np.int32)
        self.parent = np.zeros(1, np.int32)
        self._number: dict[int, int] = {}
        self._names: list[str] = [""]
        self._single: dict[int, int] = {}
        self._site: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._names)

    @property
    def sites(self) -> int:
        return len(self._site)

    def site_numbers(self, sites: Sequence[str]) -> list[int]:
        return [self._site.setdefault(site, len(self._site)) for site in sites]

    def name(self, number: int) -> str:
        return self._names[number]

    def place(self, slots: Ints, sites: Sequence[str], urls: Sequence[str], inside: NDArray[np.int32]) -> None:
        """Write the section of every level of new pages into `inside`, also for first pages of new sections."""
        members = self.members.tolist()
        parents = self.parent.tolist()
        for slot, site, url in zip(slots.tolist(), sites, urls, strict=True):
            for level, name in enumerate(sections(site, url)):
                if not name:
                    continue
                key = section_key(name)
                number = self._number.get(key)
                if number is None:
                    first = self._single.pop(key, None)
                    if first is None and level:
                        self._single[key] = slot
                        if len(self._single) > MAX_SINGLE:  # forget the oldest; it may start again
                            del self._single[next(iter(self._single))]
                        continue
                    number = self._number[key] = len(self._names)
                    self._names.append(name)
                    around = level - 1 if level < PATHS else 0
                    parents.append(int(inside[slot, around]) if level else 0)
                    members.append(0)
                    if first is not None:
                        inside[first, level] = number
                        members[number] += 1
                inside[slot, level] = number
                members[number] += 1
        self.members, self.parent = np.array(members, np.int32), np.array(parents, np.int32)
        self.refresh()

    def leave(self, inside: NDArray[np.int32]) -> None:
        np.subtract.at(self.members, inside.reshape(-1), 1)
        self.members[0] = 0
        # A removed first page must not be handed a section later.
        self._single.clear()
        self.refresh()

    def facts(self) -> dict[str, object]:
        """What `restore` needs beside the arrays `members` and `parent`."""
        return {"names": self._names, "sites": list(self._site)}

    def restore(self, facts: dict[str, list[str]]) -> None:
        self._names = list(facts["names"])
        self._number = {section_key(name): i for i, name in enumerate(self._names) if i}
        self._site = {site: i for i, site in enumerate(facts["sites"])}

    def refresh(self) -> None:
        numbers = np.arange(len(self.members), dtype=np.int32)
        repeats = (self.parent > 0) & (self.members == self.members[self.parent])
        self.effective = np.where(repeats, 0, numbers).astype(np.int32)


MAX_SINGLE = 200_000
