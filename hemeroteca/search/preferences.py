"""A person's own judgement of hosts: raised, lowered or never shown. Kept as `preferences.json` in the index folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from hemeroteca import urls
from hemeroteca.search.index import SearchError
from hemeroteca.search.ranking import Preferences

MIN_FACTOR, MAX_FACTOR = 0.01, 100.0  # factors beyond do what these do


def load_preferences(path: Path) -> Preferences:
    file = path / "preferences.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Preferences)
    except FileNotFoundError:
        return Preferences()
    except msgspec.MsgspecError as error:
        raise SearchError(f"the preferences in {file} cannot be read ({error}); correct or remove the file")


def prefer(path: Path, host: str, factor: float | None) -> Preferences:
    """Raise (above 1), lower (below 1), block (0) or forget (None) a host. Raises SearchError."""
    host = _host_name(host)
    if factor is not None and factor != 0 and not MIN_FACTOR <= factor <= MAX_FACTOR:
        raise SearchError(
            f"the factor of {host} must be from {MIN_FACTOR:g} to {MAX_FACTOR:g}, not {factor:g}; 0 blocks it"
        )
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (path / "preferences.lock").open("w") as lock:  # two people may judge at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        now = load_preferences(path)
        boosts = {name: value for name, value in now.boosts.items() if name != host}
        blocks = tuple(name for name in now.blocks if name != host)
        if factor == 0:
            blocks = (*blocks, host)
        elif factor is not None:
            boosts[host] = factor
        fresh = Preferences(boosts=boosts, blocks=blocks)
        draft = path / "preferences.draft"
        draft.write_bytes(msgspec.json.encode(fresh))
        os.replace(draft, path / "preferences.json")
    return fresh


def _host_name(text: str) -> str:
    """The host of what somebody wrote: a name, or an address of one of its pages."""
    written = text.strip()
    try:
        host = urls.host(urls.canonical(written if "://" in written else f"http://{written}"))
    except urls.UrlError as error:
        raise SearchError(f"{written[:200]!r} is no host ({error}); write it like example.org")
    return host
