"""`hemeroteca predict`: how good the predictions of this instance are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.predict import Calibration

app = typer.Typer(no_args_is_help=True, help="How good the predictions of this instance are.")


@app.command()
def calibrate(
    bins: Annotated[int, typer.Option(min=2, max=50, help="Rows of the table.")] = 10,
    plot: Annotated[Path | None, typer.Option(help="Draw the reliability plot into this SVG file.")] = None,
    keep: Annotated[bool, typer.Option(help="Let the engine go on with what was learned.")] = True,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Learn from the whole history of this instance, and compare what was predicted with what came."""
    common.setup(data, must_exist=True)
    from django.conf import settings

    from hemeroteca.watch import observations

    planner, last, found = observations.calibrated(bins=bins)
    if not found.visits:
        common.give_up(
            "there is no history to learn from yet; watch pages (`hemeroteca watch add`) or import an archive first"
        )
    if keep:
        observations.keep(settings.INSTANCE.data, planner, last)
    if plot is not None:
        from hemeroteca.predict.plot import reliability

        with common.writing(plot):
            plot.write_text(reliability(found.bins, "Predicted and observed"), "utf-8")
    if json:
        shown = ("visits", "error", "log_loss", "constant_log_loss", "brier")
        facts = {name: getattr(found, name) for name in shown}
        facts["prior"] = {"shape": found.prior.shape, "days": found.prior.exposure}
        columns = ("low", "high", "visits", "predicted", "observed", "doubt")
        common.tell(facts | {"bins": [{name: getattr(one, name) for name in columns} for one in found.bins]})
        return
    _print(found)


def _print(found: "Calibration") -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("predicted", "observed", "visits", "", box=None, padding=(0, 2, 0, 0))
    for row in found.bins:
        said, came = round(row.predicted * 40), round(row.observed * 40)
        bar = "".join("┃" if i == said else "█" if i < came else "·" for i in range(41))
        table.add_row(f"{row.predicted:.1%}", f"{row.observed:.1%} ± {row.doubt:.1%}", f"{row.visits:,}", bar)
    console = Console()
    console.print(table, highlight=False)
    console.print(
        f"{found.visits:,} visits; said and seen differ by {found.error:.1%} on average. Log loss {found.log_loss:.3f} "
        f"against {found.constant_log_loss:.3f} of always saying the mean.",
        highlight=False,
    )
