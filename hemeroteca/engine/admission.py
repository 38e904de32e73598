"""Whether a leased page is visited at all: windows, traps, robots.txt; and the sitemaps of sites just met."""

from collections.abc import Callable

from hemeroteca import urls
from hemeroteca.engine import reasons
from hemeroteca.engine.messages import AGENT
from hemeroteca.engine.page_outcomes import EXCLUDED, FAILED, QUEUED, PageOutcomes
from hemeroteca.engine.robots_rules import RobotsRules, origin_of
from hemeroteca.engine.runs import Run
from hemeroteca.frontier.queue import Frontier
from hemeroteca.frontier.traps import SameText
from hemeroteca.frontier.values import Visit
from hemeroteca.urls.candidate import Candidate, Role

CLOSED_SECONDS = 3600.0  # s after which pages outside their window are looked at again: a person may change it


class Admission:
    """`ask_rules`: fetch the robots.txt of an origin before this visit. `changed`: something must be written soon."""

    def __init__(
        self,
        frontier: Frontier,
        robots_rules: RobotsRules,
        same_text: SameText,
        page_outcomes: PageOutcomes,
        ask_rules: Callable[[str, Visit], None],
        changed: Callable[[], None],
    ) -> None:
        self._frontier = frontier
        self._robots_rules = robots_rules
        self._same_text = same_text
        self._page_outcomes = page_outcomes
        self._ask_rules = ask_rules
        self._changed = changed

    def admit(self, visit: Visit, run: Run, now: float) -> bool:
        """Whether it is worth a visit and robots.txt lets us; when its rules are unknown, they are fetched first."""
        host = self._frontier.host(visit.host)
        if run.closed_until > now:
            run.leased += 1  # and back again
            later = min(run.closed_until, now + CLOSED_SECONDS)
            self._page_outcomes.without_capture(visit, QUEUED, "", "", due_ms=int(later * 1000))
            self._frontier.release_unasked(visit.host)
            return False
        if trap := self._same_text.closed(visit.host, visit.url):
            self._page_outcomes.without_capture(visit, EXCLUDED, "trap", trap)
            self._frontier.release_unasked(visit.host)
            return False
        if run.options.ignore_robots or host.settings.ignore_robots:
            self._ask_sitemaps(visit, run, ())
            return True
        origin = origin_of(visit.url)
        rules = self._robots_rules.rules(origin, now)
        if rules is None:
            run.outstanding -= 1
            self._frontier.put_back(visit)
            self._ask_rules(origin, visit)
            return False
        self._ask_sitemaps(visit, run, rules.sitemaps)
        if rules.allows(visit.url, AGENT):
            return True
        if rules.unreachable:
            reason = f"robots-unreachable: {origin}/robots.txt gave {rules.unreachable} a moment ago"
            self._page_outcomes.without_capture(visit, FAILED, reasons.code(reason), reason)
        else:
            reason = f"robots.txt of {host.name} forbids {_path(visit.url)} ({rules.rule(visit.url, AGENT)})"
            self._page_outcomes.without_capture(visit, EXCLUDED, "robots", reason)
        self._frontier.release_unasked(visit.host)
        return False

    def _ask_sitemaps(self, visit: Visit, run: Run, listed: tuple[str, ...] | list[str]) -> None:
        if not run.options.sitemaps or visit.role != Role.PAGE or run.options.scope.kind == "page":
            return
        origin = origin_of(visit.url)
        if origin in run.asked_sitemaps:
            return
        run.asked_sitemaps.add(origin)
        found = []
        for address in listed or [origin + "/sitemap.xml"]:
            try:
                url = urls.canonical(urls.join(origin + "/", address) or "")
            except urls.UrlError:
                continue
            found.append(Candidate(urls.key(url), url, urls.host(url), run.id, role=Role.SITEMAP, priority=100))
        if self._frontier.add(found):
            self._changed()


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[3] if url.count("/") >= 3 else "/"
