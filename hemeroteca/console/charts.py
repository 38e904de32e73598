"""Charts: Vega-Lite specifications for `{% chart %}`, and the library that draws them in the browser.

The library comes from the package `vl-convert-python`, which takes seconds and a hundred megabytes to write it: once,
in a process of its own, into the folder `cache` of the instance.
"""

import gzip
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
FEW = 40  # rows of a line whose points are marked: of a single one nothing else would be seen
FEW_BARS = 10
FEW_NAMES = 40  # that stand below each other, where they can be read
STEPS = {"yearmonthdate": "day", "yearmonth": "month", "year": "year"}
MAX_ROWS = 5_000  # of a chart; a longer series says nothing more on a screen
YEAR_SECONDS = 365 * 86_400
_writing = threading.Lock()


def spec(
    rows: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    mark: str = "bar",
    kind: str = "temporal",
    titles: tuple[Any, Any] = ("", ""),
    by: str = "",
    by_title: Any = "",
    unit: str = "",
) -> dict[str, Any]:
    """A chart of rows: column `y` over column `x` (temporal, ordinal, nominal or quantitative), one series for each
    value of the column `by`."""
    encoding: dict[str, Any] = {
        "x": {"field": x, "type": kind, "title": str(titles[0]) or None, "sort": None},
        "y": {"field": y, "type": "quantitative", "title": str(titles[1]) or None},
    }
    if kind == "temporal":
        encoding["x"]["scale"] = {"type": "utc"}
        if unit:
            encoding["x"]["timeUnit"] = f"utc{unit}"  # yearmonthdate: bars as wide as a day
    if by:
        legend = {"title": str(by_title) or None}
        encoding["color"] = {"field": by, "type": "nominal", "title": str(by_title or _("series")), "sort": None}
        encoding["color"]["legend"] = legend
    shown = [dict(row) for row in rows[-MAX_ROWS:]]
    drawn: dict[str, Any] = {"type": mark, "tooltip": True}
    if mark == "line" and len(shown) <= FEW:
        drawn["point"] = True
    if unit and len(shown) < FEW_BARS:
        encoding["x"]["axis"] = {"tickCount": STEPS[unit]}  # else one day is named several times
        if mark == "bar":
            drawn["width"] = {"band": len(shown) / FEW_BARS}  # a single day would fill all of it
    made: dict[str, Any] = {"$schema": SCHEMA, "data": {"values": shown}, "mark": drawn, "encoding": encoding}
    if kind == "nominal" and mark == "bar" and len(shown) <= FEW_NAMES:
        encoding["x"], encoding["y"] = encoding["y"], encoding["x"]
        made["height"] = 24 * len(shown) + 48
    return made


def library_name() -> str:
    return f"vega-{version('vl-convert-python')}.js"


def library(request: HttpRequest, name: str) -> FileResponse | HttpResponse:
    """The drawing library, compressed; its name carries its version, so that a browser keeps it for good."""
    if name != library_name():
        raise Http404
    response = FileResponse(_library().open("rb"), content_type="text/javascript; charset=utf-8")
    response["Content-Encoding"] = "gzip"
    response["Cache-Control"] = f"public, max-age={YEAR_SECONDS}, immutable"
    return response


def _library() -> Path:
    file: Path = settings.INSTANCE.data / "cache" / f"{library_name()}.gz"
    with _writing:
        if not file.exists():
            file.parent.mkdir(mode=0o700, exist_ok=True)
            made = subprocess.run(
                [sys.executable, "-c", "import sys, vl_convert; sys.stdout.write(vl_convert.javascript_bundle())"],
                capture_output=True, check=True, timeout=300, cwd="/",
            )  # fmt: skip
            with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
                draft.write(gzip.compress(made.stdout, 9))
            Path(draft.name).replace(file)
    return file
