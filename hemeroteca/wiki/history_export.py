"""Histories handed out: XML that MediaWiki's importDump.php and mwxml read, Parquet, CSV.

Each file says what it is: wiki, licence, time, filters, and whether an extraction ended at a limit. With `pseudonyms`
a name becomes a number that is the same throughout the file and nowhere else: its key is thrown away.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import msgspec

from hemeroteca.clock import now_ms
from hemeroteca.errors import Invalid, Refused
from hemeroteca.lake.revisions import REVISIONS, schema
from hemeroteca.outgoing import hand_over
from hemeroteca.warc import timestamps
from hemeroteca.wiki import answers, filters, queries
from hemeroteca.wiki.models import Article, Wiki

if TYPE_CHECKING:
    from hemeroteca.lake.query_engine import Lake

FORMATS = ("xml", "parquet", "csv")
ROWS_AT_ONCE = 2_000
_NOT_IN_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


class ExportedHistory(msgspec.Struct):
    file: str
    format: str
    articles: int
    revisions: int
    bytes: int
    wikis: list[dict[str, str]]  # name, licence, address of the licence
    limited: list[str]  # articles of which only the first revisions are kept
    pseudonyms: bool
    filters: dict[str, Any]
    written: str


def write(
    target: Path,
    format_: str,
    given: Mapping[str, Any],
    text: bool,
    pseudonyms: bool,
    progress: Callable[[int], None],
) -> ExportedHistory:
    """Write the revisions that are meant to a file, which appears when it is whole."""
    if format_ not in FORMATS:
        raise Invalid(f"there is no format {format_!r}; there are {', '.join(FORMATS)}")
    found = queries.named(filters.read(given))
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    names = _Pseudonyms() if pseudonyms else None
    try:
        with queries.opened() as lake:
            about = _about(lake, found, format_, pseudonyms, dict(given), target)
            writer = {"xml": _xml, "parquet": _parquet, "csv": _csv}[format_]
            about.revisions = writer(draft, _rows(lake, found, text, names), about, text, progress)
        hand_over(draft)
        draft.replace(target)
    except OSError as error:
        raise Refused(f"cannot write {target}: {error.strerror or error}; name another place, or make room there")
    finally:
        draft.unlink(missing_ok=True)
    about.bytes = target.stat().st_size
    return about


def _about(
    lake: Lake, found: filters.Filters, format_: str, pseudonyms: bool, given: dict[str, Any], target: Path
) -> ExportedHistory:
    table = filters.apply(lake.revisions, found)
    meant = {(row["wiki"], row["pageid"]) for row in lake.rows(table.select("wiki", "pageid").distinct())}
    wikis = Wiki.objects.filter(name__in={wiki for wiki, _ in meant})
    limited = [
        article.title
        for article in Article.objects.filter(limited=True).select_related("wiki")
        if (article.wiki.name, article.pageid) in meant
    ]
    return ExportedHistory(
        file=str(target),
        format=format_,
        articles=len(meant),
        revisions=0,
        bytes=0,
        wikis=[{"name": wiki.name, "rights": wiki.rights, "rights_url": wiki.rights_url} for wiki in wikis],
        limited=sorted(limited),
        pseudonyms=pseudonyms,
        filters=given,
        written=timestamps.iso(now_ms()),
    )


def _rows(lake: Lake, found: filters.Filters, text: bool, names: _Pseudonyms | None) -> Iterator[list[dict[str, Any]]]:
    """Revisions by article, oldest first, in parts."""
    import ibis

    table = filters.apply(lake.revisions, found).drop("fingerprint", "version")
    if text:
        texts = lake.texts.select(found_sha1="sha1", text="text").distinct(on="found_sha1")
        table = table.left_join(texts, table.text_sha1 == texts.found_sha1).drop("found_sha1")
    ordered = table.order_by([ibis.asc("wiki"), ibis.asc("pageid"), ibis.asc("timestamp"), ibis.asc("revid")])
    for batch in lake.batches(ordered, ROWS_AT_ONCE):
        rows = batch.to_pylist()
        if names is not None:
            rows = [names.hide(row) for row in rows]
        yield rows


class _Pseudonyms:
    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def hide(self, row: dict[str, Any]) -> dict[str, Any]:
        """Names and what may hold them (comments) go; the kind of account stays."""
        for name in ("user", "userid"):
            if row.get(name) is not None:
                text = f"{row['wiki']}\0{row['user']}"
                digest = hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:12]
                row[name] = f"user-{digest}" if name == "user" else None
        row["comment"] = row["parsedcomment"] = None
        return row


def _csv(draft: Path, parts: Any, about: ExportedHistory, text: bool, progress: Callable[[int], None]) -> int:
    import csv

    names = [name for name in schema(REVISIONS).names if name not in ("fingerprint", "version")] + ["text"] * text
    count = 0
    with draft.open("w", encoding="utf-8", newline="") as file:
        for line in _statement(about):
            file.write(f"# {line}\n")
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        for rows in parts:
            for row in rows:
                row["tags"] = "|".join(row["tags"] or ())
                for name in ("timestamp", "extraction_date"):
                    row[name] = _stamp(row[name])
                writer.writerow({name: _safe(value) for name, value in row.items()})
            count += len(rows)
            progress(count)
    return count


def _safe(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula is marked as a text."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _parquet(draft: Path, parts: Any, about: ExportedHistory, text: bool, progress: Callable[[int], None]) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    shape = schema(REVISIONS)
    fields = [field for field in shape if field.name not in ("fingerprint", "version")]
    if text:
        fields.append(pa.field("text", pa.string()))
    facts = {b"hemeroteca": msgspec.json.encode(about)}
    shape = pa.schema(fields, metadata=facts)
    count = 0
    with pq.ParquetWriter(draft, shape, compression="zstd") as writer:
        for rows in parts:
            writer.write_table(pa.Table.from_pylist(rows, schema=shape))
            count += len(rows)
            progress(count)
    return count


def _xml(draft: Path, parts: Any, about: ExportedHistory, text: bool, progress: Callable[[int], None]) -> int:
    if len(about.wikis) > 1:
        raise Invalid("a dump in XML is of one wiki; say which with --wiki")
    wiki = Wiki.objects.filter(name=about.wikis[0]["name"]).first() if about.wikis else None
    count, page = 0, None
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        language = quoteattr(wiki.locale if wiki else "")
        file.write(
            '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" '
            'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="'
            'http://www.mediawiki.org/xml/export-0.11/ http://www.mediawiki.org/xml/export-0.11.xsd" '
            f'version="0.11" xml:lang={language}>\n'
        )
        for line in _statement(about):
            file.write(f"  <!-- {escape(line).replace('--', '- -')} -->\n")
        file.write(_siteinfo(wiki))
        for rows in parts:
            for row in rows:
                if row["pageid"] != page:
                    if page is not None:
                        file.write("  </page>\n")
                    page = row["pageid"]
                    title = _text(row["title"])
                    file.write(f"  <page>\n    <title>{title}</title>\n    <ns>{row['ns']}</ns>\n    <id>{page}</id>\n")
                file.write(_revision(row, text))
            count += len(rows)
            progress(count)
        if page is not None:
            file.write("  </page>\n")
        file.write("</mediawiki>\n")
    return count


def _siteinfo(wiki: Wiki | None) -> str:
    if wiki is None:
        return ""
    base = wiki.article_path.replace("$1", "") or f"https://{wiki.name}/"
    return (
        f"  <siteinfo>\n    <sitename>{_text(wiki.sitename)}</sitename>\n    <dbname>wiki</dbname>\n"
        f"    <base>{_text(base)}</base>\n    <generator>Hemeroteca, of {_text(wiki.generator)}</generator>\n"
        '    <case>first-letter</case>\n    <namespaces><namespace key="0" case="first-letter" /></namespaces>\n'
        "  </siteinfo>\n"
    )


def _revision(row: dict[str, Any], text: bool) -> str:
    hidden = ' deleted="deleted" />'
    lines = [f"    <revision>\n      <id>{row['revid']}</id>\n"]
    if row["parentid"]:
        lines.append(f"      <parentid>{row['parentid']}</parentid>\n")
    lines.append(f"      <timestamp>{_stamp(row['timestamp'])}</timestamp>\n")
    if row["user"] is None:
        lines.append(f"      <contributor{hidden}\n")
    elif row["anon"]:
        lines.append(f"      <contributor><ip>{_text(row['user'])}</ip></contributor>\n")
    else:
        number = row["userid"] or 0
        lines.append(f"      <contributor><username>{_text(row['user'])}</username><id>{number}</id></contributor>\n")
    if row["minor"]:
        lines.append("      <minor />\n")
    if row["commenthidden"]:
        lines.append(f"      <comment{hidden}\n")
    elif row["comment"]:
        lines.append(f"      <comment>{_text(row['comment'])}</comment>\n")
    model, format_ = row["contentmodel"] or "wikitext", row["contentformat"] or "text/x-wiki"
    lines.append(f"      <origin>{row['revid']}</origin>\n      <model>{_text(model)}</model>\n")
    lines.append(f"      <format>{_text(format_)}</format>\n")
    sha1 = answers.base36(row["sha1"]) if row["sha1"] else ""
    facts = (f' bytes="{row["size"]}"' if row["size"] is not None else "") + (f' sha1="{sha1}"' if sha1 else "")
    if row["texthidden"]:
        lines.append(f"      <text{facts}{hidden}\n")
    elif text and row.get("text") is not None:
        lines.append(f'      <text{facts} xml:space="preserve">{_text(row["text"])}</text>\n')
    else:
        lines.append(f"      <text{facts} />\n")
    if sha1:
        lines.append(f"      <sha1>{sha1}</sha1>\n")
    return "".join(lines) + "    </revision>\n"


def _statement(about: ExportedHistory) -> list[str]:
    """What a reader of the file should know of it."""
    lines = [f"written {about.written} by Hemeroteca; {about.articles} articles; filters {about.filters or 'none'}"]
    for wiki in about.wikis:
        lines.append(f"{wiki['name']}: {wiki['rights'] or 'licence not stated'} {wiki['rights_url']}".rstrip())
    if about.limited:
        lines.append(f"only the first revisions are kept of: {', '.join(about.limited[:50])}")
    if about.pseudonyms:
        lines.append("names of users are replaced by pseudonyms of this file; comments are left out")
    return lines


def _text(text: str) -> str:
    return escape(str(text).translate(_NOT_IN_XML))


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
