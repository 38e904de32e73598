"""`hemeroteca geo`: geographic services, found, looked at and handed on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hemeroteca.cli import common
from hemeroteca.cli.job import Background

if TYPE_CHECKING:
    from hemeroteca.geo.description import Description
    from hemeroteca.geo.models import Layer, Service

app = common.Verbs()


@app.command("inspect", action="geo.inspect")
def inspect(
    sources: Annotated[list[str], typer.Argument(metavar="FILE|URL…", help="Documents, or - for standard input.")],
    json: common.Json = False,
) -> None:
    """Tell which service or dataset a document describes, and what it offers; or why it is none."""
    failed = False
    for source in sources:
        description = _describe(source)
        failed |= description is None
        if description is None:
            continue
        if json:
            common.tell({"file": source, **_facts(description)})
        else:
            _show(source, description)
    if failed:
        raise typer.Exit(1)


def _describe(source: str) -> "Description | None":
    from hemeroteca.geo.detection import describe

    if source.startswith(("http://", "https://")):
        from hemeroteca.fetch.client import GuardedClient

        reply = GuardedClient(common.settings()).send(source, max_bytes=MAX_BYTES, redirects=5)
        if not reply.ok:
            typer.echo(f"hemeroteca: {common.printable(source)} was not fetched: {reply.reason}", err=True)
            return None
        return describe(reply.body, reply.content_type, reply.url)
    try:
        body = sys.stdin.buffer.read(MAX_BYTES) if source == "-" else _read(Path(source))
    except OSError as error:
        typer.echo(f"hemeroteca: {common.printable(source)} cannot be read: {error.strerror or error}", err=True)
        return None
    return describe(body)


MAX_BYTES = 64 << 20


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES)


def _facts(description: "Description") -> dict[str, object]:
    """All that is known, with every field that programs may rely on, be it empty."""
    import msgspec

    found = msgspec.to_builtins(description)
    if not description.type:
        return {"type": None, "reason": description.reason, **{k: found[k] for k in ("notes", "links") if k in found}}
    always = {name: getattr(description, name) for name in ALWAYS}
    return {**msgspec.to_builtins(always), **{name: value for name, value in found.items() if name not in ALWAYS}}


ALWAYS = (
    "type", "version", "title", "abstract", "endpoint", "layers", "bbox", "temporal", "crs", "formats", "keywords",
    "provider", "contact", "licence",
)  # fmt: skip


def _show(source: str, description: "Description") -> None:
    shown = common.printable
    if not description.type:
        typer.echo(f"{shown(source)}: no service ({shown(description.reason)})")
        return
    version = f" {description.version}" if description.version else ""
    typer.echo(f"{shown(source)}: {description.type}{version}  {shown(description.title)}")
    if description.endpoint:
        typer.echo(f"  endpoint  {shown(description.endpoint)}")
    if description.bbox:
        typer.echo(f"  extent    {', '.join(f'{side:g}' for side in description.bbox)}")
    if description.layers:
        names = ", ".join(layer.name for layer in description.layers[:8])
        more = f" … ({len(description.layers)} in all)" if len(description.layers) > 8 else ""
        typer.echo(f"  layers    {shown(names)}{more}")
    for note in description.notes:
        typer.echo(f"  note      {shown(note)}")


Words = Annotated[list[str] | None, typer.Argument(metavar="WORDS…", help="Words that must occur; none: all services.")]
Number = Annotated[str, typer.Argument(metavar="SERVICE", help="Number or identifier, as `geo search` shows it.")]
Box = Annotated[str, typer.Option("--bbox", metavar="W,S,E,N", help="Touching this box, in degrees.")]
Types = Annotated[list[str] | None, typer.Option("--type", help="Of this type: wms, wfs, …; may be repeated.")]


@app.command("search", action="geo.read")
def search(
    words: Words = None,
    bbox: Box = "",
    type_: Types = None,
    provider: Annotated[str, typer.Option(help="Provided by, a part of the name.")] = "",
    keyword: Annotated[str, typer.Option(help="With this keyword, or a label of the same concept.")] = "",
    licence: Annotated[str, typer.Option(help="With this licence, like CC-BY.")] = "",
    country: Annotated[str, typer.Option(help="Of this country, as statistics name it.")] = "",
    time: Annotated[str, typer.Option(metavar="BEGIN/END", help="With data of this time, like 2001/2010.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Also what is gone or closed, and mirrors.")] = False,
    layers: Annotated[bool, typer.Option("--layers", help="With their layers.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most services shown.")] = 20,
    geojson: Annotated[bool, typer.Option("--geojson", help="As a GeoJSON FeatureCollection.")] = False,
    json: common.Json = False,
) -> None:
    """Find geographic services by words, place, type, provider, keyword and time."""
    common.setup(must_exist=True)
    from hemeroteca.geo import queries, records

    begin, end = queries.parse_span(time) if time else ("", "")
    wish = queries.ServiceQuery(
        words=" ".join(words or ()),
        bbox=queries.parse_bbox(bbox) if bbox else None,
        types=queries.parse_types(type_ or ()),
        provider=provider,
        keyword=keyword,
        licence=licence,
        country=country,
        begin=begin,
        end=end,
        states=() if all_ else queries.SHOWN,
        mirrors=all_,
    )
    found, total = queries.search(common.actor(), wish, limit)
    inside = queries.layers_of(found) if layers else {}
    if geojson:
        features = [records.feature(one, "", inside.get(one.pk)) for one in found]
        common.tell({"type": "FeatureCollection", "numberMatched": total, "features": features})
        return
    for service in found:
        if json:
            common.tell(_entry(service, inside.get(service.pk)))
            continue
        box = "" if service.bbox is None else "  [" + ", ".join(f"{side:g}" for side in service.bbox) + "]"
        state = "" if service.state == "alive" else f"  ({service.state}: {common.printable(service.reason)})"
        title = common.printable(service.title or "untitled")
        typer.echo(f"{service.pk:>6}  {service.type:<16} {title}{box}{state}")
        typer.echo(f"        {common.printable(service.public_endpoint)}")
    if not json:
        typer.echo(f"{len(found)} of {total}", err=True)


@app.command("show", action="geo.read")
def show(
    number: Number,
    iso19139: Annotated[bool, typer.Option("--iso19139", help="As ISO 19139 metadata.")] = False,
    qlr: Annotated[bool, typer.Option("--qlr", help="As a layer definition of QGIS.")] = False,
    json: common.Json = False,
) -> None:
    """Everything known of a service: what it offers, where it was found, how it stands."""
    common.setup(must_exist=True)
    from hemeroteca.geo import queries, records, services

    service = services.find(number)
    if iso19139 or qlr:
        try:
            write = records.iso19139 if iso19139 else records.qlr
            typer.echo(write(service, queries.layers(service)))
        except ValueError as error:
            common.give_up(str(error))
        return
    entry = _entry(service, queries.layers(service)) | {"health": queries.health(service)}
    if json:
        common.tell(entry)
        return
    for name, value in common.with_times({**entry, "layers": None}).items():
        if said := _said(value):
            typer.echo(f"{name:<12} {common.printable(said)}")
    for layer in queries.layers(service)[:200]:
        typer.echo(f"  {common.printable(layer.name)}  {common.printable(layer.title)}")


@app.command("add", action="geo.add")
def add(
    url: Annotated[str, typer.Argument(help="Any address of a service, or of a page that leads to some.")],
    json: common.Json = False,
) -> None:
    """Visit an address, ask what services are there, and put them into the catalogue."""
    from hemeroteca.cli.crawl import own_readers, run_crawl

    readers = own_readers()
    common.setup()
    from hemeroteca.geo import queries, visit_orders
    from hemeroteca.geo.models import Service

    crawl = visit_orders.add(common.actor(), url)
    run_crawl(crawl.pk, json, readers)
    found = list(Service.objects.filter(seen_ms__gte=crawl.created_ms, crawl=crawl) | visit_orders.known_at(url))
    for service in found:
        common.answer(
            json,
            _entry(service, queries.layers(service)),
            f"{service.pk:>6}  {service.type:<16} {common.printable(service.title)}",
        )
    if not found:
        common.give_up(f"no geographic service was found at {url}; `hemeroteca geo inspect {url}` tells what it is")


@app.command("claim", action="geo.claim")
def claim(number: Number) -> None:
    """Say that a service is yours; then you may withdraw it."""
    common.setup(must_exist=True)
    from hemeroteca.geo import services

    service = services.claim(common.actor(), number)
    typer.echo(f"service {service.pk} is claimed")


@app.command("withdraw", action="geo.withdraw")
def withdraw(
    number: Number,
    reason: Annotated[str, typer.Option(help="Why, for people.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Put it back.")] = False,
) -> None:
    """Take a service out of the catalogue; it stays out when it is found again."""
    common.setup(must_exist=True)
    from hemeroteca.geo import services

    if undo:
        service = services.restore(common.actor(), number)
    else:
        service = services.withdraw(common.actor(), number, reason)
    typer.echo(f"service {service.pk} is {service.state}")


@app.command("stats", action="geo.read")
def stats(json: common.Json = False) -> None:
    """How many services there are now and were ever, by type, software, country, licence and state."""
    common.setup(must_exist=True)
    from hemeroteca.geo import queries

    facts = queries.statistics(common.actor())
    if json:
        common.tell(facts)
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            typer.echo(name)
            for key, count in list(value.items())[:30]:
                told = ", ".join(f"{one} {n}" for one, n in count.items()) if isinstance(count, dict) else count
                typer.echo(f"  {key:<24} {told}")
        else:
            typer.echo(f"{name:<26} {value}")


Form = Literal["csv", "geojson", "gpkg"]


@app.command("export", action="geo.export")
def export(
    target: Annotated[
        Path,
        typer.Argument(help="A folder for all documents, or a file .csv, .geojson or .gpkg; `-` is standard output."),
    ],
    type_: Types = None,
    form: Annotated[Form | None, typer.Option("--format", help="Else by the name of the file.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Also what is gone or closed, and mirrors.")] = False,
    force: common.Force = False,
    json: common.Json = False,
) -> None:
    """The catalogue as CSV, GeoJSON or GeoPackage; into a folder, all documents as received, with an index.csv."""
    common.setup(must_exist=True)
    from hemeroteca.geo import catalogue_files, queries

    wish = queries.ServiceQuery(
        types=queries.parse_types(type_ or ()), states=() if all_ else queries.SHOWN, mirrors=all_
    )
    actor = common.actor()
    kind = f".{form}" if form else target.suffix.lower()
    if str(target) == "-" and not kind:
        common.give_up("standard output does not tell the format; say --format csv, geojson or gpkg", common.USAGE)
    with common.outgoing(target, force) as path:
        count = 0
        if kind == ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                count = catalogue_files.write_csv(queries.every(actor, wish), file)
        elif kind in (".geojson", ".json"):
            with path.open("w", encoding="utf-8") as file:
                count = catalogue_files.write_geojson(queries.every(actor, wish), file, "")
        elif kind == ".gpkg":
            count = catalogue_files.write_geopackage(queries.every(actor, wish), path)
        if kind in (".csv", ".geojson", ".json", ".gpkg"):
            done = catalogue_files.ExportedCatalogue(str(target), count)
        else:
            done = catalogue_files.write_documents(actor, wish, path)
    if str(target) == "-":
        return
    if json:
        common.tell(done)
        return
    documents = f", {done.documents} documents" if done.documents else ""
    typer.echo(f"{done.services} services{documents} → {common.printable(done.target)}")


@app.command("harvest", action="geo.harvest")
def harvest(
    url: Annotated[str, typer.Argument(help="Address of a catalogue.")],
    kind: Annotated[
        str, typer.Option(help="csw, records, stac, ckan, dcat, arcgis, oai, waf, …; none: found out.")
    ] = "",
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Read another catalogue to its end, and visit the services that are new or changed there."""
    from hemeroteca.cli.crawl import own_readers, run_crawl

    readers = own_readers()
    common.setup()
    from hemeroteca.cli.job import run_job
    from hemeroteca.geo.job_kinds import Harvested, HarvestOrder

    done = run_job("geo.harvest", HarvestOrder(url, kind), Harvested, json, background)
    if done.crawl is not None:
        run_crawl(done.crawl, json, readers)
    common.answer(
        json,
        done,
        f"{done.records} records ({done.kind}): {done.added} added, {done.changed} changed, "
        f"{done.vanished} vanished, {done.failed} failed; {done.addresses} services visited",
    )
    if done.failed:
        common.give_up(f"the harvest ended early: {done.reason}")


@app.command("check", action="geo.check")
def check(
    numbers: Annotated[list[int] | None, typer.Argument(metavar="SERVICE…", help="None: those that are due.")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Ask for a small map or a feature too.")] = False,
    every: Annotated[float, typer.Option(min=0, help="Hours after which a service is due.")] = 24.0,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most services looked at.")] = 1000,
    background: Background = False,
    json: common.Json = False,
) -> None:
    """Look whether services work; their states and reliability follow from it."""
    common.setup(must_exist=True)
    from hemeroteca.cli.job import run_job
    from hemeroteca.geo.job_kinds import CheckOrder, CheckReport

    order = CheckOrder(numbers or [], deep, limit, every)
    done = run_job("geo.check", order, CheckReport, json, background)
    if json:
        common.tell(done)
        return
    for change in done.changes:
        typer.echo(f"{change.service:>6}  {change.before} → {change.after}  {common.printable(change.reason)}")
    typer.echo(f"{done.services} looked at, {done.failed} do not work")


def _said(value: object) -> str:
    """A fact for people: what is inside it without brackets; empty when it says nothing."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {said}" for name, inner in value.items() if (said := _said(inner)))
    if isinstance(value, list | tuple):
        return ", ".join(said for inner in value if (said := _said(inner)))
    return "" if value is None else str(value)


def _entry(service: "Service", layers: "list[Layer] | None") -> dict[str, object]:
    """An entry of the catalogue for programs."""
    facts = {
        "id": service.pk,
        "endpoint": service.public_endpoint,
        "temporal": [service.begin, service.end] if service.begin or service.end else None,
        **common.picked(
            service, "identifier", "type", "version", "title", "abstract", "bbox", "keywords", "crs", "formats",
            "provider", "contact", "licence", "country", "software", "state", "reason", "found_on", "way", "found_ms",
            "seen_ms", "layers_count",
        ),
    }  # fmt: skip
    if layers is not None:
        facts["layers"] = [common.picked(one, "name", "title", "bbox", "crs", "styles") for one in layers]
    return facts
