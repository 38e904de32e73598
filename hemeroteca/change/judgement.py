"""What a comparison found: how much two versions differ, where, and whether it is important."""

import msgspec

from hemeroteca.change.site_rules import THRESHOLD

WEIGHTS = {"scripts": 0.25, "sheets": 0.25, "styles": 0.25}
"""Of components other than 1. There are few scripts and style sheets on a page, so one of them is a large share."""


class ChangedBlock(msgspec.Struct, frozen=True):
    """A place on the page whose text or resources differ."""

    path: str  # body/aside.quotes/p
    old: str
    new: str


class Resource(msgspec.Struct, frozen=True):
    """A resource that only one of the two versions has, or a picture that is described in other words."""

    kind: str  # images, links, media, files, descriptions
    address: str
    added: bool
    text: str = ""  # of a description: what it was → what it is


class Judgement(msgspec.Struct, frozen=True):
    """How the new version differs from the old one. Every component and each of the three sums lies in [0, 1]."""

    same_bytes: bool = False
    view: dict[str, float] = {}  # α: what it looks like
    form: dict[str, float] = {}  # β: how it is built
    content: dict[str, float] = {}  # γ: what it says and shows
    threshold: float = THRESHOLD
    words_added: int = 0
    words_removed: int = 0
    resources: list[Resource] = []  # the first hundreds
    blocks: list[ChangedBlock] = []  # only when a NoiseModel was given; learned noise included
    ignored: list[str] = []  # blocks put aside as learned noise
    notes: list[str] = []  # what was cut, and why

    @property
    def sums(self) -> tuple[float, float, float]:
        """Σα, Σβ, Σγ, each cut at 1."""
        view, form, content = (min(1.0, sum(vector.values())) for vector in (self.view, self.form, self.content))
        return view, form, content

    @property
    def total(self) -> float:
        """The importance: Σα + Σβ + Σγ, cut at 1. Commands, API, notices and captures tell no other."""
        return min(1.0, sum(self.sums))

    @property
    def important(self) -> bool:
        return self.total > self.threshold
