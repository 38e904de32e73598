"""The noise of one site, learned from what differs at every visit."""

import re
from hashlib import blake2b
from typing import Protocol

import msgspec

from hemeroteca.change.values import Block, Change

FEW_VISITS = 4  # for blocks in which only digits and codes change, or whose old texts come back
MANY_VISITS = 8  # for blocks with ever new words
SHARE = 0.9  # of the visits at which a block must have differed
MAX_BLOCKS = 200
REMEMBERED = 6
PAGES = 8  # of a site on which a block is followed
MAX_PATH = 600

_MONEY = re.compile(
    r"[$€£¥₡₲₿]|\b(?:USD|EUR|GBP|euros?|d[óo]lar(?:es)?|dollars?|bol[íi]var(?:es)?|pesos?|soles|Bs\.?|precio|price)\b",
    re.I,
)
_CODES = re.compile(r"\d+|\b[0-9a-f-]{8,}\b", re.I)
_NEWS = re.compile(r"(?:^|/)(?:main|article|h[1-4])(?:[#./]|$)")


class Sighting(msgspec.Struct, array_like=True, frozen=True):
    """A block that differed at a visit: what the model learns from, without the texts."""

    path: str
    codes: bool  # only digits and codes differed
    money: bool
    text: int  # hash of the new text


class _Seen(msgspec.Struct, array_like=True):
    visits: int = 0  # of the pages it is known on, since it differed there for the first time
    differed: int = 0
    last: int = 0
    codes: bool = True  # whenever it differed, only digits and codes did
    money: bool = False
    returned: int = 0  # how often an earlier text came back
    texts: list[int] = []
    pages: list[int] = []  # where it differed; the first ones teach, the verdict is for all


class Known(Protocol):
    """What `compare` asks of the noise of a site."""

    def is_noise(self, path: str) -> bool: ...


class NoisePlaces(frozenset[str]):
    """The learned list by itself, as it travels to whoever only compares."""

    def is_noise(self, path: str) -> bool:
        return path in self


class NoiseModel(msgspec.Struct, omit_defaults=True):
    """Blocks by their path, and how often each differed. Small: a few kilobytes as JSON.

    One for a site. Of the pages of a site some have a block and others do not, so its visits are counted on the pages
    where it was seen to differ. A page of news differs at every visit too, so differing is not enough: a block is noise
    when its changes are of digits and codes only, or when its texts come back, or, outside of headings and articles,
    after many visits. A block with an amount of money is never noise.
    """

    visits: int = 0
    blocks: dict[str, _Seen] = {}

    def observe(self, change: Change, page: int = 0) -> None:
        """Learn from the comparison of two visits of a page that followed each other, also of equal ones."""
        self.learn(sightings(change), page)

    def learn(self, found: list[Sighting], page: int = 0) -> bool:
        """The same from what `sightings` found; whether there was anything to learn."""
        differed = {sighting.path: sighting for sighting in found}
        touched = False
        self.visits += 1
        for path, seen in self.blocks.items():
            if page in seen.pages:
                seen.visits += 1
                touched = True
                if path in differed:
                    self._note(seen, differed.pop(path))
        for path, sighting in differed.items():
            seen = self._block(path)
            if len(seen.pages) < PAGES:
                seen.pages = [*seen.pages, page]
                seen.visits += 1
                self._note(seen, sighting)
                touched = True
        return touched

    def is_noise(self, path: str) -> bool:
        """Whether what differs there has proved to be noise."""
        seen = self.blocks.get(path)
        if seen is None or seen.money or seen.visits < FEW_VISITS or seen.differed < SHARE * seen.visits:
            return False
        return seen.codes or seen.returned >= 2 or (seen.visits >= MANY_VISITS and not _NEWS.search(path))

    def noisy(self) -> list[str]:
        """The learned list, for people."""
        return sorted(filter(self.is_noise, self.blocks))

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> "NoiseModel":
        """A model kept before; what cannot be read gives an empty one, for it can be learned anew."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return cls()

    def _block(self, path: str) -> _Seen:
        seen = self.blocks.get(path)
        if seen is None:
            if len(self.blocks) >= MAX_BLOCKS:
                del self.blocks[min(self.blocks, key=lambda name: self.blocks[name].last)]
            seen = self.blocks[path] = _Seen()
        return seen

    def _note(self, seen: _Seen, sighting: Sighting) -> None:
        seen.differed += 1
        seen.last = self.visits
        seen.codes = seen.codes and sighting.codes
        seen.money = seen.money or sighting.money
        seen.returned += sighting.text in seen.texts
        seen.texts = [*seen.texts, sighting.text][-REMEMBERED:]


def sightings(change: Change) -> list[Sighting]:
    """What a comparison teaches about the blocks of a page."""
    return [
        Sighting(
            path,
            _CODES.sub("0", old) == _CODES.sub("0", new),
            bool(_MONEY.search(old) or _MONEY.search(new)),
            int.from_bytes(blake2b(new.encode("utf-8", "replace"), digest_size=4).digest(), "little"),
        )
        for path, (old, new) in _by_path(change.blocks).items()
        if len(path) <= MAX_PATH
    ]


def _by_path(blocks: list[Block]) -> dict[str, tuple[str, str]]:
    """Several blocks at one path are one to the model."""
    joined: dict[str, tuple[list[str], list[str]]] = {}
    for block in blocks:
        old, new = joined.setdefault(block.path, ([], []))
        old.append(block.old)
        new.append(block.new)
    return {path: ("\n".join(filter(None, old)), "\n".join(filter(None, new))) for path, (old, new) in joined.items()}
