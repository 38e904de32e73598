"""Two screenshots compared as an eye would from some distance: a small grid of mean colours. And, for people, the newer
one with the places marked that differ.

Needs Pillow, which only the `[browser]` extra brings; without it the view is compared from the HTML.
"""

import io
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    Image = Any

COLUMNS = 32
MAX_ROWS = 500
MAX_PIXELS = 64_000_000
WIDTH = 960  # of marked pictures
MAX_HEIGHT = 16_000
CELL = 8  # pixels of a cell of those
NEAR = 3  # cells between two that still belong together
MAX_REGIONS = 500
MARK = (200, 0, 120)
TOLERANCE = 6.0  # of 255, mean over a cell: less is the work of fonts and compression


def difference(old: bytes, new: bytes) -> float | str:
    """Share of the cells that differ, 0 to 1; or the reason why the pictures cannot be compared."""
    try:
        before, after = _grid(old), _grid(new)
    except ImportError:
        return "pictures-need-pillow"
    except Exception:  # Pillow raises many kinds for a picture that is none
        return "picture-unreadable"
    rows = max(len(before), len(after))
    shared = min(len(before), len(after))
    apart = np.abs(before[:shared] - after[:shared]).max(axis=2) > TOLERANCE
    return float((np.count_nonzero(apart) + (rows - shared) * COLUMNS) / (rows * COLUMNS))


class MarkedPicture(NamedTuple):
    """The newer of two screenshots with what differs framed and the rest pale; both at the same width."""

    png: bytes
    share: float  # of its area that differs, 0 to 1
    places: int  # regions that differ
    height: int  # of the picture, which is WIDTH wide


def marked(old: bytes, new: bytes) -> MarkedPicture:
    """Raises ValueError for what is no picture or too large, ImportError without Pillow."""
    from PIL import Image, ImageDraw

    before, after = _scaled(old), _scaled(new)
    height = max(before.height, after.height)
    sheets = [Image.new("RGB", (WIDTH, height), "white") for _ in range(2)]
    for sheet, picture in zip(sheets, (before, after), strict=True):
        sheet.paste(picture, (0, 0))
    columns, rows = WIDTH // CELL, -(-height // CELL)
    grids = [np.asarray(sheet.resize((columns, rows), Image.Resampling.BOX), np.float32) for sheet in sheets]
    apart = np.abs(grids[0] - grids[1]).max(axis=2) > TOLERANCE
    shared = min(before.height, after.height) // CELL
    apart[shared:] |= before.height != after.height  # what only one of them has
    pale = Image.blend(sheets[1], Image.new("RGB", sheets[1].size, "white"), 0.55)
    regions = _regions(apart)
    draw = ImageDraw.Draw(pale)
    for left, top, right, bottom in regions:
        box = (
            max(0, left * CELL - 2),
            max(0, top * CELL - 2),
            min(right * CELL + 2, WIDTH),
            min(bottom * CELL + 2, height),
        )
        pale.paste(sheets[1].crop(box), box[:2])
        draw.rectangle((box[0], box[1], box[2] - 1, box[3] - 1), outline=MARK, width=3)
    out = io.BytesIO()
    pale.save(out, "PNG")
    return MarkedPicture(out.getvalue(), float(apart.mean()), len(regions), height)


def thumbnail(png: bytes) -> bytes:
    """The top of a picture, as wide as a card. Raises as `marked`."""

    with _opened(png) as image:
        top = image.convert("RGB").crop((0, 0, image.width, min(image.height, image.width * 5 // 8)))
        top.thumbnail((320, 200))
        small = io.BytesIO()
        top.save(small, "PNG", optimize=True)
        return small.getvalue()


def cover(data: bytes) -> bytes:
    """A PNG, JPEG or WebP drawn anew, at most 1200 × 400. Raises as `marked`."""
    from PIL import Image

    with _opened(data, ("PNG", "JPEG", "WEBP")) as image:
        drawn = image.convert("RGB")
        drawn.thumbnail((1200, 1200), Image.Resampling.BICUBIC)
        top = max(0, (drawn.height - 400) // 2)
        out = io.BytesIO()
        drawn.crop((0, top, drawn.width, min(top + 400, drawn.height))).save(out, "PNG", optimize=True)
        return out.getvalue()


def pixels(png: bytes) -> int:
    """How many a picture says it has, without reading them; 0 for what is no PNG."""
    if png[:8] != b"\x89PNG\r\n\x1a\n" or len(png) < 24:
        return 0
    return int.from_bytes(png[16:20], "big") * int.from_bytes(png[20:24], "big")


def _scaled(png: bytes) -> "Image":
    from PIL import Image

    with _opened(png) as image:
        height = max(1, min(MAX_HEIGHT, round(image.height * WIDTH / image.width)))
        whole = image.convert("RGB")
        if round(image.height * WIDTH / image.width) > MAX_HEIGHT:  # its beginning only
            whole = whole.crop((0, 0, image.width, round(MAX_HEIGHT * image.width / WIDTH)))
        return whole.resize((WIDTH, height), Image.Resampling.BOX)


def _opened(data: bytes, formats: tuple[str, ...] = ("PNG",)) -> "Image":
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(data), formats=list(formats))
        if not 0 < image.width * image.height <= MAX_PIXELS:
            raise ValueError(f"the picture has {image.width * image.height:,} pixels, more than are read")
        return image
    except (OSError, SyntaxError) as error:
        raise ValueError(f"the picture cannot be read ({error})")


def _regions(apart: NDArray[np.bool_]) -> list[tuple[int, int, int, int]]:
    """Boxes (left, top, right, bottom) around cells that differ and lie near each other; at most MAX_REGIONS."""
    bands: list[tuple[int, int]] = []
    for row in np.flatnonzero(apart.any(axis=1)).tolist():
        if bands and row - bands[-1][1] <= NEAR:
            bands[-1] = (bands[-1][0], row)
        else:
            bands.append((row, row))
    found: list[tuple[int, int, int, int]] = []
    for top, bottom in bands:
        spans: list[tuple[int, int]] = []
        for column in np.flatnonzero(apart[top : bottom + 1].any(axis=0)).tolist():
            if spans and column - spans[-1][1] <= NEAR:
                spans[-1] = (spans[-1][0], column)
            else:
                spans.append((column, column))
        for left, right in spans:
            lines = np.flatnonzero(apart[top : bottom + 1, left : right + 1].any(axis=1))
            found.append((left, top + int(lines[0]), right + 1, top + int(lines[-1]) + 1))
    return found[:MAX_REGIONS]


def _grid(png: bytes) -> NDArray[np.float32]:
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        width, height = image.size
        if width * height > MAX_PIXELS or not width or not height:
            raise ValueError("too large")
        rows = max(1, min(MAX_ROWS, round(height * COLUMNS / width)))
        small = image.convert("RGB").resize((COLUMNS, rows), Image.Resampling.BOX)
        return np.asarray(small, np.float32)
