"""The noise of one site, learned from what differs at every visit."""

import re
from hashlib import blake2b

import msgspec

from hemeroteca.change.judgement import ChangedBlock, Judgement

# visits of a page after the first at which the block differed there, which proves nothing of the others
FEW_VISITS = 3  # for blocks in which only digits and codes change, or whose old texts come back; of all pages together
MANY_VISITS = 7  # for blocks with ever new words; of one page, for eight pages edited twice are not noise
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


class NoiseSighting(msgspec.Struct, array_like=True, frozen=True):
    """A block that differed at a visit: what the model learns from, without the texts."""

    path: str
    codes: bool  # only digits and codes differed
    money: bool
    text: int  # hash of the new text


class _Seen(msgspec.Struct, array_like=True):
    visits: int = 0  # of the pages it is known on, after it differed there for the first time
    differed: int = 0  # at how many of them
    last: int = 0
    codes: bool = True  # whenever it differed, only digits and codes did
    money: bool = False
    returned: int = 0  # how often an earlier text came back
    texts: list[int] = []
    pages: dict[int, int] = {}  # where it differed, and the visits of each; the first ones teach


class NoiseModel(msgspec.Struct, omit_defaults=True):
    """Blocks by their path, and how often each differed. Small: a few kilobytes as JSON.

    One for a site. Of the pages of a site some have a block and others do not, so its visits are counted on the pages
    where it was seen to differ. A page of news differs at every visit too, so differing is not enough: a block is noise
    when its changes are of digits and codes only, or when its texts come back, or, outside of headings and articles,
    after many visits. A block with an amount of money is never noise.
    """

    visits: int = 0
    blocks: dict[str, _Seen] = {}

    def observe(self, change: Judgement, page: int = 0) -> None:
        """Learn from the comparison of two visits of a page that followed each other, also of equal ones."""
        self.learn(sightings(change), page)

    def learn(self, found: list[NoiseSighting], page: int = 0) -> bool:
        """The same from what `sightings` found; whether there was anything to learn."""
        differed = {sighting.path: sighting for sighting in found}
        touched = False
        self.visits += 1
        for path, seen in self.blocks.items():
            if page in seen.pages:
                seen.visits += 1
                seen.pages[page] += 1
                touched = True
                if path in differed:
                    seen.differed += 1
                    self._note(seen, differed.pop(path))
        for path, sighting in differed.items():
            seen = self._block(path)
            if len(seen.pages) < PAGES:
                seen.pages[page] = 0
                self._note(seen, sighting)
                touched = True
        return touched

    def is_noise(self, path: str) -> bool:
        """Whether what differs there has proved to be noise."""
        seen = self.blocks.get(path)
        if seen is None or seen.money or seen.visits < FEW_VISITS or seen.differed < SHARE * seen.visits:
            return False
        if seen.codes or seen.returned >= 2:
            return True
        return max(seen.pages.values()) >= MANY_VISITS and not _NEWS.search(path)

    def noisy(self) -> list[str]:
        """The learned list, for people and for whoever compares."""
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

    def _note(self, seen: _Seen, sighting: NoiseSighting) -> None:
        seen.last = self.visits
        seen.codes = seen.codes and sighting.codes
        seen.money = seen.money or sighting.money
        seen.returned += sighting.text in seen.texts
        seen.texts = [*seen.texts, sighting.text][-REMEMBERED:]


def sightings(change: Judgement) -> list[NoiseSighting]:
    """What a comparison teaches about the blocks of a page. Several at one path are one to the model."""
    together: dict[str, list[ChangedBlock]] = {}
    for block in change.blocks:
        if len(block.path) <= MAX_PATH:
            together.setdefault(block.path, []).append(block)
    return [_sighting(path, blocks) for path, blocks in together.items()]


def _sighting(path: str, blocks: list[ChangedBlock]) -> NoiseSighting:
    old = "\n".join(block.old for block in blocks if block.old)
    new = "\n".join(block.new for block in blocks if block.new)
    return NoiseSighting(
        path,
        codes=_CODES.sub("0", old) == _CODES.sub("0", new),
        money=bool(_MONEY.search(old) or _MONEY.search(new)),
        text=int.from_bytes(blake2b(new.encode("utf-8", "replace"), digest_size=4).digest(), "little"),
    )
