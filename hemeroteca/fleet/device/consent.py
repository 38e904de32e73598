"""What the owner of a device agreed to, in typed words, once; kept beside the worker's state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

ACTIVITIES = {
    "crawls": "pages for the archive of this server",
    "clients": "pages that people approved by its operator ask for (you do not know who, nor why)",
    "vantage": "the same pages from many countries, to see where they differ (may include censored ones)",
    "load": "the same page many times, from sites whose owners asked for a load test",
}
CATEGORIES = (
    "general", "news", "politics", "religion", "health", "social", "circumvention", "gambling", "drugs", "adult",
)  # fmt: skip
USUAL = ("general", "news", "health", "social")  # kinds of pages others may ask for, without a word of the owner
EXPLANATION = """\
This program asks web pages in the name of the server {server}.

  * Each visited site sees the address of your connection, as if you had opened the page.
    Every request says who is behind it, and where to complain.
  * Your internet provider sees which sites are visited, as with your own browsing.
  * Nothing of your machine is read or sent: no files, no names, no list of programs.
    The server learns your address, system, version, speed, and what the sites answered.
  * Only public addresses are asked, one request at a time per site.
  * Ctrl-C, or Stop on the page it shows, ends it at any moment; nothing is lost.
"""


def agreed(
    file: Path | None, server: str, given: str = "", ask: Callable[[str], str] | None = None, laboratory: bool = False
) -> list[str]:
    """The activities its owner agreed to. `given`: on the command line; `ask`: by question; neither: what was agreed
    before, or only the first. A laboratory has no owner to ask: crawls and clients."""
    if given:
        chosen = [name.strip() for name in given.split(",") if name.strip()]
        unknown = [name for name in chosen if name not in ACTIVITIES]
        if unknown:
            raise ValueError(f"{', '.join(unknown)} is no activity; these are: {', '.join(ACTIVITIES)}")
        return _keep(file, server, chosen)
    if file is not None and file.exists():
        try:
            kept = json.loads(file.read_text("utf-8"))
            if kept.get("server") == server:
                return [name for name in kept.get("activities", []) if name in ACTIVITIES]
        except (ValueError, OSError):
            pass
    if ask is None and laboratory:
        return ["crawls", "clients"]
    print(EXPLANATION.format(server=server))
    if ask is None:
        print(f"Nobody can be asked here, so it fetches {ACTIVITIES['crawls']} and nothing else; --consent says more.")
        return ["crawls"]
    chosen = []
    for name, words in ACTIVITIES.items():
        answer = ask(f"It may fetch {words}.\n  Type `agree` to allow it, or press Enter to leave it off: ")
        if answer.strip().lower() == "agree":
            chosen.append(name)
    return _keep(file, server, chosen)


def categories(file: Path | None, given: str = "", ask: Callable[[str], str] | None = None) -> list[str]:
    """Kinds of pages that clients and vantage checks may ask for on this device; asked once, then remembered."""
    if not given and file is not None and file.exists():
        try:
            return [name for name in json.loads(file.read_text("utf-8")) if name in CATEGORIES]
        except (ValueError, OSError, TypeError):
            pass
    if not given and ask is not None:
        given = ask(
            f"Kinds of pages others may ask for: {', '.join(CATEGORIES)}.\n"
            f"  Type those you agree to, with commas, or press Enter for {', '.join(USUAL)}: "
        ).strip()
    chosen = [name.strip() for name in given.split(",") if name.strip()] or list(USUAL)
    unknown = [name for name in chosen if name not in CATEGORIES]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} is no category; these are: {', '.join(CATEGORIES)}")
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(chosen), "utf-8")
        except OSError:
            pass
    return chosen


def _keep(file: Path | None, server: str, chosen: list[str]) -> list[str]:
    if file is not None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps({"server": server, "activities": chosen}), "utf-8")
        except OSError:
            pass
    return chosen
