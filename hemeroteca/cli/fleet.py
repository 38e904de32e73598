"""`hemeroteca fleet`: devices people lend, clients, credits, settings, and how it all stands."""

from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Column, Table

from hemeroteca.cli import load_test, vantage
from hemeroteca.cli.common import Json, Verbs, actor, answer, picked, printable, setup, stamp, tell, tell_all, unmarked
from hemeroteca.errors import Invalid
from hemeroteca.warc.timestamps import moment

app = Verbs()
device = Verbs(help="One device: add it, give it a token, pause, suspend, trust it.")
client = Verbs(help="Who may have URLs fetched by the fleet.")
app.add_typer(device, name="device")
app.add_typer(client, name="client")
app.add_typer(vantage.app, name="vantage")
app.add_typer(load_test.app, name="load-test")

Name = Annotated[str, typer.Argument(help="Name of the device.")]
Owner = Annotated[str, typer.Option(help="Who lends it.")]
OwnerMaybe = Annotated[str, typer.Option(help="Whose it is, when several people have one of that name.")]
Days = Annotated[int, typer.Option(min=0, max=36500, help="Its token is valid so long; 0: no end.")]
User = Annotated[str, typer.Argument(help="Name of the person.")]
CLOSED = ("host", "at_ms", "by_owner", "reason")  # what is told of a host that is left alone


@app.command(action="fleet.status")
def status(json: Json = False) -> None:
    """How the fleet stands."""
    setup(must_exist=True)
    from hemeroteca.fleet import queries

    found = queries.status()
    if json:
        tell(found)
        return
    table = Table(show_header=False)
    for name, value in msgspec.to_builtins(found).items():
        shown = ", ".join(f"{key} {one}" for key, one in value.items()) if isinstance(value, dict) else value
        table.add_row(name.replace("_", " "), unmarked(shown))
    Console().print(table)


@app.command(action="fleet.devices")
def devices(owner: OwnerMaybe = "", json: Json = False) -> None:
    """Devices: state, trust, speed, what they did."""
    setup(must_exist=True)
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import queries

    found = queries.devices(actor(), accounts.find_user(owner) if owner else None)
    titles = ("name", "owner", "state", "valid in a row", "URLs", "per second", "credits", "country", "why")

    def cells(one: queries.DeviceFacts) -> tuple[object, ...]:
        numbers = one.score, one.total, f"{one.speed:.1f}", f"{one.credits:.2f}"
        return one.name, one.owner, one.state, *numbers, one.country, one.reason or one.says

    tell_all(found, json, titles, cells)


@app.command(action="fleet.operate")
def credits(  # noqa: A001 - the name of the command
    give: Annotated[str, typer.Option(help="Give this client credits, with --amount.")] = "",
    amount: Annotated[float, typer.Option(help="How many.")] = 0.0,
    csv: Annotated[bool, typer.Option("--csv", help="As CSV.")] = False,
    json: Json = False,
) -> None:
    """Accounts and their balances."""
    setup(must_exist=True)
    from hemeroteca.fleet import queries, services

    if give:
        services.give(actor(), services.find_client(give), amount)
    found = queries.balances(actor())
    if csv:
        typer.echo(queries.as_csv(found), nl=False)
    else:
        titles = ("account", "name", "balance")
        tell_all(found, json, titles, lambda one: (one["account"], one["name"], f"{one['balance']:.2f}"))


@app.command(action="fleet.simulate")
def simulate(
    urls: Annotated[int, typer.Option(min=1000, max=10_000_000, help="How many to fetch.")] = 200_000,
    seed: Annotated[int, typer.Option(help="Of the first fleet.")] = 1,
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="Fleets that are tried, each with the next seed.")] = 5,
    honest: Annotated[int, typer.Option(min=1, help="Devices that do as they should.")] = 60,
    slow: Annotated[int, typer.Option(min=0, help="… ten times slower.")] = 10,
    flaky: Annotated[int, typer.Option(min=0, help="… that often give no answer.")] = 5,
    lying: Annotated[int, typer.Option(min=0, help="… that lie from the start.")] = 7,
    patient: Annotated[int, typer.Option(min=0, help="… that lie once they are believed.")] = 7,
    colluding: Annotated[int, typer.Option(min=0, help="… that tell the same lies.")] = 6,
    hoarding: Annotated[int, typer.Option(min=0, help="… that keep their blocks.")] = 5,
    lie_rate: Annotated[float, typer.Option(min=0.0, max=1.0, help="Of a liar's answers, while it lies.")] = 0.2,
    json: Json = False,
) -> None:
    """Try the rules of trust on invented devices: what stays undetected, and what checking costs."""
    from hemeroteca.fleet import trust_simulator

    mix = trust_simulator.Mix(
        honest=honest, slow=slow, flaky=flaky, lying=lying, patient=patient, colluding=colluding, hoarding=hoarding,
        lie_rate=lie_rate,
    )  # fmt: skip
    found = [trust_simulator.simulate(mix, urls, seed + n) for n in range(seeds)]
    measures = {
        "wrong results that nobody noticed": [one.undetected for one in found],
        "further requests, once trust is built": [one.overhead for one in found],
        "further requests, in the first tenth": [one.overhead_start for one in found],
        "honest devices slowed": [one.honest_slowed / one.devices for one in found],
    }
    if json:
        told = {name: {"mean": sum(values) / seeds, "worst": max(values)} for name, values in measures.items()}
        tell({"seeds": [seed, seed + seeds - 1], "measures": told, "fleets": found})
        return
    typer.echo(f"{mix.liars:.0%} of {found[0].devices} devices lie; {urls:,} URLs; seeds {seed} to {seed + seeds - 1}")
    table = Table("", *(Column(name, justify="right") for name in ("mean", "worst", "to reach")))
    goals = ("≤ 0.1 %", "≤ 12 %", "", "")
    for (name, values), goal in zip(measures.items(), goals, strict=True):
        table.add_row(name, f"{sum(values) / seeds:.3%}", f"{max(values):.3%}", goal)
    Console().print(table)


@app.command("set", action="fleet.operate")
def set_settings(
    settings: Annotated[list[str], typer.Argument(help="strategy=auto, cache_seconds=3600, max_block=64, …")],
    json: Json = False,
) -> None:
    """Change settings while the fleet runs: strategy, cache_seconds, max_block, task_seconds, max_devices, …"""
    setup()
    from hemeroteca.fleet import services

    changes: dict[str, Any] = {}
    for pair in settings:
        name, equals, value = pair.partition("=")
        if not equals:
            raise Invalid(f"{pair!r} is no setting; write NAME=VALUE")
        changes[name.strip()] = value.strip()
    kept = services.change_settings(actor(), changes)
    if json:
        tell(kept)
        return
    for name, value in msgspec.to_builtins(kept).items():
        typer.echo(f"{name} = {value}")


@app.command(action="fleet.operate")
def close(
    host: Annotated[str, typer.Argument(help="Host; all below it too. Without one, those that are closed.")] = "",
    reason: Annotated[str, typer.Option(help="For people.")] = "by the operator",
    json: Json = False,
) -> None:
    """Leave a host alone from now on, leased blocks included; or list the hosts that are left alone."""
    setup(must_exist=not host)
    from hemeroteca.fleet import queries, services

    if not host:
        tell_all(
            queries.closed(),
            json,
            ("host", "since", "by its owner", "why"),
            lambda one: (one.host, stamp(moment(one.at_ms)), "yes" if one.by_owner else "", one.reason),
            lambda one: picked(one, *CLOSED),
        )
        return
    closed = services.close_host(actor(), host, reason)
    answer(json, picked(closed, *CLOSED), f"{closed.host} is closed to the fleet")


@app.command("open", action="fleet.operate")
def open_again(host: Annotated[str, typer.Argument(help="Host.")]) -> None:
    """Let the fleet visit a host again."""
    setup(must_exist=True)
    from hemeroteca.fleet import services

    services.open_host(actor(), host)
    typer.echo(f"{host} is open to the fleet")


@app.command(action="fleet.operate")
def log(json: Json = False) -> None:
    """The audit log, newest first."""
    setup(must_exist=True)
    from hemeroteca.fleet import queries

    for line in queries.log(actor()):
        if json:
            tell(picked(line, "at_ms", "who", "what", "detail"))
        else:
            when = stamp(moment(line.at_ms))
            typer.echo(printable(f"{when} {line.who} {line.what}: {line.detail}"))


@device.command("add", action="fleet.device")
def add_device(name: Name, owner: Owner, days: Days = 0, json: Json = False) -> None:
    """Add a device and print its token, which cannot be shown again."""
    setup(must_exist=True)
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import services

    new = services.add_device(actor(), name, accounts.find_user(owner), days)
    if json:
        tell({"device": new.device.pk, "token": new.token})
        return
    typer.echo(new.token)
    typer.echo(f"for device {new.device.name} of {owner}; keep it now, only its hash is stored", err=True)


@device.command("show", action="fleet.devices")
def show_device(name: Name, owner: OwnerMaybe = "", json: Json = False) -> None:
    """What is known of a device, what it did, and what it did on each of the last thirty days."""
    setup(must_exist=True)
    from hemeroteca.fleet import queries

    row = _find(name, owner)
    (facts,) = [one for one in queries.devices(actor(), row.owner) if one.id == row.pk]
    days = queries.days(actor(), row)
    if json:
        tell({**msgspec.to_builtins(facts), "days": msgspec.to_builtins(days)})
        return
    seen = stamp(moment(facts.seen_ms)) if facts.seen_ms else "never"
    shown = {
        "device": f"{facts.name} of {facts.owner}, number {facts.id}",
        "state": " ".join(part for part in (facts.state, facts.reason or facts.says) if part),
        "last contact": seen,
        "agreed to": ", ".join(facts.activities),
        "kinds of pages": ", ".join(facts.categories),
        "system": facts.system,
        "worker": facts.version,
        "country, network": " ".join(part for part in (facts.country, facts.network) if part),
        "valid in a row": f"{facts.score}; {facts.checked:.0%} of its answers are checked",
        "URLs given, per second": f"{facts.total}, {facts.speed:.1f}",
        "credits": f"{facts.credits:.2f}",
    }
    table = Table(show_header=False)
    for title, value in shown.items():
        table.add_row(title, unmarked(value))
    Console().print(table)
    did = Table(Column("", no_wrap=True), *(Column(name, justify="right") for name in queries.COUNTS))
    worked = [(one.day, one.counts) for one in days if one.requests]
    for when, counts in [("ever", facts.counts), ("today", facts.today), *worked]:
        did.add_row(when, *(str(counts.get(name, 0)) for name in queries.COUNTS))
    Console().print(did)


@device.command("code", action="fleet.device")
def device_code(name: Name, owner: OwnerMaybe = "", json: Json = False) -> None:
    """A one-time code to type on the device within 15 minutes: `worker.pyz --server URL --code CODE`."""
    setup(must_exist=True)
    from hemeroteca.fleet import services

    found = services.make_code(actor(), _find(name, owner))
    answer(json, {"code": found}, found)


@device.command("rotate", action="fleet.device")
def rotate(name: Name, owner: OwnerMaybe = "", days: Days = 0, json: Json = False) -> None:
    """Another token; the old one is valid for an hour more."""
    setup(must_exist=True)
    from hemeroteca.fleet import services

    token = services.rotate_token(actor(), _find(name, owner), days)
    answer(json, {"token": token}, token)


@device.command("revoke", action="fleet.device")
def revoke(name: Name, owner: OwnerMaybe = "") -> None:
    """End its tokens at once."""
    setup(must_exist=True)
    from hemeroteca.fleet import services

    services.revoke_token(actor(), _find(name, owner))
    typer.echo(f"{name} has no valid token any more")


@device.command("set", action="fleet.device")
def set_device(
    name: Name,
    state: Annotated[str, typer.Option(help="active, paused, suspended or expelled.")] = "",
    reason: Annotated[str, typer.Option(help="Why, for its owner.")] = "",
    trusted: Annotated[bool | None, typer.Option("--trusted/--not-trusted", help="It may check others.")] = None,
    listed: Annotated[bool | None, typer.Option("--listed/--not-listed", help="On the leaderboard.")] = None,
    owner: OwnerMaybe = "",
) -> None:
    """Pause, suspend, expel or trust a device, or let it work again."""
    setup(must_exist=True)
    from hemeroteca.fleet import services
    from hemeroteca.fleet.models import Device

    found = _find(name, owner)
    if state:
        if state not in Device.State.values:
            raise Invalid(f"{state!r} is no state of a device; write one of: {', '.join(Device.State.values)}")
        services.set_state(actor(), found, Device.State(state), reason)
    if trusted is not None:
        services.set_trusted(actor(), found, trusted)
    if listed is not None:
        services.list_device(actor(), found, listed)
    typer.echo(f"{name}: {found.state}")


@client.command("add", action="fleet.ask")
def add_client(
    user: User,
    purpose: Annotated[str, typer.Option(help="What the fleet would fetch, and why.")],
    approve: Annotated[bool, typer.Option("--approve", help="Approve it at once.")] = False,
) -> None:
    """Let a person ask to be a client."""
    setup(must_exist=True)
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import services

    new = services.ask(actor(), accounts.find_user(user), purpose)
    if approve:
        services.approve(actor(), new)
    typer.echo(f"{user} {'is a client' if approve else 'asks to be a client'} of the fleet")


@client.command("approve", action="fleet.operate")
def approve_client(
    user: User,
    credits: Annotated[  # noqa: A002 - the name of the option
        int, typer.Option(min=0, help="To begin with.")
    ] = 1000,
    per_day: Annotated[int, typer.Option(min=1, help="Most URLs in a day.")] = 10_000,
) -> None:
    """Approve a client and its purpose."""
    setup(must_exist=True)
    from hemeroteca.fleet import services

    services.approve(actor(), services.find_client(user), credits, per_day)
    typer.echo(f"{user} is a client of the fleet")


@client.command("refuse", action="fleet.operate")
def refuse_client(user: User, reason: Annotated[str, typer.Option(help="Why.")]) -> None:
    """Refuse a client, or end its approval."""
    setup(must_exist=True)
    from hemeroteca.fleet import services

    services.refuse(actor(), services.find_client(user), reason)
    typer.echo(f"{user} is no client of the fleet")


@client.command("list", action="fleet.operate")
def list_clients(json: Json = False) -> None:
    """Clients and what they want."""
    setup(must_exist=True)
    from hemeroteca.fleet import queries

    tell_all(
        queries.clients(actor()),
        json,
        ("user", "state", "purpose", "URLs a day"),
        lambda one: (one.owner.name, one.state, one.purpose, one.per_day),
        lambda one: {"user": one.owner.name, **picked(one, "state", "purpose", "per_day")},
    )


@app.command(action="fleet.operate")
def complaint(
    number: Annotated[int, typer.Argument(help="Number of the result; 0 lists open complaints.")] = 0,
    uphold: Annotated[bool | None, typer.Option("--uphold/--deny", help="What you decide.")] = None,
    json: Json = False,
) -> None:
    """List open complaints about results, or decide one; one that is upheld is refunded."""
    setup(must_exist=True)
    from hemeroteca.fleet import fetches, queries

    if number:
        if uphold is None:
            raise Invalid(f"say what you decide about the complaint {number}: --uphold or --deny")
        typer.echo(f"{number}: {fetches.decide(actor(), number, uphold).complaint_state}")
        return
    tell_all(
        queries.complaints(actor()),
        json,
        ("number", "URL", "status", "devices", "complaint"),
        lambda one: (one.pk, one.url, one.status, ", ".join(one.devices), one.complaint),
        lambda one: {"number": one.pk, **picked(one, "url", "status", "devices", "complaint")},
    )


def _find(name: str, owner: str) -> Any:
    from hemeroteca.accounts import services as accounts
    from hemeroteca.fleet import services

    return services.find_device(name, accounts.find_user(owner) if owner else None)
