"""`hemeroteca archive`: versions of a page, files checked, exchanged, counted and thinned out."""

from hemeroteca.cli.archive import care, exchange, pages
from hemeroteca.cli.archive.diff import diff
from hemeroteca.cli.common import Verbs

app = Verbs()
app.command(action="archive.read")(pages.versions)
app.command(action="archive.read")(pages.get)
app.command(action="archive.note")(pages.tag)
app.command(action="archive.note")(pages.note)
app.command(action="archive.notes")(pages.noted)
app.command(action="archive.verify")(care.verify)
app.command("import", action="archive.import")(exchange.import_)
app.command(action="archive.export")(exchange.export)
app.command(action="archive.read")(care.stats)
app.command(action="archive.prune")(care.prune)
app.command(action="archive.erase")(care.erase)
app.command(action="archive.erase")(care.erasures)
app.add_typer(care.takedown, name="takedown")
app.command(action="archive.offload")(care.offload)
app.command(action="archive.read")(diff)
