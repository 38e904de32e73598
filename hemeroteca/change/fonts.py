"""TrueType fonts of this machine, for the letters that the fonts every PDF reader has do not know.

Found by the names of their files in the folders where systems keep them; nothing is installed and nothing is asked of
other programs. Which letters a font has is read from its own table (`cmap`).
"""

import os
import struct
from collections.abc import Iterator
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
_MOST_FILES = 20_000
_MOST_BYTES = 32 << 20
_MOST_FONTS = 60


def with_letter(letter: str) -> bytes:
    """A font that has it; empty when there is none."""
    for path in found():
        if ord(letter) in letters(path):
            return path.read_bytes()
    return b""


@lru_cache(maxsize=1)
def found() -> tuple[Path, ...]:
    """Fonts worth looking into, the likeliest first."""
    ranked = []
    for path in _files():
        rank = NAMES.index(path.stem) if path.stem in NAMES else len(NAMES)
        if rank == len(NAMES) and not _may_help(path.stem):
            continue
        ranked.append((rank, path.name, path))
    return tuple(path for _, _, path in sorted(ranked)[:_MOST_FONTS])


@lru_cache(maxsize=_MOST_FONTS)
def letters(path: Path) -> frozenset[int]:
    """Code points a font has; none when it is not a TrueType font that can be read."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return frozenset()
        return code_points(path.read_bytes())
    except OSError:
        return frozenset()


def code_points(font: bytes) -> frozenset[int]:
    """The same of a font's bytes."""
    try:
        if font[:4] not in (b"\0\1\0\0", b"true"):
            return frozenset()
        (tables,) = struct.unpack_from(">H", font, 4)
        for number in range(tables):
            tag, _, offset, _ = struct.unpack_from(">4sIII", font, 12 + 16 * number)
            if tag == b"cmap":
                return frozenset(_mapped(font, offset))
    except struct.error:
        pass
    return frozenset()


def _files() -> Iterator[Path]:
    seen = 0
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.expanduser(folder)):
            for name in names:
                seen += 1
                if seen > _MOST_FILES:
                    return
                if name.lower().endswith(".ttf"):
                    yield Path(place, name)


def _may_help(stem: str) -> bool:
    if not stem.startswith(FAMILIES):
        return False
    return not stem.startswith("NotoSans") or stem.endswith(("-Regular", "[wght]", "[wdth,wght]"))


def _mapped(font: bytes, start: int) -> Iterator[int]:
    (count,) = struct.unpack_from(">H", font, start + 2)
    for number in range(count):
        platform, encoding, offset = struct.unpack_from(">HHI", font, start + 4 + 8 * number)
        if (platform, encoding) in ((3, 1), (0, 3), (0, 4), (3, 10)):
            table = start + offset
            (form,) = struct.unpack_from(">H", font, table)
            if form == 4:
                yield from _segments(font, table)


def _segments(font: bytes, table: int) -> Iterator[int]:
    """Letters of the basic plane, which is what a PDF by PDFium can show; those without a glyph are left out."""
    (double,) = struct.unpack_from(">H", font, table + 6)
    count = double // 2
    ends = struct.unpack_from(f">{count}H", font, table + 14)
    starts = struct.unpack_from(f">{count}H", font, table + 16 + double)
    deltas = struct.unpack_from(f">{count}H", font, table + 16 + 2 * double)
    places = table + 16 + 3 * double
    offsets = struct.unpack_from(f">{count}H", font, places)
    for index, (first, last, delta, offset) in enumerate(zip(starts, ends, deltas, offsets, strict=True)):
        if first > last or first == 0xFFFF:
            continue
        if not offset:
            yield from (code for code in range(first, last + 1) if (code + delta) & 0xFFFF)
            continue
        glyphs = struct.unpack_from(f">{last - first + 1}H", font, places + 2 * index + offset)
        yield from (code for code, glyph in zip(range(first, last + 1), glyphs, strict=True) if glyph)
