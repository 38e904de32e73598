"""`hemeroteca predict`: how good the predictions of this instance are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.predict.calibration import Bin

app = common.Verbs()


@app.command(action="predict.read")
def calibrate(
    bins: Annotated[int, typer.Option(min=2, max=50, help="Rows of the table.")] = 10,
    plot: Annotated[Path | None, typer.Option(help="Draw the reliability plot into this SVG file, or -.")] = None,
    force: common.Force = False,
    background: Annotated[bool, typer.Option("--background", help="As a job of `hemeroteca serve`.")] = False,
    keep: Annotated[bool, typer.Option(help="Let the engine go on with what was learned.")] = True,
    json: common.Json = False,
) -> None:
    """Learn from the whole history of this instance, and compare what was predicted with what came."""
    common.must_be_new(plot, force)
    common.setup(must_exist=True)
    from hemeroteca.cli.job import run_job
    from hemeroteca.predict.calibration import Bin
    from hemeroteca.watch.job_kinds import Calibrate, Calibrated

    facts = run_job("predict.calibrate", Calibrate(bins, keep), Calibrated, json, background).facts
    rows = [Bin(**row) for row in facts["bins"]]
    if plot is not None:
        from hemeroteca.predict.plot import reliability

        with common.outgoing(plot, force, ".svg") as file:
            file.write_text(reliability(rows, "Predicted and observed"), "utf-8")
        if str(plot) == "-":
            return
    if json:
        facts["prior"] = {"shape": facts["prior"]["shape"], "days": facts["prior"]["exposure"]}
        common.tell(facts)
        return
    _print(facts, rows)


def _print(facts: dict[str, Any], rows: "list[Bin]") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("predicted", "observed", "visits", "", box=None, padding=(0, 2, 0, 0))
    for row in rows:
        said, came = round(row.predicted * 40), round(row.observed * 40)
        bar = "".join("┃" if i == said else "█" if i < came else "·" for i in range(41))
        table.add_row(f"{row.predicted:.1%}", f"{row.observed:.1%} ± {row.doubt:.1%}", f"{row.visits:,}", bar)
    console = Console()
    console.print(table, highlight=False)
    console.print(
        f"{facts['visits']:,} visits; said and seen differ by {facts['error']:.1%} on average. "
        f"Log loss {facts['log_loss']:.3f} against {facts['constant_log_loss']:.3f} of always saying the mean.",
        highlight=False,
    )
