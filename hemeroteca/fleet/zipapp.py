"""The single-file worker, `worker.pyz`: the package `device` and the address guard, packed. Reproducible: the same
sources give the same bytes, so that its hash can be published and compared."""

import io
import zipfile
from functools import lru_cache
from pathlib import Path

import hemeroteca

ROOT = Path(hemeroteca.__file__).parent
FILES = ("fetch/guard.py", *sorted(f"fleet/device/{path.name}" for path in (ROOT / "fleet/device").glob("*.py")))
EMPTY = ("hemeroteca/fetch/__init__.py", "hemeroteca/fleet/__init__.py")
EPOCH = (1980, 1, 1, 0, 0, 0)
MAIN = "from hemeroteca.fleet.device.startup import main\n\nmain()\n"


@lru_cache(maxsize=1)
def build() -> bytes:
    target = io.BytesIO()
    target.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
        version = f'__version__ = "{hemeroteca.__version__}"\n'
        texts = {"__main__.py": MAIN, "hemeroteca/__init__.py": version, **dict.fromkeys(EMPTY, "")}
        texts |= {f"hemeroteca/{name}": (ROOT / name).read_text("utf-8") for name in FILES}
        for name, text in sorted(texts.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode())
    return target.getvalue()
