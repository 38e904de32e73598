"""Writes the files of this folder: which packages are installed for what, with the hashes of all files of theirs.

    python -m locks            for the versions in requirements.lock
    python -m locks --check    tells what is missing, asks nobody

`run.txt` is the program itself; `dev.txt` and the others are extras of pyproject.toml, each with all it needs. Hashes
come from the package index that pip is set to; no host is written down. Why so: docs/decisions/0097-locked-packages.md.
"""

import json
import re
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
LOCK = ROOT / "requirements.lock"
REPLAY = ROOT / "hemeroteca" / "replay" / "requirements.txt"
BUILD = ("hatchling", "editables")  # what installs the program itself; else pip would fetch them unseen
DATA = ("wordllama",)  # whose files are read and whose code is never run: installed without what it names
HEAD = "# Written by `make lock` from requirements.lock and pyproject.toml.\n"

MACHINES = ("x86_64", "aarch64")
PYTHONS = ("3.11", "3.12", "3.13")
WORLDS = [
    {"python_version": python, "python_full_version": f"{python}.0", "platform_machine": machine}
    for python in PYTHONS
    for machine in MACHINES
]


def main(arguments: list[str]) -> int:
    versions = locked(LOCK.read_text("utf-8"))
    wanted = {name: closure(roots, versions) for name, roots in groups().items()}
    if "--check" in arguments:
        missing = list(problems(wanted, versions))
        print("\n".join(missing), file=sys.stderr)
        return 1 if missing else 0
    if absent := sorted(name for name in wanted["run"] if not installed(name)):
        raise SystemExit(f"{', '.join(absent)} not installed here, so what it needs is not known: run `make lock`")
    known = {pin: hashes for file in FOLDER.glob("*.txt") for pin, hashes in hashed(file.read_text("utf-8")).items()}
    for name, names in wanted.items():
        lines = [entry(f"{one}=={versions[one]}", known) for one in sorted(names)]
        (FOLDER / f"{name}.txt").write_text(HEAD + "".join(lines), "utf-8")
    REPLAY.write_text("".join(replay_lines(REPLAY.read_text("utf-8"), known)), "utf-8")
    return 0


def groups() -> dict[str, list[Requirement]]:
    """What each file begins with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found = {"run": [*project["dependencies"], *BUILD, *DATA]}
    found |= {name: texts for name, texts in project["optional-dependencies"].items() if name not in ("semantic",)}
    return {name: [Requirement(text) for text in texts] for name, texts in found.items()}


def closure(roots: Iterable[Requirement], versions: dict[str, str]) -> set[str]:
    """These packages and all they need, on any of the Pythons and machines; only what is locked."""
    found: set[str] = set()
    waiting = [(canonicalize_name(root.name), frozenset(root.extras)) for root in roots]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        if name in versions:
            found.add(name)
        for needed in () if name in DATA else requirements_of(name):
            one = (canonicalize_name(needed.name), frozenset(needed.extras))
            if one not in seen and applies(needed.marker, extras):
                seen.add(one)
                waiting.append(one)
    return found


def installed(name: str) -> bool:
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


def requirements_of(name: str) -> list[Requirement]:
    try:
        return [Requirement(text) for text in distribution(name).requires or ()]
    except PackageNotFoundError:
        return []


def applies(marker: Marker | None, extras: frozenset[str]) -> bool:
    if marker is None:
        return True
    return any(marker.evaluate({**world, "extra": extra}) for world in WORLDS for extra in (*extras, ""))


def locked(text: str) -> dict[str, str]:
    """Versions by name."""
    pins = (line.partition("==") for line in text.splitlines() if "==" in line)
    return {str(canonicalize_name(name)): version.strip() for name, _, version in pins}


def hashed(text: str) -> dict[str, list[str]]:
    """Hashes by pin."""
    entries = text.replace("\\\n", " ").splitlines()
    return {line.split()[0]: re.findall(r"--hash=(\S+)", line) for line in entries if "--hash" in line}


def problems(wanted: dict[str, set[str]], versions: dict[str, str]) -> Iterator[str]:
    for name, names in wanted.items():
        file = FOLDER / f"{name}.txt"
        have = hashed(file.read_text("utf-8")) if file.exists() else {}
        for one in sorted(names):
            if not have.get(f"{one}=={versions[one]}"):
                yield f"locks/{name}.txt lacks {one}=={versions[one]}: run `make lock`"


def entry(pin: str, known: dict[str, list[str]], marker: str = "") -> str:
    hashes = known.get(pin) or hashes_of(*pin.split("=="))
    known[pin] = hashes
    return f"{pin}{marker}" + "".join(f" \\\n    --hash={one}" for one in hashes) + "\n"


def replay_lines(text: str, known: dict[str, list[str]]) -> Iterator[str]:
    """The file of replay's own environment: its pins are chosen by hand, their hashes are not."""
    for line in re.sub(r" \\\n\s+--hash=\S+", "", text).splitlines():
        if "==" not in line or line.startswith("#"):
            yield f"{line}\n"
            continue
        pin, _, marker = line.partition(";")
        name, _, version = pin.strip().partition("==")
        yield entry(f"{canonicalize_name(name)}=={version}", known, f" ;{marker}" if marker else "")


def hashes_of(name: str, version: str) -> list[str]:
    """Of the wheels for our Pythons and machines; where there is no wheel at all, of the source."""
    wheels, sources = [], []
    for file, digest in files(name):
        try:
            if file.endswith(".whl"):
                _, found, _, tags = parse_wheel_filename(file)
                if str(found) == version and any(fits(str(tag)) for tag in tags):
                    wheels.append(digest)
            elif str(parse_sdist_filename(file)[1]) == version:
                sources.append(digest)
        except ValueError:
            continue  # some other kind of file, or a name of old
    if not (wheels or sources):
        raise SystemExit(f"{name}=={version}: the index knows no file of it")
    return sorted(wheels or sources)


def fits(tag: str) -> bool:
    python, abi, platform = tag.split("-")
    ours = abi == "none" or abi == "abi3" or any(python == f"cp{one.replace('.', '')}" for one in PYTHONS)
    ours = ours and python.startswith(("py", "cp3"))
    return ours and (platform == "any" or ("linux" in platform and platform.endswith(MACHINES)))


def files(name: str) -> Iterator[tuple[str, str]]:
    """Name and hash of each file of a package."""
    place = f"{index().rstrip('/')}/{name}/"
    asked = urllib.request.Request(place, headers={"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - the index that pip asks
        body, kind = answer.read().decode(), answer.headers.get_content_type()
    if kind.endswith("json"):
        for file in json.loads(body)["files"]:
            if "sha256" in file["hashes"]:
                yield file["filename"], f"sha256:{file['hashes']['sha256']}"
        return
    for link in re.findall(r'href="([^"]+)"', body):
        parts = urlsplit(urljoin(place, link))
        if parts.fragment.startswith("sha256="):
            yield parts.path.rpartition("/")[2], parts.fragment.replace("=", ":")


@cache
def index() -> str:
    told = subprocess.run([sys.executable, "-m", "pip", "config", "debug"], capture_output=True, text=True, check=True)
    found = re.search(r"(?:PIP_INDEX_URL|index-url)\W+(\S+?)'?$", told.stdout, re.M)
    return found[1] if found else "https://pypi.org/simple"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
