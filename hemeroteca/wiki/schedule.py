"""When an article is looked at again: the rule `exponential` of the founding work, and `auto`. Pure.

`exponential`: of the newest tenth of the revisions, at least 20, λ = n/(t₁ − t₀); the article is due when the time
since its last revision exceeds 1/λ. The founding schedule looks once a day, at 00:00.

`never`: only when somebody orders it.

`auto`: the rate is estimated with forgetting and a prior, what the wiki announced counts at once, and an article of a
wiki whose recent changes are read waits for its announcement, with a look from time to time in case one was missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hemeroteca.wiki.models import Article

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MIN_SAMPLE = 20
MIN_AUTO_MS = HOUR_MS
MAX_AUTO_MS = 30 * DAY_MS
FOLLOWED_MS = 7 * DAY_MS  # between looks at an article whose changes the wiki announces
AUTO, EXPONENTIAL, NEVER = "auto", "exponential", "never"
POLICIES = (AUTO, EXPONENTIAL, NEVER)
PRIOR_EVENTS, PRIOR_MS = 0.5, 15 * DAY_MS  # an article of which nothing is known changes once a month, about
MEMORY = 40  # newest revisions that `auto` looks at


def exponential_ms(times: Sequence[int]) -> float | None:
    """Expected milliseconds between two revisions (1/λ), from their times; None when they do not tell."""
    ordered = sorted(times)
    sample = ordered[-max(MIN_SAMPLE, len(ordered) // 10) :]
    if len(sample) < 2 or sample[-1] <= sample[0]:
        return None
    return (sample[-1] - sample[0]) / len(sample)


def exponential_due(times: Sequence[int], now: int) -> bool:
    """Whether the founding rule visits now."""
    expected = exponential_ms(times)
    return expected is None or now - max(times) > expected


def next_midnight(now: int) -> int:
    return (now // DAY_MS + 1) * DAY_MS


def auto_ms(times: Sequence[int], now: int) -> float:
    """Milliseconds to the next look that is worth its request: when a change has become as likely as not."""
    recent = sorted(times)[-MEMORY:]
    span = now - recent[0] if recent else 0
    rate = (PRIOR_EVENTS + len(recent)) / (PRIOR_MS + span)
    quiet = now - recent[-1] if recent else MAX_AUTO_MS
    # edits come in bursts: the longer it has been quiet, the longer it stays so (0.2: as rules of crawlers have it)
    wait = max(0.7 / rate, 0.2 * quiet)
    return min(max(wait, MIN_AUTO_MS), MAX_AUTO_MS)


def plan(article: Article, fields: dict[str, Any], times: Sequence[int], now: int) -> dict[str, Any]:
    """What to write into an article's row after it was read."""
    if article.policy == NEVER or fields.get("limited"):  # a limit is kept until an order lifts it
        return {"due_ms": 0}
    if article.policy == "exponential":
        expected = exponential_ms(times)
        last = max(times, default=now)
        due = next_midnight(now)
        while expected is not None and due - last <= expected:
            due += DAY_MS
        return {"rate": HOUR_MS / expected if expected else 0.0, "due_ms": due}
    followed = bool(article.wiki.changes_until or article.wiki.event_id)
    wait = FOLLOWED_MS if followed else auto_ms(times, now)
    return {"rate": HOUR_MS * len(times) / max(now - min(times, default=now), HOUR_MS), "due_ms": int(now + wait)}
