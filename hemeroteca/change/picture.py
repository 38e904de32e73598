"""Two screenshots compared as an eye would from some distance: a small grid of mean colours.

Needs Pillow, which only the `[browser]` extra brings; without it the view is compared from the HTML.
"""

import io

import numpy as np
from numpy.typing import NDArray

COLUMNS = 32
MAX_ROWS = 500
MAX_PIXELS = 64_000_000
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


def _grid(png: bytes) -> NDArray[np.float32]:
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
        width, height = image.size
        if width * height > MAX_PIXELS or not width or not height:
            raise ValueError("too large")
        rows = max(1, min(MAX_ROWS, round(height * COLUMNS / width)))
        small = image.convert("RGB").resize((COLUMNS, rows), Image.Resampling.BOX)
        return np.asarray(small, np.float32)
