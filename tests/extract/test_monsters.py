"""Every monster ends soon, in little memory, and says what was left out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extract.monsters import MONSTERS

PROJECT = Path(__file__).parents[2]
MEMORY = 256 << 20
SECONDS = 40.0  # of processor time; none takes two here, and what grows with the square takes hours


@pytest.fixture(scope="module")
def costs() -> dict[str, dict]:
    """All of them in one process that may not use more than 2 GiB of addresses."""
    command = [sys.executable, "-m", "tests.extract.monsters"]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=500, check=False)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0, f"died after {lines[-1:]}: {run.stderr[-2000:]}"
    return {line["name"]: line for line in lines}


@pytest.mark.slow
@pytest.mark.parametrize("name", MONSTERS)
def test_a_monster_is_bounded(costs: dict[str, dict], name: str) -> None:
    cost = costs[name]
    assert cost["memory"] < MEMORY, cost
    assert cost["seconds"] < SECONDS, cost


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ten million paragraphs", "tags-cut"),
        ("a million divs deep", "dom-too-deep"),
        ("reopened formatting", "formatting-dropped"),
        ("400,000 attributes", "attributes-cut"),
        ("two million links", "tags-cut"),
        ("an attribute of 60 MB", "html-cut"),
        ("one long word", "text-cut"),
        ("many url()", "css-cut"),
        ("a billion laughs", "entities-refused"),
        ("twelve million elements", "elements-cut"),
        ("a title of 50 MB", "xml-cut"),
        ("a sitemap ten times too long", "links-cut"),
        ("deep JSON", "json-too-long"),
        ("gzip bomb", "decompression-limit"),
    ],
)
def test_what_was_cut_is_named(costs: dict[str, dict], name: str, reason: str) -> None:
    assert reason in costs[name]["notes"]


@pytest.mark.slow
def test_defused_pages_keep_their_text(costs: dict[str, dict]) -> None:
    assert costs["reopened formatting"]["text"] == 2 * 9_000 - 1  # "x" and a line break each
    assert costs["comparisons in a script"]["text"] == len("hello")
