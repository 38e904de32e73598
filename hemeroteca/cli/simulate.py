"""`hemeroteca simulate`: what would each visiting policy have seen, lost and cost on a history of changes?"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.progress import progress_line

if TYPE_CHECKING:
    from rich.table import Table

    from hemeroteca.predict.experiment import Experiment

ALL = "auto,simple,fixed,simple-notify,simple-history,day-type,exponential,nutch,lambda-crawl"


def simulate(
    trace: Annotated[
        list[Path] | None,
        typer.Option(help="CSV (or .gz) with rows site,page,seconds. May be given again.", show_default=False),
    ] = None,
    process: Annotated[
        list[str] | None,
        typer.Option(
            help="Generated pages: bernoulli, poisson, seasonal, academic, bursty, regime, silent, sections, releases; "
            "with bernoulli:p=.9 or poisson:rate=2 (a day) for all of them.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str, typer.Option(help="Policies to compare, with commas; fixed:HOURS and simple+notify too.")
    ] = "auto,simple",
    budget: Annotated[
        str, typer.Option(help="Visits per day, same-as:POLICY, same-as:POLICY/3, or own: each rule at its own pace.")
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
    repeat: Annotated[int, typer.Option(min=1, max=1000, help="Runs with other seeds; gives 95 % intervals.")] = 1,
    subscription: Annotated[
        int | None, typer.Option(help="The history of this subscription's pages.", show_default=False)
    ] = None,
    start: Annotated[str, typer.Option(help="Date of the first day, such as 2024-01-31.")] = "",
    country: Annotated[str, typer.Option(help="Country whose holidays count, such as ES.")] = "",
    min_importance: Annotated[
        float, typer.Option(min=0, max=1, help="Leave out changes that matter no more than this.")
    ] = 0.0,
    background: Annotated[bool, typer.Option("--background", help="As a job of `hemeroteca serve`.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Write a chart here (SVG); - is standard output.", show_default=False)
    ] = None,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """Compare visiting policies on real or generated histories of change.

    Without --trace and --process, 400 bursty pages are simulated. `--policy all` names every policy.
    """
    from hemeroteca.predict import experiment
    from hemeroteca.predict import plot as charts

    names = [name.strip() for name in (ALL if policy == "all" else policy).split(",") if name.strip()]
    if plot is not None and background:
        common.give_up("--plot draws what comes out; leave --background away", common.USAGE)
    common.must_be_new(plot, force)
    try:
        own = experiment.load_policies(str(policy_file)) if policy_file else {}
        names += [name for name in own if name not in names]
        order = experiment.Experiment(
            policies=names,
            files=[str(path.absolute()) for path in trace or []],
            processes=process or [],
            subscription=subscription,
            budget=budget,
            days=days,
            warmup=warmup,
            seed=seed,
            resolution=resolution,
            batches=batches,
            save=save,
            min_changes=min_changes,
            min_importance=min_importance,
            pages=pages,
            signals=_signals(signals),
            repeat=repeat,
            start=start,
            country=country,
            policy_file=str(policy_file.absolute()) if policy_file else "",
        )
        if background or subscription is not None:
            facts = _as_job(order, json, background)
        else:
            with progress_line(json) as show:

                def progress(name: str, done: int, of: int) -> None:
                    show(done, of, name)

                facts = experiment.facts(experiment.run(order, progress=progress))
    except ValueError as error:
        common.give_up(str(error), common.USAGE)
    except KeyboardInterrupt:
        common.give_up("stopped; nothing was written", common.INTERRUPTED)
    if plot is not None:
        days, visits = facts["days"] - warmup, facts["visits_per_day"]
        title = f"{facts['pages']:,} pages, {days:g} days, {visits:,.1f} visits a day"
        with common.outgoing(plot, force, ".svg") as file:
            file.write_text(charts.outcomes(experiment.outcomes(facts), title), encoding="utf-8")
        if str(plot) == "-":
            return
    if json:
        common.tell(facts)
    else:
        _show(facts, warmup)


def _as_job(order: "Experiment", json: bool, background: bool) -> dict[str, Any]:
    """With what the instance knows, in its list of jobs."""
    common.setup(must_exist=True)
    from hemeroteca.cli.job import run_job
    from hemeroteca.watch.job_kinds import Simulated

    return run_job("predict.simulate", order, Simulated, json, background).facts


def _signals(text: str) -> tuple[float, float]:
    try:
        recall, false = (float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--signals {text!r} is not RECALL,FALSE such as 0.8,0.01") from None
    if not (0 <= recall <= 1 and 0 <= false < math.inf):
        raise ValueError(f"--signals {text!r}: the recall must be between 0 and 1, the false alarms zero or more")
    return recall, false


def _show(facts: dict[str, Any], warmup: float) -> None:
    from rich.console import Console

    console = Console()
    console.print(
        f"{facts['pages']:,} pages, {facts['days'] - warmup:g} days counted after {warmup:g}, "
        f"{facts['visits_per_day']:,.1f} visits a day"
    )
    console.print(_table([_row(o) for o in facts["policies"]]))
    for warning in facts["warnings"]:
        console.print(f"warning: {warning}", style="yellow", highlight=False, width=80)
    for o in facts["policies"]:
        if len(o["groups"]) > 1:
            console.print(_groups(o))
    for o in facts["repeated"]:
        said = ", ".join(f"{name} {o[name]['mean']:,.1f} ± {o[name]['interval']:,.1f}" for name in ("visits", "lost"))
        console.print(f"{o['policy']}, {o['runs']} runs: {said}", highlight=False)
    console.print("\nThe founding work's own table (2015: one site, 137 changes in 241 days)", style="dim")
    console.print(_table([_row(o) for o in facts["published_2015"]]))
    console.print("by day: changes on days without a visit, as 2015 counts; vain: found nothing", style="dim")


COLUMNS = ("policy", "visits", "changes", "lost", "by day", "seen", "vain", "fresh", "delay", "stored")


def _table(rows: list[list[str]], columns: tuple[str, ...] = COLUMNS) -> "Table":
    """Narrow enough for 80 columns."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, justify="left" if column == columns[0] else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _row(o: dict[str, Any]) -> list[str]:
    seen = o["detected"] / o["changes"] if o["changes"] else 1.0
    row = [o["policy"], *(f"{o[name]:,}" for name in ("visits", "changes", "lost", "lost_by_day"))]
    row += [f"{seen:.1%}", f"{o['unnecessary']:,}"]
    row += [f"{o['freshness']:.3f}", f"{o['mean_delay_hours']:.1f} h"] if "freshness" in o else [""] * 2
    return [*row, common.size(o["bytes_stored"])]


def _groups(o: dict[str, Any]) -> "Table":
    names = ("pages", "visits", "changes", "lost", "lost_by_day", "unnecessary")
    rows = [[f"{o['policy']}: {g['group']}", *(f"{g[name]:,}" for name in names)] for g in o["groups"]]
    return _table(rows, ("group", "pages", "visits", "changes", "lost", "by day", "vain"))
