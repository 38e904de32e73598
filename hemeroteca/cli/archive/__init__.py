"""`hemeroteca archive`: versions of a page, files checked, exchanged, counted and thinned out."""

import typer

from hemeroteca.cli.archive import care, exchange, pages
from hemeroteca.cli.archive.diff import diff

app = typer.Typer(no_args_is_help=True, help="Versions of pages; WARC files checked, exchanged, counted, thinned out.")
app.command()(pages.versions)
app.command()(pages.get)
app.command()(pages.tag)
app.command()(pages.note)
app.command()(pages.noted)
app.command()(care.verify)
app.command("import")(exchange.import_)
app.command()(exchange.export)
app.command()(care.stats)
app.command()(care.prune)
app.command()(care.erase)
app.command()(care.erasures)
app.add_typer(care.takedown, name="takedown")
app.command()(care.offload)
app.command()(diff)
