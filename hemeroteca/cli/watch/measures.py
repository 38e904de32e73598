"""What watching brought and what it cost."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from hemeroteca.cli import common
from hemeroteca.cli.watch import facts, tables
from hemeroteca.cli.watch.session import watching


class By(StrEnum):
    site = "site"
    group = "group"
    behaviour = "behaviour"
    collection = "collection"
    subscription = "subscription"
    all = "all"


def metrics(
    by: Annotated[By, typer.Option(help="What a row is.")] = By.site,
    days: Annotated[float, typer.Option(min=0, max=36_500, help="Only the last days; 0: all.")] = 0.0,
    site: Annotated[str, typer.Option(help="Only of this host.")] = "",
    fixed_hours: Annotated[float, typer.Option(min=0.01, max=87_600, help="Fixed frequency to compare with.")] = 24.0,
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """What watching brought and what it cost, beside a fixed frequency."""
    with watching(data, must_exist=True) as services:
        import msgspec

        from hemeroteca.watch import metrics as measuring

        since = services.now_ms() - int(days * 86_400_000) if days else 0
        rows = measuring.measure(by.value, since_ms=since, fixed_hours=fixed_hours, site=site)
        if as_csv:
            sys.stdout.write(measuring.as_csv(rows))
            return
        if json:
            for row in rows:
                facts.write(msgspec.structs.asdict(row))
            return
        table = []
        for row in rows:
            cells = [
                *(f"{row.pages:,}", f"{row.visits:,}", f"{row.changes:,}", f"{row.lost:.1f}", f"{row.unnecessary:,}"),
                *(common.size(row.generated), common.size(row.stored)),
                f"{row.freshness:.1%}" if row.freshness is not None else "",
                f"{row.delay_hours:.1f} h" if row.delay_hours is not None else "",
            ]
            fixed = f"every {fixed_hours:g} h: {row.fixed_visits:,.0f} visits, {common.size(row.fixed_bytes)}"
            table.append(([*cells, row.name], [fixed]))
        columns = ("pages", "visits", "changes", "lost ≈", "in vain", "received", "stored", "fresh", "delay", by.value)
        tables.show(columns, table, "no visit of a watched page has been counted yet")
