"""Names for people of what the code calls by a short word: kinds of jobs, their results, areas of the permissions."""

import re

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

WORK = {
    "archive.import": _("Import of captures"),
    "archive.export": _("Export of captures"),
    "archive.prune": _("Removal of superfluous versions"),
    "archive.offload": _("Move of WARC files to the store"),
    "archive.erase": _("Erasure"),
    "archive.verify": _("Check of the archive"),
    "archive.repair": _("Repair of the archive"),
    "instance.backup": _("Backup"),
    "search.rebuild": _("Rebuilding of the search index"),
    "search.learn": _("Learning of words for suggestions"),
    "search.rank": _("Ranking of the link graph"),
    "fleet.webhook": _("Message to a client of the fleet"),
    "fleet.load": _("Load test"),
    "geo.harvest": _("Harvest of a catalogue"),
    "geo.check": _("Check of geographic services"),
    "watch.learn": _("Learning from past captures"),
    "watch.learn_cdx": _("Learning from another archive"),
    "predict.simulate": _("Simulation"),
    "predict.calibrate": _("Calibration of predictions"),
    "wiki.extract": _("Extraction of histories"),
    "wiki.refresh": _("Refreshing of histories"),
    "wiki.follow": _("Following of recent changes"),
    "wiki.verify": _("Check of histories"),
    "wiki.import": _("Import of a wiki"),
    "wiki.export": _("Export of histories"),
    "wiki.compact": _("Compaction of the lake"),
}
SCOPES = {
    "search": _("search"),
    "archive": _("archive"),
    "crawl": _("crawls"),
    "focus": _("focused crawls"),
    "site": _("settings of sites"),
    "watch": _("watching"),
    "predict": _("predictions"),
    "geo": _("geographic services"),
    "wiki": _("wikis"),
    "fleet": _("fleet"),
    "account": _("accounts"),
    "job": _("jobs"),
    "instance": _("operation"),
}
RESULTS = {
    "added": _("Added"),
    "addresses": _("Addresses"),
    "articles": _("Articles"),
    "bytes": _("Bytes"),
    "captures": _("Captures"),
    "changed": _("Changed"),
    "changes": _("Changes"),
    "corrected": _("Corrected"),
    "crawl": _("Crawl"),
    "documents": _("Documents"),
    "dropped": _("Left aside"),
    "events": _("Log events"),
    "failed": _("Failed"),
    "file": _("File"),
    "files": _("Files"),
    "format": _("Format"),
    "joined": _("Joined to their originals"),
    "kept": _("Kept"),
    "kind": _("Kind"),
    "known": _("Known already"),
    "looked_at": _("Looked at"),
    "lost": _("Not taken, or not whole"),
    "max_revisions": _("Most revisions"),
    "observations": _("Observations"),
    "pages": _("Pages"),
    "pseudonyms": _("Users under pseudonyms"),
    "reason": _("Reason"),
    "records": _("Records"),
    "removed": _("Removed"),
    "repeated": _("With contents known already"),
    "requests": _("Requests"),
    "revisions": _("Revisions"),
    "services": _("Services"),
    "source": _("Source"),
    "state": _("State"),
    "stopped": _("Ended early"),
    "taken": _("Taken"),
    "taken_down": _("Of addresses taken down"),
    "texts": _("Texts"),
    "unchanged": _("Unchanged"),
    "unlisted": _("Not in the index"),
    "unreadable": _("Cannot be read"),
    "until": _("Until"),
    "vanished": _("Vanished"),
    "versions": _("Versions"),
    "waiting": _("Waiting for their originals"),
    "wiki": _("Wiki"),
    "written": _("Written"),
}

# What a browser calls itself, and its name for people; the first that fits: most call themselves others, too.
BROWSERS = {
    r"Edg(?:e|A|iOS)?": "Edge",
    r"OPR|Opera": "Opera",
    r"SamsungBrowser": "Samsung Internet",
    r"Firefox|FxiOS": "Firefox",
    r"(?:Headless)?Chrome|CriOS|Chromium": "Chrome",
    r"Version(?=.*Safari)": "Safari",
}
SYSTEMS = {"Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows", "Mac OS": "macOS"}
SYSTEMS |= {"CrOS": "ChromeOS", "Linux": "Linux"}


def browser(user_agent: str) -> str:
    """A browser and its system, as people call them; what a program calls itself when it is none of them."""
    system = next((name for word, name in SYSTEMS.items() if word in user_agent), "")
    for words, name in BROWSERS.items():
        if found := re.search(rf"(?:{words})[^/]*/(\d+)", user_agent):
            known = f"{name} {found[1]}"
            return gettext("%(browser)s on %(system)s") % {"browser": known, "system": system} if system else known
    return user_agent[:120]
