"""The files in `locks` hold what is installed: everything pyproject asks for, with hashes, and no host."""

import re
from pathlib import Path

from locks import __main__ as locks

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "locks").glob("*.txt")), locks.REPLAY]


def test_every_locked_package_has_hashes():
    versions = locks.locked(locks.LOCK.read_text("utf-8"))
    wanted = {name: locks.closure(roots, versions) for name, roots in locks.groups().items()}
    assert len(wanted["run"]) > 40
    assert list(locks.problems(wanted, versions)) == []


def test_a_pin_without_a_hash_or_a_host_is_found_nowhere():
    for file in FILES:
        text = file.read_text("utf-8")
        pins = [line for line in text.splitlines() if re.match(r"\w[\w.-]*==", line)]
        assert pins, file
        assert len(pins) == len(locks.hashed(text)), file
        assert "://" not in text, file


def test_wheels_for_both_machines_and_all_pythons_are_there():
    """A package with compiled parts: numpy has a wheel for each of six worlds, at least."""
    found = locks.hashed((ROOT / "locks" / "run.txt").read_text("utf-8"))
    assert len(next(hashes for pin, hashes in found.items() if pin.startswith("numpy=="))) >= 6
    assert locks.fits("cp313-cp313-manylinux_2_27_aarch64")
    assert locks.fits("cp39-abi3-manylinux_2_17_x86_64")
    assert locks.fits("py3-none-any")
    assert not locks.fits("cp310-cp310-manylinux_2_27_x86_64")
    assert not locks.fits("cp312-cp312-macosx_11_0_arm64")


def test_a_missing_hash_is_told():
    told = list(locks.problems({"run": {"nothing"}}, {"nothing": "1.0"}))
    assert told == ["locks/run.txt lacks nothing==1.0: run `make lock`"]
