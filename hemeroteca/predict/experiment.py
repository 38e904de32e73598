"""An experiment: policies compared on files, processes or a history of this instance, once or several times."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import msgspec

from . import traces
from .calendars import Calendar, country_calendar, week_calendar
from .policies import Policy
from .policy_comparison import PolicyComparison, Progress, compare
from .simulator import PUBLISHED, PolicyOutcome, Settings
from .traces import Trace

REPEATED = ("visits", "changes", "lost", "lost_by_day", "unnecessary", "bytes_stored")
DEFINITIONS = {
    "lost": "changes − detected; a visit detects all since the last one as one change",
    "lost_by_day": "changes on days without a visit of the page, as the table of 2015 counts them",
    "unnecessary": "visits that found nothing new; in the table of 2015: visits − changes (`surplus`)",
    "lost_by_day_share": "of the page-days counted, as are all percentages of 2015",
    "bytes_copied": "a whole copy at every visit; bytes_stored: copies of what is new, small records of the rest",
}


class Experiment(msgspec.Struct):
    policies: list[str]
    files: list[str] = []
    trace: str = ""  # a history itself, as the CSV text of such a file
    processes: list[str] = []
    subscription: int | None = None  # the history of its pages, of this instance
    budget: str = "same-as:simple"
    days: float = 0.0
    warmup: float = 60.0
    seed: int = 0
    resolution: float = 24.0
    batches: int = 24
    save: float = 0.0
    min_changes: int = 2
    min_importance: float = 0.0
    pages: int = 400
    signals: tuple[float, float] = (0.0, 0.0)
    repeat: int = 1
    start: str = ""  # date of the first day
    country: str = ""
    policy_file: str = ""  # Python file of this machine with more policies; it is run


def load_policies(path: str) -> dict[str, Callable[..., Policy]]:
    """Policies of a file of the user's own. It is run, so it must be trusted like any program. Raises ValueError."""
    try:
        found = runpy.run_path(path).get("POLICIES")
    except OSError as error:
        raise ValueError(f"cannot read --policy-file {path}: {error.strerror}") from error
    except Exception as error:
        raise ValueError(f"--policy-file {path} failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, dict) or not found:
        raise ValueError(f"--policy-file {path} must define POLICIES = {{name: class}}")
    return found


def run(order: Experiment, own: Trace | None = None, progress: Progress | None = None) -> list[PolicyComparison]:
    """`own`: the history of the subscription asked for. Raises ValueError for what cannot be simulated."""
    if not (math.isfinite(order.resolution) and order.resolution > 0):
        raise ValueError(f"--resolution must be a number of hours greater than zero, not {order.resolution}")
    if not 1 <= order.repeat <= 1000:
        raise ValueError(f"--repeat must lie between 1 and 1000, not {order.repeat}")
    if order.repeat > 1 and not order.processes:
        raise ValueError("--repeat draws a process again with other seeds; give --process")
    calendar = calendar_of(order.start, order.country)
    more = load_policies(order.policy_file) if order.policy_file else None
    found = []
    for seed in range(order.seed, order.seed + order.repeat):
        settings = Settings(
            budget=order.budget,
            resolution=order.resolution,
            warmup=order.warmup,
            batches=order.batches,
            seed=seed,
            signals=order.signals,
            save=order.save,
            calendar=calendar,
        )
        found.append(compare(_history(order, own, seed), order.policies, settings, more=more, progress=progress))
    return found


def facts(runs: Sequence[PolicyComparison]) -> dict[str, object]:
    """What is told of an experiment: its first run, intervals over all of them, and the published table."""
    first = runs[0]
    measured = [{**_outcome(o), "stretch": first.stretch[o.policy]} for o in first.outcomes]
    kept = (
        *("policy", "visits", "changes", "detected", "lost", "unnecessary", "bytes_stored", "lost_by_day"),
        "page_days",
    )
    return {
        "pages": first.pages,
        "days": first.days,
        "visits_per_day": first.visits_per_day,
        "policies": measured,
        "repeated": repeated(runs),
        "warnings": first.warnings,
        "definitions": DEFINITIONS,
        "published_2015": [{key: _outcome(o)[key] for key in (*kept, "surplus")} for o in PUBLISHED],
    }


def outcomes(facts: Mapping[str, Any]) -> list[PolicyOutcome]:
    """The outcomes of the first run, of what `facts` told."""
    kept = PolicyOutcome.__dataclass_fields__.keys() - {"groups"}
    return [PolicyOutcome(**{name: row[name] for name in kept}) for row in facts["policies"]]


def repeated(runs: Sequence[PolicyComparison]) -> list[dict[str, object]]:
    """Mean and half width of the 95 % interval of each figure over several runs; empty for one."""
    if len(runs) < 2:
        return []
    rows = []
    for place, outcome in enumerate(runs[0].outcomes):
        row: dict[str, object] = {"policy": outcome.policy, "runs": len(runs)}
        for name in REPEATED:
            values = [float(getattr(run.outcomes[place], name)) for run in runs]
            row[name] = {"mean": fmean(values), "interval": 1.96 * stdev(values) / math.sqrt(len(values))}
        rows.append(row)
    return rows


def calendar_of(start: str, country: str) -> Calendar | None:
    """The calendar of a history; None where nobody said when or where it was."""
    if not start and not country:
        return None
    try:
        first = date.fromisoformat(start) if start else date(2024, 1, 1)
    except ValueError:
        raise ValueError(f"--start {start!r} is not a date; write it like 2024-01-31") from None
    name, _, part = country.partition("-")
    return country_calendar(name.upper(), first, part or None) if country else week_calendar(first)


def _outcome(o: PolicyOutcome) -> dict[str, object]:
    share = o.lost_by_day / o.page_days if o.page_days else 0.0
    return {**o.as_dict(), "detected_share": o.detected_share, "surplus": o.surplus, "lost_by_day_share": share}


def _history(order: Experiment, own: Trace | None, seed: int) -> Trace:
    if order.days < 0 or not math.isfinite(order.days):
        raise ValueError(f"--days must be zero or more, not {order.days}")
    real = [traces.read(Path(name)) for name in order.files] + ([own] if own is not None else [])
    if order.trace:
        real.append(traces.parse(order.trace.splitlines(), "the trace"))
    parts = []
    if real:
        joined = traces.join(real).important(order.min_importance)
        joined = joined.until(order.days * traces.DAY) if order.days else joined
        parts.append(joined.with_at_least(order.min_changes, order.resolution))
    names = order.processes or ([] if real else ["bursty"])
    length = order.days or (parts[0].hours / traces.DAY if parts else 730.0)
    parts += [traces.generate(name, pages=order.pages, days=length, seed=seed) for name in names]
    history = traces.join(parts)
    if len(history) == 0:
        least = order.min_changes
        raise ValueError(f"no page of the traces changed at least {least} times; lower --min-changes or add --days")
    return history
