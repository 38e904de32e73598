"""`hemeroteca simulate`: what would each visiting policy have seen, lost and cost on a history of changes?"""

import json as jsonlib
import math
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.progress import progress_line

if TYPE_CHECKING:
    from rich.table import Table

    from hemeroteca.predict.policies import Policy
    from hemeroteca.predict.policy_comparison import PolicyComparison
    from hemeroteca.predict.simulator import PolicyOutcome
    from hemeroteca.predict.traces import Trace

ALL = "auto,simple,fixed,simple-notify,simple-history,day-type,exponential,nutch,lambda-crawl"


def simulate(
    trace: Annotated[
        list[Path] | None,
        typer.Option(help="CSV (or .gz) with rows site,page,seconds. May be given again.", show_default=False),
    ] = None,
    process: Annotated[
        list[str] | None,
        typer.Option(
            help="Generated pages: bernoulli, poisson, seasonal, bursty, regime, silent, sections, releases.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[str, typer.Option(help="Policies to compare, with commas; fixed:HOURS too.")] = "auto,simple",
    budget: Annotated[
        str, typer.Option(help="Visits per day over all pages, or same-as:POLICY, or same-as:POLICY/3.")
    ] = "same-as:simple",
    days: Annotated[float, typer.Option(help="Days to simulate; 0: all of the trace (730 of a process).")] = 0.0,
    warmup: Annotated[float, typer.Option(help="First days that are not counted.")] = 60.0,
    seed: Annotated[int, typer.Option(help="Same seed, same result.")] = 0,
    resolution: Annotated[float, typer.Option(help="Hours per step; changes within one count once.")] = 24.0,
    batches: Annotated[int, typer.Option(min=1, help="How often planning runs within a step.")] = 24,
    save: Annotated[
        float, typer.Option(min=0, help="Days' worth of a budget that auto may keep for busier days.")
    ] = 0.0,
    min_changes: Annotated[int, typer.Option(min=0, help="Leave out trace pages with fewer changes.")] = 2,
    pages: Annotated[int, typer.Option(min=1, help="Pages per process.")] = 400,
    signals: Annotated[
        str, typer.Option(help="RECALL,FALSE: share of changes announced, false alarms per page and day.")
    ] = "0,0",
    policy_file: Annotated[
        Path | None, typer.Option(help="Python file with POLICIES = {name: class}.", show_default=False)
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a chart here (SVG).", show_default=False)] = None,
    json: common.Json = False,
) -> None:
    """Compare visiting policies on real or generated histories of change.

    Without --trace and --process, 400 bursty pages are simulated. `--policy all` names every policy.
    """
    from hemeroteca.predict import plot as charts
    from hemeroteca.predict.policy_comparison import compare
    from hemeroteca.predict.simulator import Settings

    names = [name.strip() for name in (ALL if policy == "all" else policy).split(",") if name.strip()]
    try:
        if not (math.isfinite(resolution) and resolution > 0):
            raise ValueError(f"--resolution must be a number of hours greater than zero, not {resolution}")
        more = _load(policy_file) if policy_file else {}
        names += [name for name in more if name not in names]
        history = _history(trace or [], process or [], days, min_changes, pages, seed, resolution)
        settings = Settings(budget, resolution, warmup, batches, seed, _signals(signals), save)
        with progress_line(json) as show:

            def progress(name: str, done: int, of: int) -> None:
                show(done, of, name)

            result = compare(history, names, settings, more=more, progress=progress)
    except ValueError as error:
        common.give_up(str(error), common.USAGE)
    except KeyboardInterrupt:
        common.give_up("stopped; nothing was written", common.INTERRUPTED)
    if plot is not None:
        title = f"{result.pages:,} pages, {result.days - warmup:g} days, {result.visits_per_day:,.1f} visits a day"
        with common.writing(plot):
            plot.write_text(charts.outcomes(result.outcomes, title), encoding="utf-8")
    if json:
        sys.stdout.write(jsonlib.dumps(_facts(result), indent=2) + "\n")
    else:
        _show(result, warmup)


def _history(
    files: list[Path], processes: list[str], days: float, least: int, pages: int, seed: int, step: float
) -> "Trace":
    from hemeroteca.predict import traces

    if days < 0 or not math.isfinite(days):
        raise ValueError(f"--days must be zero or more, not {days}")
    parts = []
    if files:
        real = traces.join([traces.read(path) for path in files])
        real = real.until(days * traces.DAY) if days else real
        parts.append(real.with_at_least(least, step))
    names = processes or ([] if files else ["bursty"])
    length = days or (parts[0].hours / traces.DAY if parts else 730.0)
    parts += [traces.generate(name, pages=pages, days=length, seed=seed) for name in names]
    history = traces.join(parts)
    if len(history) == 0:
        raise ValueError(f"no page of the traces changed at least {least} times; lower --min-changes or add --days")
    return history


def _load(path: Path) -> "dict[str, Callable[..., Policy]]":
    """Policies of a file of the user's own. It is run, so it must be trusted like any program."""
    try:
        found = runpy.run_path(str(path)).get("POLICIES")
    except OSError as error:
        raise ValueError(f"cannot read --policy-file {path}: {error.strerror}") from error
    except Exception as error:
        raise ValueError(f"--policy-file {path} failed: {type(error).__name__}: {error}") from error
    if not isinstance(found, dict) or not found:
        raise ValueError(f"--policy-file {path} must define POLICIES = {{name: class}}")
    return found


def _signals(text: str) -> tuple[float, float]:
    try:
        recall, false = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--signals {text!r} is not RECALL,FALSE such as 0.8,0.01") from None
    if not (0 <= recall <= 1 and 0 <= false < math.inf):
        raise ValueError(f"--signals {text!r}: the recall must be between 0 and 1, the false alarms zero or more")
    return recall, false


def _facts(result: "PolicyComparison") -> dict[str, object]:
    from hemeroteca.predict.simulator import PUBLISHED

    measured = [
        {**o.as_dict(), "detected_share": o.detected_share, "stretch": result.stretch[o.policy]}
        for o in result.outcomes
    ]
    kept = ("policy", "visits", "changes", "detected", "lost", "unnecessary", "bytes_stored")
    published = [{key: o.as_dict()[key] for key in kept} for o in PUBLISHED]
    return {
        "pages": result.pages,
        "days": result.days,
        "visits_per_day": result.visits_per_day,
        "policies": measured,
        "published_2015": published,
    }


def _show(result: "PolicyComparison", warmup: float) -> None:
    from rich.console import Console

    from hemeroteca.predict.simulator import PUBLISHED

    console = Console()
    console.print(
        f"{result.pages:,} pages, {result.days - warmup:g} days counted after {warmup:g}, "
        f"{result.visits_per_day:,.1f} visits a day"
    )
    console.print(_table([_row(o.policy, o) for o in result.outcomes]))
    console.print("\nThe founding work's own table (2015: one site, 137 changes in 241 days)", style="dim")
    console.print(_table([_row(o.policy, o) for o in PUBLISHED]))


COLUMNS = ("policy", "visits", "changes", "lost", "seen", "vain", "fresh", "delay", "stale", "stored")


def _table(rows: list[list[str]]) -> "Table":
    """Narrow enough for 80 columns."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "policy" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _row(name: str, o: "PolicyOutcome") -> list[str]:
    row = [name, f"{o.visits:,}", f"{o.changes:,}", f"{o.lost:,}", f"{o.detected_share:.1%}", f"{o.unnecessary:,}"]
    known = not math.isnan(o.freshness)
    row += [f"{o.freshness:.3f}", f"{o.mean_delay_hours:.1f} h", f"{o.harmonic_staleness:.3f}"] if known else [""] * 3
    return [*row, common.size(o.bytes_stored)]
