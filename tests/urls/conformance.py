"""Public test suites, and what docs/reference/urls.md says of them: the page must stay true."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "reference" / "urls.md"


def suite(name: str) -> Path:
    """A file or folder of the shared data, or skip."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"public test data {name} is not here")
    return path


def documented(name: str) -> tuple[int, int]:
    """Cases and passes of a suite by the table of the page: `| `name` | cases | pass | …`."""
    row = re.search(rf"^\| `{re.escape(name)}`[^|]*\| *(\d+) *\| *(\d+) *\|", PAGE.read_text(), re.MULTILINE)
    assert row, f"{PAGE.name} has no row for {name}"
    return int(row[1]), int(row[2])


def text_of_bytes(text: str) -> str:
    """The IIPC files hold bytes, one character each."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text
