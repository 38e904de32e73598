"""The noise of one site, learned from what differs at every visit."""

import re
from hashlib import blake2b

import msgspec

from hemeroteca.change.values import Block, Change

FEW_VISITS = 4  # for blocks in which only digits and codes change, or whose old texts come back
MANY_VISITS = 8  # for blocks with ever new words
SHARE = 0.9  # of the visits at which a block must have differed
MAX_BLOCKS = 200
REMEMBERED = 6

_MONEY = re.compile(
    r"[$€£¥₡₲₿]|\b(?:USD|EUR|GBP|euros?|d[óo]lar(?:es)?|dollars?|bol[íi]var(?:es)?|pesos?|soles|Bs\.?|precio|price)\b",
    re.I,
)
_CODES = re.compile(r"\d+|\b[0-9a-f-]{8,}\b", re.I)
_NEWS = re.compile(r"(?:^|/)(?:main|article|h[1-4])(?:[#./]|$)")


class _Seen(msgspec.Struct, array_like=True):
    since: int  # visits before the block differed for the first time
    differed: int = 0
    last: int = 0
    codes: bool = True  # whenever it differed, only digits and codes did
    money: bool = False
    returned: int = 0  # how often an earlier text came back
    texts: list[int] = []


class NoiseModel(msgspec.Struct, omit_defaults=True):
    """Blocks by their path, and how often each differed. Small: a few kilobytes as JSON.

    A page of news differs at every visit too, so differing is not enough. A block is noise when its changes are of
    digits and codes only, or when its texts come back, or, outside of headings and articles, after many visits.
    A block with an amount of money is never noise.
    """

    visits: int = 0
    blocks: dict[str, _Seen] = {}

    def observe(self, change: Change) -> None:
        """Learn from the comparison of two visits that followed each other, also of equal ones."""
        self.visits += 1
        for path, (old, new) in _by_path(change.blocks).items():
            seen = self.blocks.get(path)
            if seen is None:
                if len(self.blocks) >= MAX_BLOCKS:
                    del self.blocks[min(self.blocks, key=lambda name: self.blocks[name].last)]
                seen = self.blocks[path] = _Seen(self.visits - 1)
            seen.differed += 1
            seen.last = self.visits
            seen.codes = seen.codes and _CODES.sub("0", old) == _CODES.sub("0", new)
            seen.money = seen.money or bool(_MONEY.search(old) or _MONEY.search(new))
            text = int.from_bytes(blake2b(new.encode("utf-8", "replace"), digest_size=4).digest(), "little")
            seen.returned += text in seen.texts
            seen.texts = [*seen.texts, text][-REMEMBERED:]

    def is_noise(self, path: str) -> bool:
        """Whether what differs there has proved to be noise."""
        seen = self.blocks.get(path)
        if seen is None or seen.money:
            return False
        visits = self.visits - seen.since
        if visits < FEW_VISITS or seen.differed < SHARE * visits:
            return False
        return seen.codes or seen.returned >= 2 or (visits >= MANY_VISITS and not _NEWS.search(path))

    def noisy(self) -> list[str]:
        """The learned list, for people."""
        return sorted(filter(self.is_noise, self.blocks))

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes) -> "NoiseModel":
        """A model kept before; what cannot be read gives an empty one, for it can be learned anew."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return cls()


def _by_path(blocks: list[Block]) -> dict[str, tuple[str, str]]:
    """Several blocks at one path are one to the model."""
    joined: dict[str, tuple[list[str], list[str]]] = {}
    for block in blocks:
        old, new = joined.setdefault(block.path, ([], []))
        old.append(block.old)
        new.append(block.new)
    return {path: ("\n".join(filter(None, old)), "\n".join(filter(None, new))) for path, (old, new) in joined.items()}
