"""Reading what was fetched: text, links, language, dates and directives of a page, feed, sitemap, style sheet or PDF.

Pure: values in, values out; no clock, no network, no files of its own. Every body is taken to be hostile: memory and
time are bounded by `Limits`, and whatever was left out is named in `Document.notes`. No body makes anything in here
raise. How the parts work together: docs/explanation/reading-pages.md.
"""

from hemeroteca.extract.decode import decode_body
from hemeroteca.extract.document import Document, Leads, Limits, Link, Place
from hemeroteca.extract.read import read

__all__ = ["Document", "Leads", "Limits", "Link", "Place", "decode_body", "read"]
