"""`hemeroteca archive diff`: how two captures of a page differ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.cli.common import USAGE, Data, Force, Json, give_up, outgoing, printable, refuse, setup, tell

if TYPE_CHECKING:
    from hemeroteca.change import Change, ChangeRules


def diff(
    url: Annotated[str, typer.Argument(help="Address of the page.")],
    first: Annotated[
        str, typer.Argument(metavar="[A]", help="Id or date of a capture. Else the version before the newest.")
    ] = "",
    second: Annotated[str, typer.Argument(metavar="[B]", help="Id or date of another. Else the newest version.")] = "",
    ignore: Annotated[
        list[str] | None, typer.Option(help="CSS selector or XPath of a part that does not count. Repeatable.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="CSS selector or XPath of the only parts that count. Repeatable.")
    ] = None,
    ignore_text: Annotated[
        list[str] | None, typer.Option(help="Regular expression (RE2) of text that does not count. Repeatable.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Important above this, between 0 and 1. Else the site's, or 0.05."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the page with its changes marked (.html) or a report (.pdf); `-` is standard output.",
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """How two versions of a page differ: in view, form and content, and word by word.

    Options are added to the rules of the site (`hemeroteca site set`).
    """
    from hemeroteca import change

    if output is not None and str(output) != "-" and output.suffix not in (".html", ".pdf"):
        give_up(f"{output} does not tell the format; name it .html or .pdf", USAGE)
    setup(data, must_exist=True)
    from hemeroteca.archive import content, lookup
    from hemeroteca.errors import Refused
    from hemeroteca.warc.reader import WarcReadError
    from hemeroteca.warc.timestamps import iso

    rules = _with_options(content.rules_of(url), ignore or [], keep or [], ignore_text or [], threshold)
    try:
        rows = lookup.pair(url, first, second)
        old, new, _, found = content.compare(*rows, rules)
    except Refused as error:
        refuse(error)
    except WarcReadError as error:
        give_up(str(error))
    names = iso(rows[0].captured_ms), iso(rows[1].captured_ms)
    if output is not None:
        if output.suffix != ".pdf":
            made = change.highlighted_page(old, new, rules).encode("utf-8")
        else:
            made = change.pdf_report(old, new, rules, change=found, names=names)
        with outgoing(output, force, ".html") as path:
            path.write_bytes(made)
        if str(output) == "-":
            return
    if as_json:
        ids = {"url": url, "a": str(rows[0].record_id), "b": str(rows[1].record_id), "a_at": names[0], "b_at": names[1]}
        tell(ids | change.as_json(old, new, rules, found))
        return
    Console().print(_vectors(found))
    typer.echo(printable(change.text_diff(old, new, rules, names)), nl=False)


def _with_options(
    site: "ChangeRules", ignore: list[str], keep: list[str], ignore_text: list[str], threshold: float | None
) -> "ChangeRules":
    import msgspec

    from hemeroteca import change

    rules = msgspec.structs.replace(
        site,
        threshold=site.threshold if threshold is None else threshold,
        ignore=(*site.ignore, *ignore),
        keep=tuple(keep) or site.keep,
        ignore_text=(*site.ignore_text, *ignore_text),
    )
    try:
        change.check(rules)
    except change.RulesError as error:
        give_up(str(error), USAGE)
    return rules


def _vectors(found: "Change") -> Table:
    table = Table("", "sum", "components")
    for name, value, vector in zip(
        ("view", "form", "content"), found.sums, (found.view, found.form, found.content), strict=True
    ):
        parts = ", ".join(f"{part} {size:.3f}" for part, size in vector.items() if size)
        table.add_row(name, f"{value:.3f}", parts)
    verdict = "important" if found.important else "not important"
    table.add_row("total", f"{found.total:.3f}", f"{verdict} (threshold {found.threshold:g})")
    return table
