"""TrueType fonts of this machine, for letters that the fonts every PDF reader has do not know.

Found by the names of their files in the folders where systems keep them; nothing is asked of other programs.
"""

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

FOLDERS = (
    "~/.local/share/fonts",
    "~/.fonts",
    "/usr/local/share/fonts",
    "/usr/share/fonts",
    "~/Library/Fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "C:/Windows/Fonts",
)
# many letters first; then those of one script, as people install them
NAMES = ("DejaVuSans", "NotoSans-Regular", "FreeSans", "LiberationSans-Regular", "Arial Unicode", "Arial", "segoeui")
FAMILIES = ("NotoSans", "DroidSansFallback", "wqy", "unifont", "Unifont", "simsun", "malgun")
MAX_FILES = 20_000
MAX_BYTES = 32 << 20
MAX_FONTS = 60
MAX_CHOSEN = 6  # in a file: each is some hundred kilobytes


def choose(wanted: Iterable[str]) -> dict[str, Path]:
    """For each letter the font that has it; letters that none has are left out."""
    chosen: dict[str, Path] = {}
    used: set[Path] = set()
    for letter in wanted:
        for path in found():
            if (path in used or len(used) < MAX_CHOSEN) and ord(letter) in letters(path):
                chosen[letter] = path
                used.add(path)
                break
    return chosen


@lru_cache(maxsize=1)
def found() -> tuple[Path, ...]:
    """Fonts worth looking into, the likeliest first."""
    ranked = []
    for path in _files():
        rank = NAMES.index(path.stem) if path.stem in NAMES else len(NAMES)
        if rank == len(NAMES) and not _may_help(path.stem):
            continue
        ranked.append((rank, path.name, path))
    return tuple(path for _, _, path in sorted(ranked)[:MAX_FONTS])


@lru_cache(maxsize=MAX_FONTS)
def letters(path: Path) -> frozenset[int]:
    """Code points a font has; none when it cannot be read."""
    from fontTools.ttLib import TTFont

    try:
        if path.stat().st_size > MAX_BYTES:
            return frozenset()
        with TTFont(path, lazy=True) as font:
            return frozenset(font.getBestCmap() or ())
    except Exception:  # fontTools raises many kinds for a font that is none
        return frozenset()


def _files() -> Iterator[Path]:
    seen = 0
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.expanduser(folder)):
            for name in names:
                seen += 1
                if seen > MAX_FILES:
                    return
                if name.lower().endswith(".ttf"):
                    yield Path(place, name)


def _may_help(stem: str) -> bool:
    if not stem.startswith(FAMILIES):
        return False
    return not stem.startswith("NotoSans") or stem.endswith(("-Regular", "[wght]", "[wdth,wght]"))
