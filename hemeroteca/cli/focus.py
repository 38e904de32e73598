"""`hemeroteca focus`: why a focused crawl fetched a page when it did, what it found, and the thesauri it uses."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.focus.thesaurus import Thesaurus
    from hemeroteca.frontier.models import FocusLink

app = common.Verbs()
thesaurus = common.Verbs(help="Thesauri (SKOS) that a focus may name.")
app.add_typer(thesaurus, name="thesaurus")

CrawlNumber = Annotated[int | None, typer.Option(min=1, help="Number of the crawl; the last one that met the page.")]
PARTS = ("score", "inherited", "neighbourhood", "learned", "host_factor", "bound")
RELEVANCE = ("page_relevance", "anchor_relevance", "context_relevance", "address_relevance", "away")


@app.command("explain", action="focus.read")
def explain(
    url: Annotated[str, typer.Argument(help="Address of a page.")], crawl: CrawlNumber = None, json: common.Json = False
) -> None:
    """Why a page was fetched when it was: the links that led to it, and what each promised and brought."""
    common.setup(must_exist=True)
    from hemeroteca import urls
    from hemeroteca.frontier import queries

    try:
        way = queries.way_to(url, crawl)
    except urls.UrlError as error:
        common.give_up(f"{url!r} is not an address ({error})", common.USAGE)
    if not way:
        common.give_up(f"no crawl with a focus has met {url}; `hemeroteca crawl URL --focus geo` begins one")
    if json:
        common.tell({"way": [_facts(link, address) for link, address in way]})
        return
    for link, address in way:
        visited = f"visited as page {link.number:,}" if link.number else "not visited yet"
        result = f": HTTP {link.status}, {link.response_ms} ms, relevance {link.relevance:.2f}" if link.number else ""
        what = f", a target ({link.target})" if link.target else ""
        typer.echo(common.printable(f"{address}\n  {visited}{result}{what}"))
        if not link.parent:
            typer.echo(f"  a seed or a sitemap: score {link.score:.3f}")
            continue
        typer.echo(common.printable(f"  link {link.anchor!r} in {link.context!r}"))
        if link.parent_url:
            typer.echo(common.printable(f"  on {link.parent_url}"))
        typer.echo("  " + ", ".join(f"{name} {getattr(link, name):.3g}" for name in PARTS))
        typer.echo(
            "  relevance: " + ", ".join(f"{n.removesuffix('_relevance')} {getattr(link, n):.2f}" for n in RELEVANCE)
        )


@app.command("finds", action="focus.read")
def finds(
    crawl: Annotated[int | None, typer.Option(min=1, help="Only of this crawl.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All pages visited, not only targets.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Most lines.")] = 100,
    json: common.Json = False,
) -> None:
    """What crawls with a focus found, the last first; with --json a line for each."""
    common.setup(must_exist=True)
    from hemeroteca.frontier import queries

    if crawl is not None and queries.crawl(crawl) is None:
        common.give_up(f"there is no crawl {crawl}; `hemeroteca status` lists them")
    for link, address in queries.focus_links(limit, crawl=crawl, targets=not every):
        common.answer(
            json, _facts(link, address), f"{link.number:>7,}  {link.score:6.3f}  {link.target or '-':<10} {address}"
        )


@thesaurus.command("import", action="focus.import")
def import_(
    name: Annotated[str, typer.Argument(help="Name to keep it under: small letters, like gemet.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILES…", help="SKOS: RDF/XML, Turtle, JSON-LD, N-Triples.")],
    json: common.Json = False,
) -> None:
    """Read the SKOS files of a thesaurus together (structure and labels may stand in several) and keep it."""
    common.setup()
    from hemeroteca.frontier import thesauri

    found = thesauri.import_thesaurus(common.actor(), name, files)
    _print(found, json)


@thesaurus.command("list", action="focus.read")
def list_(json: common.Json = False) -> None:
    """The thesauri that a focus may name."""
    common.setup(must_exist=True)
    from hemeroteca.frontier import thesauri

    for found in thesauri.thesauri(common.actor()):
        _print(found, json)


@thesaurus.command("show", action="focus.read")
def show(name: Annotated[str, typer.Argument(help="Name of the thesaurus.")], json: common.Json = False) -> None:
    """One thesaurus with its themes and groups."""
    common.setup(must_exist=True)
    from hemeroteca.frontier import thesauri

    found = thesauri.one_thesaurus(common.actor(), name)
    themes = [{label.language: label.text for label in group.labels} for group in found.groups]
    if json:
        common.tell({**found.summary(), "themes": themes})
        return
    _print(found, json)
    for theme in themes:
        typer.echo(common.printable("  " + " · ".join(theme.values())))


def _print(found: "Thesaurus", json: bool) -> None:
    facts = found.summary()
    if json:
        common.tell(facts)
        return
    languages = ", ".join(f"{name or 'no language'} {count:,}" for name, count in facts["languages"].items())
    typer.echo(common.printable(f"{found.name}: {facts['concepts']:,} concepts, {facts['groups']:,} themes and groups"))
    typer.echo(common.printable(f"  labels: {languages}"))
    for note in found.notes:
        typer.echo(common.printable(f"  {note}"))


def _facts(link: "FocusLink", address: str) -> dict[str, Any]:
    from hemeroteca.warc.timestamps import moment

    names = ("number", "target", "relevance", "status", "response_ms", "digest", "parent_url", "anchor", "context")
    return {
        "url": address,
        "crawl": link.crawl_id,  # type: ignore[attr-defined]
        **{name: getattr(link, name) for name in (*names, *PARTS, *RELEVANCE)},
        "found_at": moment(link.found_ms),
        "visited_at": moment(link.visited_ms),
    }
