"""`hemeroteca archive diff`: how two captures of a page differ."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hemeroteca.cli.common import USAGE, Force, Json, give_up, outgoing, printable, setup, tell

if TYPE_CHECKING:
    from hemeroteca.change import ChangeRules, Judgement, Row
    from hemeroteca.change.diffs import Stretch
    from hemeroteca.change.judgement import Resource


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
        float | None, typer.Option(help="Important above this, between 0 and 1. Else the site's, or 0.05.")
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
) -> None:
    """How two versions of a page differ: in view, form and content, which images and links, and word by word.

    In a terminal what came is green and what went is red; elsewhere they stand as {+came+} and [-went-]. Options are
    added to the rules of the site (`hemeroteca site set`).
    """
    from hemeroteca import change

    if output is not None and str(output) != "-" and output.suffix not in (".html", ".pdf"):
        give_up(f"{output} does not tell the format; name it .html or .pdf", USAGE)
    setup(must_exist=True)
    from hemeroteca.archive import content, lookup
    from hemeroteca.warc.stored_record import WarcReadError
    from hemeroteca.warc.timestamps import iso

    rules = _with_options(content.rules_of(url), ignore or [], keep or [], ignore_text or [], threshold)
    try:
        pair = lookup.pair(url, first, second)
        old, new, _, found = content.compare(*pair, rules)
    except WarcReadError as error:
        give_up(str(error))
    names = iso(pair[0].captured_ms), iso(pair[1].captured_ms)
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
        ids = {"url": url, "a": str(pair[0].record_id), "b": str(pair[1].record_id), "a_at": names[0], "b_at": names[1]}
        tell(ids | change.as_json(old, new, rules, found))
        return
    console = Console(highlight=False)
    console.print(_vectors(found))
    for resource in found.resources:
        console.print(_named(resource), soft_wrap=True)
    rows = change.side_by_side(old, new, rules)
    if rows:
        console.print(Text.assemble((f"--- {names[0]}", "red"), "\n", (f"+++ {names[1]}", "green")))
    for line in _marked(rows, in_colour=console.is_terminal and not console.no_color):
        console.print(line, soft_wrap=True)


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


def _vectors(found: "Judgement") -> Table:
    table = Table("", "sum", "components")
    for name, value, vector in zip(
        ("view", "form", "content"), found.sums, (found.view, found.form, found.content), strict=True
    ):
        parts = ", ".join(f"{part} {size:.3f}" for part, size in vector.items() if size)
        table.add_row(name, f"{value:.3f}", parts)
    verdict = "important" if found.important else "not important"
    table.add_row("importance", f"{found.total:.3f}", f"{verdict} (threshold {found.threshold:g})")
    return table


_KINDS = {"images": "image", "links": "link", "media": "media", "files": "file"}


def _named(found: "Resource") -> Text:
    if found.text:
        return Text(printable(f"~ description of {found.address}: {found.text}"), "yellow")
    mark, colour = ("+", "green") if found.added else ("-", "red")
    return Text(printable(f"{mark} {_KINDS.get(found.kind, found.kind)} {found.address}"), colour)


def _marked(rows: "Iterable[Row]", in_colour: bool) -> Iterator[Text]:
    """Lines with what came and what went marked, word by word; a line tells where the next part stands."""
    last = (0, 0)
    for row in rows:
        if any(number > before + 1 for number, before in zip((row.old_number, row.new_number), last, strict=True)):
            yield Text(f"@@ line {row.new_number or row.old_number} @@", "cyan")
        last = row.old_number or last[0], row.new_number or last[1]
        line = Text()
        for run in _runs(row):
            text = printable(run.text)
            if run.op == "equal":
                line.append(text)
            elif run.op == "insert":
                line.append(text if in_colour else f"{{+{text}+}}", "green")
            else:
                line.append(text if in_colour else f"[-{text}-]", "red strike")
        yield line


def _runs(row: "Row") -> "list[Stretch]":
    from hemeroteca.change.diffs import changed_runs

    if row.kind != "replace":
        return row.old or row.new
    return changed_runs("".join(run.text for run in row.old), "".join(run.text for run in row.new))
