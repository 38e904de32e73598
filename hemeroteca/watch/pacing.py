"""How often all pages are planned anew: seldom enough that planning stays a small share of a processor."""

SHARE = 0.004  # of one core, for planning
SHORTEST = 20.0  # s between two plans
AGAIN_AT_ONCE = 2.0  # s: the same, when a signal waits
SIGNALLED = 0.02  # of one core, while signals keep coming


def pause(cost: float) -> float:
    """Seconds until the next plan, after one that took `cost` seconds of processor time."""
    return max(SHORTEST, cost / SHARE)


def pause_signalled(cost: float) -> float:
    """The same when somebody announced a change."""
    return max(AGAIN_AT_ONCE, cost / SIGNALLED)
