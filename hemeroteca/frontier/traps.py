"""Spider traps that no single URL betrays: calendars, session ids, soft 404s, endless parameters.

They have one thing in common: the same page again under ever new addresses. Ingest gives each page a fingerprint of
its text without digits; once a host has shown the same fingerprint often, links found on such pages are no longer
followed, so the trap runs dry by itself and honest pages of the host are not touched.
"""

from collections import OrderedDict

MOST_REMEMBERED = 200_000  # fingerprints of all hosts; the oldest are forgotten


class SameText:
    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._met: OrderedDict[tuple[int, int], int] = OrderedDict()

    def reason(self, host: int, fingerprint: int) -> str:
        """Count one more page with this text on this host; not empty when its links should not be followed."""
        if not fingerprint:
            return ""
        where = (host, fingerprint)
        count = self._met.pop(where, 0) + 1
        self._met[where] = count
        if len(self._met) > MOST_REMEMBERED:
            self._met.popitem(last=False)
        if count <= self._cap:
            return ""
        return f"trap: more than {self._cap} pages of this host have this text; its links are not followed"
