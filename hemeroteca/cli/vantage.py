"""`hemeroteca fleet vantage`: the same pages seen from devices in different countries and networks."""

from typing import Annotated, Any

import msgspec
import typer
from rich.table import Column

from hemeroteca.cli.common import Json, Verbs, actor, answer, by_id, picked, printable, setup, stamp, tell, tell_all
from hemeroteca.warc.timestamps import moment

app = Verbs(help="The same pages seen from devices in different countries and networks.")
Id = Annotated[str, typer.Argument(help="Of the check; `list` shows it.")]


@app.command(action="fleet.vantage")
def order(
    urls: Annotated[list[str], typer.Argument(help="Pages to look at.")],
    user: Annotated[str, typer.Option("--user", help="Whose check it is: a client of the fleet, or an administrator.")],
    title: Annotated[str, typer.Option(help="What it is called.")] = "",
    category: Annotated[str, typer.Option(help="Kind of pages; owners of devices may leave it out.")] = "general",
    country: Annotated[list[str] | None, typer.Option(help="Only from here, two letters; several times.")] = None,
    every_hours: Annotated[int, typer.Option(min=0, help="Again after so many hours; 0: once.")] = 0,
    json: Json = False,
) -> None:
    """Have pages compared, once or again and again; prints the id of the check."""
    setup(must_exist=True)
    from hemeroteca.accounts import Actor
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import vantage

    wanted = vantage.VantageOrder(
        urls=urls, title=title, category=category, countries=country or [], every_hours=every_hours
    )
    made = vantage.order(Actor.of(accounts.find_user(user)), wanted)
    answer(json, _facts(made), str(made.public_id))


@app.command("list", action="fleet.vantages")
def listing(json: Json = False) -> None:
    """Checks, newest first."""
    setup(must_exist=True)
    from hemeroteca.fleet import vantage

    def cells(one: Any) -> tuple[object, ...]:
        due = stamp(moment(one.next_ms)) if one.next_ms else ""
        return one.public_id, one.title, one.owner.name, one.category, len(one.urls), due

    titles = (Column("id", no_wrap=True), "title", "owner", "category", "URLs", "next run")
    tell_all(vantage.checks(actor()), json, titles, cells, _facts)


@app.command(action="fleet.vantages")
def show(
    check: Id,
    run: Annotated[int, typer.Option(min=0, help="Number of a run; 0: the last one.")] = 0,
    json: Json = False,
) -> None:
    """What each place saw: where the pages differ, and who saw it."""
    setup(must_exist=True)
    from hemeroteca.fleet import vantage

    found = vantage.find(actor(), by_id(check, "vantage check", "fleet vantage list"))
    chosen = next((one for one in vantage.runs(found) if not run or one.pk == run), None)
    report = vantage.report(chosen) if chosen is not None else None
    if json:
        tell({**_facts(found), "report": msgspec.to_builtins(report)})
        return
    if report is None:
        typer.echo("no run has begun yet; `hemeroteca serve` begins it")
        return
    typer.echo(f"run {report.run}, {stamp(moment(report.started_ms))}: {report.state}")
    for one in report.urls:
        typer.echo(printable(f"{one.verdict:9} {one.status or '-'} {one.places} places  {one.url}"))
        for other in one.differences:
            who = other.device or "the server"
            place = " ".join(part for part in (other.country, other.network) if part)
            typer.echo(printable(f"          {other.what}: {other.detail} ({who} {place})"))


@app.command(action="fleet.vantages")
def end(check: Id) -> None:
    """No further run begins; what was seen stays."""
    setup(must_exist=True)
    from hemeroteca.fleet import vantage

    found = vantage.find(actor(), by_id(check, "vantage check", "fleet vantage list"))
    vantage.end(actor(), found)
    typer.echo(f"{check} has ended")


def _facts(check: Any) -> dict[str, Any]:
    known = picked(check, "title", "state", "category", "countries", "every_hours", "urls")
    return {"id": str(check.public_id), "owner": check.owner.name, **known}
