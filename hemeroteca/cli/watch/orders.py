"""What people order: begin, change, pause and end subscriptions, and let them learn from the archive."""

from typing import Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.job import Background, run_job
from hemeroteca.cli.watch import facts, options
from hemeroteca.cli.watch.session import find_owner, watching


def add(
    urls: Annotated[list[str], typer.Argument(help="Pages or sites to watch.")],
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    scope: Annotated[
        options.ScopeName | None, typer.Option(help="What belongs to it; default: host for a front page.")
    ] = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Most links away from the address.")] = None,
    collection: Annotated[str, typer.Option(help="Collection it belongs to; made when it is new.")] = "",
    purpose: Annotated[str, typer.Option(help="Why it is watched.")] = "",
    threshold: Annotated[float, typer.Option(help="F(μ): how much must differ to be important.")] = 0.05,
    ignore: options.Ignore = None,
    keep: options.Keep = None,
    ignore_text: options.IgnoreText = None,
    mode: Annotated[str, typer.Option(help="auto, `fixed HOURS`, or another policy.")] = "auto",
    min_hours: Annotated[float, typer.Option(help="Never visit a page more often.")] = 0.0,
    max_hours: Annotated[float, typer.Option(help="Never leave a page alone longer; 0: 720.")] = 0.0,
    weight: Annotated[float, typer.Option(help="What its changes are worth against others'.")] = 1.0,
    visits_per_day: Annotated[int, typer.Option(help="Most visits a day; 0: no limit of its own.")] = 0,
    bytes_per_day: Annotated[int, typer.Option(help="Most bytes a day; 0: no limit of its own.")] = 0,
    window: options.Windows = None,
    country: Annotated[str, typer.Option(help="Whose holidays count, like ES or VE.")] = "",
    requisites: Annotated[bool, typer.Option(help="Fetch images, styles and scripts too.")] = True,
    owner: Annotated[str, typer.Option(help="User it belongs to.")] = "",
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Watch pages or sites: `hemeroteca serve` visits them when they are likely to have changed."""
    with watching(data) as services:
        user = find_owner(owner)
        for url in urls:
            order = services.Order(
                url=url,
                name=name,
                scope=scope.value if scope else "",
                include=include or (),
                exclude=exclude or (),
                depth=depth,
                collection=collection,
                purpose=purpose,
                threshold=threshold,
                ignore=ignore or (),
                keep=keep or (),
                ignore_text=ignore_text or (),
                mode=mode,
                min_hours=min_hours,
                max_hours=max_hours,
                weight=weight,
                visits_per_day=visits_per_day,
                bytes_per_day=bytes_per_day,
                windows=window or (),
                country=country,
                requisites=requisites,
            )
            made, new = services.subscribe(order, user)
            if json:
                facts.write({**facts.of(made), "new": new})
            else:
                typer.echo(f"{made.pk}  {made.url}" + ("" if new else "  (was watched already)"))


def edit(
    number: options.Number,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]…", help="The same as options; lists with `|` in them.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call it; empty: its address.")] = None,
    scope: Annotated[options.ScopeName | None, typer.Option(help="What belongs to it.")] = None,
    include: options.Include = None,
    exclude: options.Exclude = None,
    depth: Annotated[int | None, typer.Option(min=-1, help="Most links away from the address; -1: no limit.")] = None,
    collection: Annotated[str | None, typer.Option(help="Collection it belongs to; empty: none.")] = None,
    purpose: Annotated[str | None, typer.Option(help="Why it is watched.")] = None,
    threshold: Annotated[float | None, typer.Option(help="F(μ): how much must differ to be important.")] = None,
    ignore: options.Ignore = None,
    keep: options.Keep = None,
    ignore_text: options.IgnoreText = None,
    mode: Annotated[str | None, typer.Option(help="auto, `fixed HOURS`, or another policy.")] = None,
    min_hours: Annotated[float | None, typer.Option(help="Never visit a page more often; 0: no own limit.")] = None,
    max_hours: Annotated[float | None, typer.Option(help="Never leave a page alone longer; 0: 720.")] = None,
    weight: Annotated[float | None, typer.Option(help="What its changes are worth against others'.")] = None,
    visits_per_day: Annotated[int | None, typer.Option(help="Most visits a day; 0: no limit of its own.")] = None,
    bytes_per_day: Annotated[int | None, typer.Option(help="Most bytes a day; 0: no limit of its own.")] = None,
    window: options.Windows = None,
    country: Annotated[str | None, typer.Option(help="Whose holidays count, like ES or VE; empty: none.")] = None,
    requisites: Annotated[bool | None, typer.Option(help="Fetch images, styles and scripts too.")] = None,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Change a subscription; what is not named stays: `edit 3 --mode simple --max-hours 48`. `--window ''` empties."""
    given: dict[str, Any] = {
        "name": name,
        "scope": scope.value if scope else None,
        "include": include,
        "exclude": exclude,
        "collection": collection,
        "purpose": purpose,
        "threshold": threshold,
        "ignore": ignore,
        "keep": keep,
        "ignore_text": ignore_text,
        "mode": mode,
        "min_hours": min_hours,
        "max_hours": max_hours,
        "weight": weight,
        "visits_per_day": visits_per_day,
        "bytes_per_day": bytes_per_day,
        "windows": window,
        "country": country,
        "requisites": requisites,
    }
    wanted = {key: value for key, value in given.items() if value is not None}
    if depth is not None:
        wanted["depth"] = depth if depth >= 0 else None
    with watching(data, must_exist=True) as services:
        wanted |= _changes(changes or [])
        if not wanted:
            raise services.WatchError("nothing to change was named; give options, such as --mode simple (see --help)")
        row = services.edit(number, wanted)
        if json:
            facts.write(facts.of(row))
        else:
            typer.echo(f"{row.pk}  {row.url}  {facts.mode(row)}")


def pause(number: options.Number, data: common.Data = None) -> None:
    """Stop visiting a subscription until `resume`."""
    with watching(data, must_exist=True) as services:
        typer.echo(f"{services.pause(number).url} is paused")


def resume(number: options.Number, data: common.Data = None) -> None:
    """Go on with a paused subscription."""
    with watching(data, must_exist=True) as services:
        typer.echo(f"{services.resume(number).url} is active")


def remove(number: options.Number, data: common.Data = None) -> None:
    """End a subscription; everything captured and observed stays."""
    with watching(data, must_exist=True) as services:
        services.remove(number)
        typer.echo(f"subscription {number} has ended")


def learn(
    number: options.Number,
    background: Background = False,
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Learn from the captures the archive already has of a subscription's pages."""
    with watching(data, must_exist=True) as services:
        from hemeroteca.watch.jobs import Learn, Learned

        services.find(number)
        done = run_job("watch.learn", Learn(number), Learned, json, background)
    if json:
        common.tell(done)
    else:
        typer.echo(f"{done.observations} observations learned")


def _changes(given: list[str]) -> dict[str, Any]:
    from hemeroteca.watch import imports, services

    changes: dict[str, Any] = {}
    for change in given:
        name, equals, value = change.partition("=")
        if not equals:
            raise services.WatchError(f"{change!r} is not NAME=VALUE, like max_hours=48")
        name = name.strip()
        if not value and name == "depth":
            changes[name] = None
        elif not value and name in imports.NUMBERS | imports.FLOATS:
            changes[name] = 0
        else:
            changes[name] = imports.convert(name, value)
    return changes
