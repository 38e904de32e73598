"""`hemeroteca fleet load-test`: tests of a site by whoever controls it."""

from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Column, Table

from hemeroteca.cli.common import Json, Verbs, actor, answer, by_id, picked, printable, setup, tell, tell_all

app = Verbs(help="Load tests of a site, by whoever proves to control it.")
Id = Annotated[str, typer.Argument(help="Of the test; `list` shows it.")]


@app.command(action="fleet.load")
def propose(
    url: Annotated[str, typer.Argument(help="Page to ask for, again and again.")],
    user: Annotated[str, typer.Option("--user", help="Whose test it is: a client of the fleet, or an administrator.")],
    rate: Annotated[int, typer.Option(min=1, help="Requests per second at the top, of all devices.")] = 10,
    ramp_seconds: Annotated[int, typer.Option(min=1, help="Until the top is reached.")] = 30,
    hold_seconds: Annotated[int, typer.Option(min=1, help="At the top.")] = 60,
    json: Json = False,
) -> None:
    """Propose a test; says which line the site must show, in which file, before it can start."""
    setup(must_exist=True)
    from hemeroteca.accounts import Actor
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import load_tests

    wanted = load_tests.LoadTestOrder(url=url, rate=rate, ramp_seconds=ramp_seconds, hold_seconds=hold_seconds)
    made = load_tests.propose(Actor.of(accounts.find_user(user)), wanted)
    if json:
        tell(_facts(made))
        return
    typer.echo(str(made.public_id))
    typer.echo(
        f"put this line into {load_tests.PATH} of {made.host}, at every address of it: {load_tests.proof(made)}",
        err=True,
    )


@app.command("list", action="fleet.loads")
def listing(json: Json = False) -> None:
    """Tests, newest first."""
    setup(must_exist=True)
    from hemeroteca.fleet import load_tests

    tell_all(
        load_tests.tests(actor()),
        json,
        (Column("id", no_wrap=True), "page", "owner", "state", "per second", "why"),
        lambda one: (one.public_id, one.url, one.owner.name, one.state, one.rate, one.reason),
        _facts,
    )


@app.command(action="fleet.loads")
def start(test: Id, json: Json = False) -> None:
    """Read the proof at every address, and begin; `hemeroteca serve` must run."""
    setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.fleet import load_tests

    found = load_tests.start(
        actor(), load_tests.find(actor(), by_id(test, "load test", "fleet load-test list")), settings.CONFIG
    )
    answer(json, _facts(found), f"{found.host} is tested at {', '.join(found.addresses)}")


@app.command(action="fleet.loads")
def stop(test: Id) -> None:
    """Nothing more is handed out from this moment."""
    setup(must_exist=True)
    from hemeroteca.fleet import load_tests

    found = load_tests.find(actor(), by_id(test, "load test", "fleet load-test list"))
    load_tests.stop(actor(), found)
    typer.echo(f"{test}: {found.state}")


@app.command(action="fleet.loads")
def show(test: Id, json: Json = False) -> None:
    """Requests, errors and percentiles of answer times, second by second."""
    setup(must_exist=True)
    from hemeroteca.fleet import load_tests

    found = load_tests.find(actor(), by_id(test, "load test", "fleet load-test list"))
    report = load_tests.report(found)
    if json:
        tell({**_facts(found), "report": msgspec.to_builtins(report)})
        return
    typer.echo(printable(f"{found.url}: {found.state} {found.reason}".rstrip()))
    typer.echo(f"{report.asked} requests, {report.errors} errors")
    typer.echo(f"answer times: p50 {report.p50} ms, p95 {report.p95} ms, p99 {report.p99} ms")
    table = Table("second", "planned", "asked", "errors", "p50 ms", "p95 ms", "p99 ms")
    for one in report.seconds:
        table.add_row(*(str(value) for value in msgspec.structs.astuple(one)))
    Console().print(table)


def _facts(test: Any) -> dict[str, Any]:
    from hemeroteca.fleet import load_tests

    known = picked(test, "url", "state", "reason", "rate", "ramp_seconds", "hold_seconds", "addresses")
    proof = {"proof_path": load_tests.PATH, "proof": load_tests.proof(test)}
    return {"id": str(test.public_id), "owner": test.owner.name, **known, **proof}
