"""`hemeroteca archive versions|get`: the versions of a page, and its bytes."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hemeroteca.cli.archive.shared import moment
from hemeroteca.cli.common import Force, Json, answer, counted, give_up, outgoing, printable, setup, size, stamp, tell

Url = Annotated[str, typer.Argument(help="Address of the page.")]
DECODED_BYTES = 512 << 20


def versions(
    url: Url,
    all_captures: Annotated[bool, typer.Option("--all", help="Also captures that brought nothing new.")] = False,
    as_json: Json = False,
) -> None:
    """The versions of a page, oldest first."""
    setup(must_exist=True)
    from hemeroteca.archive import queries
    from hemeroteca.archive.export import facts
    from hemeroteca.archive.lookup import no_capture

    rows = queries.captures_of(url, limit=100_000) if all_captures else queries.versions_of(url, limit=100_000)
    if not rows:
        raise no_capture(url)
    if as_json:
        for row in rows:
            tell(facts(row))
        return
    # 80 columns hold all of it: an id is no use without its end
    table = Table("captured (UTC)", "status", "size", "change", "id", box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        column.no_wrap = True
    for row in rows:
        captured = str(facts(row)["captured_at"])[:19].replace("T", " ")
        importance = "" if row.importance is None else f"{row.importance:.2f}"
        table.add_row(captured, str(row.status), size(row.body_size), importance, str(row.record_id))
    Console().print(table)


def get(
    url: Url,
    at: Annotated[str, typer.Option(help="The capture nearest to this time: 2026, 2026-01-31. Else the newest.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file; `-` is standard output.")
    ] = None,
    force: Force = False,
    head: Annotated[bool, typer.Option(help="The HTTP head before the body.")] = False,
    decoded: Annotated[bool, typer.Option("--decoded", help="Without the compression it was sent in.")] = False,
    shown: Annotated[bool, typer.Option("--rendered", help="The HTML a browser made of it, where one did.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Facts about the capture instead of its bytes.")] = False,
) -> None:
    """The bytes of a page as they were received."""
    setup(must_exist=True)
    from django.conf import settings

    from hemeroteca.archive import queries, rendered
    from hemeroteca.archive.export import facts
    from hemeroteca.archive.lookup import no_capture
    from hemeroteca.warc import stored_record

    row = queries.closest(url, moment(at)) if at else queries.latest(url)
    if row is None:
        raise no_capture(url)
    if as_json:
        tell(facts(row))
        return
    folder = settings.INSTANCE.warc_dir
    if shown and (row := rendered.dom_of(row)) is None:
        give_up(f"no browser opened that capture of {url}; leave out --rendered")
    try:
        record = queries.holder(row).location(folder).read()
    except stored_record.WarcReadError as error:
        give_up(str(error))
    record.body.seek(0)
    encoding = record.header("content-encoding") if decoded else ""
    with outgoing(output or Path("-"), force) as path, path.open("wb") as file:
        if head:
            file.write(record.head)
        if encoding:
            body, note = record.content(DECODED_BYTES)
            file.write(body)
            if note:
                typer.echo(printable(f"not all of it could be unpacked ({note})"), err=True)
        while not encoding and (chunk := record.body.read(1 << 18)):
            file.write(chunk)
    if encoding and note:
        raise typer.Exit(1)


def tag(
    url: Url,
    tags: Annotated[list[str] | None, typer.Argument(help="Tags to add.", show_default=False)] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="A tag to take away; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Tags of a page: without more arguments they are shown."""
    setup()
    from hemeroteca.archive import notes
    from hemeroteca.cli.common import actor

    known = notes.tags_of(url)
    if tags or remove:
        gone = {text.strip().lower() for text in remove or ()}
        known = notes.set_tags(actor(), url, [one for one in (*known, *(tags or ())) if one not in gone])
    answer(as_json, {"url": url, "tags": known}, ", ".join(known))


def note(
    url: Url,
    text: Annotated[str, typer.Argument(help="What to write; without it the notes are shown.")] = "",
    as_json: Json = False,
) -> None:
    """Notes about a page: written, or shown newest first."""
    setup()
    from hemeroteca.archive import notes
    from hemeroteca.cli.common import actor
    from hemeroteca.warc import timestamps

    found = [notes.add_note(actor(), url, text)] if text else notes.notes_of(url)
    for one in found:
        answer(
            as_json,
            {
                "id": one.pk,
                "url": one.url,
                "text": one.text,
                "actor": one.actor,
                "made_at": timestamps.iso(one.made_ms),
            },
            f"{one.pk}  {stamp(timestamps.moment(one.made_ms))}  {one.actor}: {one.text}",
        )


def noted(
    words: Annotated[str, typer.Argument(help="Words of a note, a tag or the address.")] = "",
    with_tag: Annotated[str, typer.Option("--tag", help="Only pages with this tag.")] = "",
    as_json: Json = False,
) -> None:
    """Pages that people tagged or wrote about, the last first."""
    setup(must_exist=True)
    from hemeroteca.archive import notes

    for one in notes.find(words, with_tag, 1000):
        answer(
            as_json,
            {"url": one.url, "tags": list(one.tags), "notes": one.notes},
            f"{one.url}  [{', '.join(one.tags)}]  {counted(one.notes, 'note')}",
        )
