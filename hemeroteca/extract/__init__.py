"""Reading what was fetched: text, links, language, dates and directives of a page, feed, sitemap, style sheet or PDF.

Pure: values in, values out; no clock, no network, no files of its own. Every body is taken to be hostile: memory and
time are bounded by `Limits`, and whatever was left out is named in `Document.notes`. No body makes anything in here
raise. How the parts work together: docs/explanation/reading-pages.md.

`readers` chooses who reads a body: html, text, css, svg, modules (scripts), feeds, sitemaps, pdf and office register
themselves there (it loads them for the first body), and so do readers of other rooms. `decode` makes text of bytes.
`markup` (with `nesting` and `bombs`) makes HTML safe to parse, `native` reads it where it is plain, `passages` takes
its text. `link_elements` tells what `<link>` and the header `Link` lead to. `elements` are a site's own rules for its
text, `scripted` tells pages that need a browser.
"""

from typing import TYPE_CHECKING

from hemeroteca.lazy import lazily

if TYPE_CHECKING:
    from hemeroteca.extract.decode import decode_body
    from hemeroteca.extract.document import Document, Leads, Limits, Link, PackedLinks, Place
    from hemeroteca.extract.readers import Content, Reader, kind_of, media_type, read, register, unregister
else:
    __getattr__ = lazily(
        __name__,
        decode="decode_body",
        document="Document Leads Limits Link PackedLinks Place",
        readers="Content Reader kind_of media_type read register unregister",
    )

__all__ = [
    "Content", "Document", "Leads", "Limits", "Link", "PackedLinks", "Place", "Reader", "decode_body", "kind_of",
    "media_type", "read", "register", "unregister",
]  # fmt: skip
