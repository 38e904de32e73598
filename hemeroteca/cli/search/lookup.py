"""Verbs that look something up: what people type, why it stands there, how it may go on."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hemeroteca.cli import common
from hemeroteca.cli.common import rfc3339
from hemeroteca.cli.search.shared import Limit, errors_in_a_line, open_for, tagged_for

if TYPE_CHECKING:
    from hemeroteca.search.results import Hit

_BOLD, _PLAIN = "\ue000", "\ue001"  # stand for the terminal's, until what pages say is made harmless


def find(
    query: Annotated[list[str], typer.Argument(help="Words and operators; see docs/reference/search.md.")],
    limit: Limit = 10,
    cursor: Annotated[str, typer.Option(help="Go on where a page of results ended.", show_default=False)] = "",
    sort: Annotated[str, typer.Option(help="relevance, newest, oldest or captured.")] = "relevance",
    facets: Annotated[bool, typer.Option("--facets", help="Count results by host, language, type, year.")] = False,
    semantic: Annotated[bool, typer.Option("--semantic", help="Order by meaning too (extra `semantic`).")] = False,
    versions: Annotated[bool, typer.Option("--versions", help="Search all versions; `at:` does so by itself.")] = False,
    each: Annotated[bool, typer.Option("--each", help="Pages with about the same text one by one.")] = False,
    json: common.Json = False,
) -> None:
    """Look something up (the word `find` may be left out)."""
    from hemeroteca.search.index.version_index import has_versions
    from hemeroteca.search.preferences import load_preferences
    from hemeroteca.search.results import SearchOptions

    text = " ".join(query)
    _, searcher, path = open_for(text, versions)
    if sort not in ("relevance", "newest", "oldest", "captured"):
        common.give_up(f"--sort {sort} is not known; use relevance, newest, oldest or captured", common.USAGE)
    with errors_in_a_line():
        judged = load_preferences(path)
        options = SearchOptions(
            facets=facets, sort=sort, semantic=semantic, group=not each, preferences=judged, tagged=tagged_for(text)
        )
        found = searcher.search(text, limit=limit, cursor=cursor, options=options)
    if json:
        for hit in found.hits:
            common.tell(_facts(hit))
    for note in found.notes:
        typer.echo(f"note: {common.printable(note)}", err=True)
    if found.suggestion:
        typer.echo(f"did you mean: {common.printable(found.suggestion)}", err=json)
    if json:
        return
    for hit in found.hits:
        _show(hit, searcher.of_versions)
    about = "" if found.exact else "about "
    typer.echo(f"{about}{found.total:,} results" if found.total != 1 else "1 result")
    if not found.total and not searcher.of_versions and has_versions(path):
        typer.echo("`--versions` looks in past versions of pages too")
    for name, counts in found.facets.items():
        if counts:
            listed = ", ".join(f"{value or '?'} {count:,}" for value, count in counts)
            typer.echo(f"  {name}: {common.printable(listed)}")
    if found.cursor:
        typer.echo(f"more: --cursor {found.cursor}")


def explain(
    query: Annotated[str, typer.Argument(help="The query.")],
    url: Annotated[str, typer.Argument(help="Address (or id of an imported document) of a result.")],
    json: common.Json = False,
) -> None:
    """Show why a result stands where it does."""
    from hemeroteca.search.preferences import load_preferences
    from hemeroteca.search.results import SearchOptions
    from hemeroteca.search.score_explanation import PAGES, RESULTS, explained

    _, searcher, path = open_for()
    with errors_in_a_line():
        why = explained(
            searcher, query, url, SearchOptions(preferences=load_preferences(path), tagged=tagged_for(query))
        )
    if json:
        common.tell(why)
        return
    typer.echo(
        f"result {why.place}"
        if why.place
        else f"not among the first {PAGES * RESULTS}, or hidden as a copy of one of them"
    )
    typer.echo(f"score {why.score:.3f} = text {why.text_score:.3f}", nl=False)
    typer.echo("".join(f" × {name} {factor:.3f}" for name, factor in why.factors.items()))
    for name, part in why.parts.items():
        typer.echo(f"\n{name}: {part.score:.3f}")
        if part.each:
            typer.echo("  " + ", ".join(f"{common.printable(term)} {score:.3f}" for term, score in part.each.items()))
        if part.how is not None:
            _show_part(part.how, 1)


def suggest(
    text: Annotated[list[str], typer.Argument(help="What was typed so far; end with a space for the next word.")],
    limit: Limit = 8,
    json: common.Json = False,
) -> None:
    """Show how a query may go on, or what was meant."""
    from hemeroteca.search.suggest.suggester import Suggester

    _, searcher, path = open_for()
    suggester = Suggester.load(path / "suggest")
    if suggester is None:
        common.give_up("nothing was learned yet; run `hemeroteca search learn`")
    typed = " ".join(text)
    completions, meant = suggester.complete(typed, limit), suggester.correct(typed, True, searcher.is_known)
    if json:
        common.tell({"completions": [c.text for c in completions], "did_you_mean": meant})
        return
    if meant:
        typer.echo(f"did you mean: {common.printable(meant)}")
    for completion in completions:
        typer.echo(common.printable(completion.text))


def _facts(hit: "Hit") -> dict[str, Any]:
    shown = ("url", "title", "snippet", "score", "host", "language", "type", "versions")
    where_known = {
        "published_at": rfc3339(hit.published_ms),
        "author": hit.author,
        "collections": hit.collections,
        "until": rfc3339(hit.until_ms),
        "id": hit.id,
        "duplicates": hit.duplicates,
    }
    facts = {name: getattr(hit, name) for name in shown} | {"captured_at": rfc3339(hit.captured_ms)}
    return facts | {name: value for name, value in where_known.items() if value}


def _show(hit: "Hit", of_versions: bool) -> None:
    import html

    def plain(text: str) -> str:
        said = common.printable(html.unescape(text.replace("<b>", _BOLD).replace("</b>", _PLAIN)))
        return said.replace(_BOLD, "\x1b[1m").replace(_PLAIN, "\x1b[0m")

    place = common.printable(hit.url or hit.id)
    typer.echo(plain(hit.title_html) or place, color=None)
    date = (rfc3339(hit.captured_ms) or "")[:10]
    if hit.until_ms:
        date += f" – {(rfc3339(hit.until_ms) or '')[:10]}"
    more = f"  (+{hit.duplicates} {'versions' if of_versions else 'alike'})" if hit.duplicates else ""
    typer.echo(f"  {place}  {date}{more}".rstrip())
    typer.echo(f"  {plain(hit.snippet)}\n")


def _show_part(part: dict[str, Any], depth: int) -> None:
    if depth > 6:
        return
    typer.echo(f"{'  ' * depth}{part.get('value', 0):.3f}  {common.printable(part.get('description', ''))}")
    for detail in part.get("details", []):
        _show_part(detail, depth + 1)
