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
from .calibration import Bin, Calibration, Observed, calibrate, report
from .estimators import (
    Gamma,
    bias_reduced,
    fit_gamma,
    maximum_likelihood,
    naive,
    precision,
    unchanged_given_signals,
)
from .explanation import SENTENCES, Reason, fill
from .groups import Behaviour, Burst, Group, behaviour, bursts, group
from .planner import Plan, Planner
from .policies import POLICIES, IntervalPolicy, Policy, World
from .simulator import PUBLISHED, Outcome, simulate
from .traces import PROCESSES, Trace, generate, join, read

__all__ = [
    "POLICIES",
    "PROCESSES",
    "PUBLISHED",
    "SENTENCES",
    "Behaviour",
    "Bin",
    "Burst",
    "Calendar",
    "Calibration",
    "Gamma",
    "Group",
    "IntervalPolicy",
    "Observed",
    "Outcome",
    "Plan",
    "Planner",
    "Policy",
    "Reason",
    "Trace",
    "World",
    "behaviour",
    "bias_reduced",
    "bursts",
    "calibrate",
    "country_calendar",
    "fill",
    "fit_gamma",
    "generate",
    "group",
    "join",
    "maximum_likelihood",
    "naive",
    "precision",
    "read",
    "report",
    "simulate",
    "unchanged_given_signals",
    "week_calendar",
]
