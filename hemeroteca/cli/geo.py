"""`hemeroteca geo`: geographic services, found, looked at and handed on."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hemeroteca.cli import common

if TYPE_CHECKING:
    from hemeroteca.geo.description import Description

app = typer.Typer(no_args_is_help=True, help="Geographic services: recognise, find, watch, export.")


@app.command("inspect")
def inspect(
    sources: Annotated[list[str], typer.Argument(metavar="FILE|URL…", help="Documents, or - for standard input.")],
    data: common.Data = None,
    json: common.Json = False,
) -> None:
    """Tell which service or dataset a document describes, and what it offers; or why it is none."""
    failed = False
    for source in sources:
        description = _describe(source, data)
        failed |= description is None
        if description is None:
            continue
        if json:
            common.tell({"file": source, **_facts(description)})
        else:
            _show(source, description)
    if failed:
        raise typer.Exit(1)


def _describe(source: str, data: Path | None) -> "Description | None":
    from hemeroteca.geo.detection import describe

    if source.startswith(("http://", "https://")):
        from hemeroteca.fetch.client import GuardedClient

        reply = GuardedClient(common.settings(data)).send(source, max_bytes=MAX_BYTES, redirects=5)
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
