"""When will a page change: estimators, visiting policies, the planner `auto`, and the simulator that compares them.

A pure room: values in, values out; time and randomness are arguments. It must never read a clock, a file of the
instance or the network (`traces.read` reads the file it is told to).

    planner = Planner()
    planner.add(keys, sites, urls, now)            # hours, UTC
    for key in planner.plan(now, budget).keys: …   # visit
    planner.observe(keys, now, changed)            # learn, and move the neighbours at once
    planner.explain(key, now)                      # a Reason the console can translate
"""

from .calendars import Calendar, country_calendar, week_calendar
from .calibration import Calibration, Observed, calibrate
from .explanation import SENTENCES, Reason, fill
from .groups import behaviour, bursts, daily_chance, group, site_chance
from .planner import Planner
from .policies import POLICIES, IntervalPolicy, World, policy_of

__all__ = [
    "POLICIES", "SENTENCES", "Calendar", "Calibration", "IntervalPolicy", "Observed", "Planner", "Reason", "World",
    "behaviour", "bursts", "calibrate", "country_calendar", "daily_chance", "fill", "group", "policy_of", "site_chance",
    "week_calendar",
]  # fmt: skip
