"""What can be done with the index besides searching it: rebuild, import, batch runs, link ranks, personal judgement.

Works on plain values; the caller brings the documents (from the archive) and the place.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import msgspec

from hemeroteca.search import analysis, handover
from hemeroteca.search.document import SearchDocument, document_key
from hemeroteca.search.graph import LinkGraph, LinkRanks, rank_pages_and_hosts
from hemeroteca.search.index import Index, IndexUnusableError, Options, SearchError, Writer
from hemeroteca.search.languages import code_of
from hemeroteca.search.learn import Learner, read_query_log
from hemeroteca.search.matching import imported
from hemeroteca.search.query import asks_for_the_past
from hemeroteca.search.ranking import Preferences
from hemeroteca.search.tantivy_index import VERSIONS, TantivyIndex, replace_index
from hemeroteca.search.tantivy_writer import TantivyWriter
from hemeroteca.search.versions import has_versions

log = logging.getLogger("hemeroteca.search")
COMMIT_EVERY = 50_000  # documents of a long import become findable, and safe, in steps
BATCH = Options(group=False, diverse=False, snippets=False, suggest=False, syntax=False, loose=True)
_LOG_BYTES = 2_000_000
_SAMPLE = 300  # documents from which the language of a collection is told


def rebuild(
    path: Path,
    documents: Iterable[SearchDocument],
    heap_bytes: int = 48 << 20,
    progress: Callable[[int], None] = lambda count: None,
) -> int:
    """Build the index in `path` anew from `documents`; searches use the old one until the new one is complete.

    Documents that were imported stay, unless the old index is damaged.
    """
    count = 0
    try:
        documents = chain(documents, imported(TantivyIndex(path)))
    except IndexUnusableError as error:
        log.warning("documents that were imported are not kept: %s", error)

    def fill(writer: TantivyWriter) -> None:
        nonlocal count
        for document in documents:
            writer.put(document, replaces=False)
            count += 1
            if count % 1000 == 0:
                progress(count)

    replace_index(path, fill, heap_bytes)
    progress(count)
    return count


def choose(index_dir: Path, query: str, versions: bool | None = None) -> Path:
    """The index a query is for: that of all versions when that is asked for, or when there is one for its `at:`."""
    kept = has_versions(index_dir)
    if versions and not kept:
        raise SearchError(
            "all versions are not indexed here; set `index_versions` to true and run `hemeroteca search rebuild`"
        )
    if versions or (versions is None and kept and asks_for_the_past(query)):
        return index_dir / VERSIONS
    return index_dir


class Imported(msgspec.Struct):
    documents: int = 0
    skipped: int = 0
    problems: list[str] = []  # the first few, with their lines


class _Line(msgspec.Struct):
    id: str | int = ""
    url: str = ""
    title: str | None = ""
    text: str | None = ""
    lang: str | None = ""


def import_documents(
    index: Index,
    lines: Iterable[bytes],
    heap_bytes: int = 48 << 20,
    progress: Callable[[int], None] = lambda count: None,
    collection: str = "",
) -> Imported:
    """Index documents given as JSON lines `{"id", "url", "title", "text", "lang"}`; one of the same id is replaced.

    Documents without `lang` get the language of the collection when it clearly has one: guessing it for each short
    text would scatter them over languages.
    """
    report = Imported()
    replaces = index.count() > 0
    writer = index.writer(heap_bytes, os.cpu_count() or 1)
    try:
        for document in _documents(lines, report, progress, collection):
            writer.put(document, replaces)
            if report.documents % COMMIT_EVERY == 0:
                writer.commit()
        writer.commit()
    finally:
        writer.close()
    return report


def leave_documents(
    path: Path,
    lines: Iterable[bytes],
    progress: Callable[[int], None] = lambda count: None,
    collection: str = "",
) -> tuple[Imported, Path]:
    """The same while an engine writes the index in `path`: it takes the documents from the file that is returned."""
    report = Imported()
    left = handover.leave(path, _documents(lines, report, progress, collection))
    return report, left


def take_documents(index: Index, file: Path, heap_bytes: int = 48 << 20) -> None:
    """Put what was left for an engine that is gone."""
    writer = index.writer(heap_bytes, os.cpu_count() or 1)
    try:
        for document in handover.read(file):
            writer.put(document, replaces=True)
        writer.commit()
    finally:
        writer.close()
    file.unlink(missing_ok=True)


def batch(index: Index, queries: Iterable[str], limit: int, options: Options = BATCH) -> Iterator[dict[str, object]]:
    """Run queries given as `qid<TAB>query` lines; a row per result: qid, rank, id, score.

    A line without a tab is a query whose id is its number (`line-3` where another query has that id).
    """
    lines = [(number, line.rstrip("\r\n")) for number, line in enumerate(queries, 1)]
    given = {line.partition("\t")[0] for _, line in lines if "\t" in line}
    for number, line in lines:
        if not line.strip():
            continue
        qid, tab, text = line.partition("\t")
        if not tab:
            text = line
            qid = str(number) if str(number) not in given else f"line-{number}"
            while qid in given:
                qid += "+"
        for rank, hit in enumerate(index.search(text, limit=limit, options=options).hits, 1):
            yield {"qid": qid, "rank": rank, "id": hit.id or hit.url, "score": hit.score}


def refresh_ranks(path: Path, seeds: Iterable[int] = ()) -> LinkRanks:
    """Rank the link graph kept beside the index; searches take the new ranks at once."""
    ranks = rank_pages_and_hosts(LinkGraph(path / "links"), seeds)
    if len(ranks):
        ranks.save(path / "rank")
    return ranks


def changed_anchors(index: Index, graph: LinkGraph, seconds: float = 60.0) -> Iterator[tuple[SearchDocument, str]]:
    """Documents that link texts say more about than they do themselves, with these texts.

    Most links repeat the title; a document is written anew only for words that would not find it now. What time does
    not allow waits.
    """
    until = time.monotonic() + seconds
    for key, texts in graph.anchor_texts():
        document = index.get(key)
        if document is not None and not _own_words(document).issuperset(_words(texts)):
            yield document, texts
        if time.monotonic() > until:
            return


def apply_anchors(index: Index, writer: Writer, graph: LinkGraph) -> int:
    """Put the texts of links into the documents they point at; returns how many changed. The caller commits."""
    changed = 0
    for document, texts in changed_anchors(index, graph):
        document.anchors = texts
        writer.put(document, replaces=True)
        changed += 1
    return changed


def refresh(path: Path, index: Index, seeds: Iterable[int] = (), most: int = 10_000) -> None:
    """What should be done from time to time while pages come in: link ranks and learned words. Seconds, not minutes."""
    LinkGraph(path / "links").compact()
    refresh_ranks(path, seeds)
    learn(path, index, most)


def learn(path: Path, index: Index, most: int = 10_000) -> int:
    """Learn words and what follows them from a sample of the index, for suggestions and spelling."""
    learner = Learner()
    count = 0
    for document in index.sample(most):
        learner.add(document.title, document.text or document.description, document.language)
        count += 1
    learner.write(path / "suggest", read_query_log(path / "suggest" / "queries.log"))
    return count


def note_query(path: Path, text: str) -> None:
    """Remember a query that found something, for completion. The log is cut to its newer half when it grows."""
    text = " ".join(text.split())
    if not 2 < len(text) <= 100:
        return
    log = path / "suggest" / "queries.log"
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="replace") as file:
        file.write(text + "\n")
        size = file.tell()
    if size > _LOG_BYTES:
        draft = log.with_suffix(".draft")
        draft.write_bytes(log.read_bytes()[size // 2 :].partition(b"\n")[2])
        os.replace(draft, log)


def _own_words(document: SearchDocument) -> set[str]:
    return _words(f"{document.title} {document.headings} {document.anchors} {document.url}")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower().replace("_", " ")))


def load_preferences(path: Path) -> Preferences:
    """A person's boosts and blocks, kept as `preferences.json` in the index folder."""
    file = path / "preferences.json"
    try:
        return msgspec.json.decode(file.read_bytes(), type=Preferences)
    except FileNotFoundError:
        return Preferences()
    except msgspec.MsgspecError as error:
        raise SearchError(f"the preferences in {file} cannot be read ({error}); correct or remove the file")


def prefer(path: Path, host: str, factor: float | None) -> Preferences:
    """Boost (above 1), lower (below 1), block (0) or forget (None) a host."""
    now = load_preferences(path)
    boosts = {name: value for name, value in now.boosts.items() if name != host}
    blocks = tuple(name for name in now.blocks if name != host)
    if factor is not None and factor <= 0:
        blocks = (*blocks, host)
    elif factor is not None:
        boosts[host] = factor
    fresh = Preferences(boosts=boosts, blocks=blocks)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path / "preferences.draft"
    draft.write_bytes(msgspec.json.encode(fresh))
    os.replace(draft, path / "preferences.json")
    return fresh


def _documents(
    lines: Iterable[bytes], report: Imported, progress: Callable[[int], None], collection: str
) -> Iterator[SearchDocument]:
    """Documents of JSON lines; what happens is told to `report`."""
    rows = _read(lines, report)
    sample = list(islice(rows, _SAMPLE))
    language = _common_language(sample)
    for row in chain(sample, rows):
        report.documents += 1
        yield _document(row, language, collection)
        if report.documents % 1000 == 0:
            progress(report.documents)
    progress(report.documents)


def _read(lines: Iterable[bytes], report: Imported) -> Iterator[_Line]:
    decode = msgspec.json.Decoder(_Line).decode
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            report.skipped += 1
            if len(report.problems) < 10:
                report.problems.append(f"line {number}: {error}")
            continue
        row.id = str(row.id or row.url or number)
        yield row


def _document(row: _Line, language: str, collection: str) -> SearchDocument:
    identifier = str(row.id)
    text = row.text or ""
    return SearchDocument(
        key=document_key(f"import:{identifier}"),
        id=identifier,
        url=row.url,
        host=_host(row.url),
        title=row.title or "",
        text=text,
        language=_written_in(f"{row.title or ''} {text}", code_of(row.lang or "") or language),
        type="text",
        collections=(collection,) if collection else (),
    )


def _written_in(text: str, said: str) -> str:
    """The language a document is said to be in, unless its script is another: then, or when nothing is said, a guess.

    The script decides by which field a document is found, so a wrong label would hide it.
    """
    if said and analysis.fits_script(text, said):
        return said
    guessed = _language(text)
    return guessed if analysis.fits_script(text, guessed) else analysis.language_by_script(text)


def _common_language(sample: list[_Line]) -> str:
    votes = Counter(_language(f"{row.title or ''} {row.text or ''}") for row in sample if not row.lang)
    if not votes:
        return ""
    language, count = votes.most_common(1)[0]
    if count < 0.6 * sum(votes.values()):
        return ""
    # texts of a few words each say nothing alone, but together they do
    return language or _language(" ".join(f"{row.title or ''} {row.text or ''}" for row in sample))


def _language(text: str) -> str:
    from resiliparse.parse.lang import detect_fast

    language, distance = detect_fast(text[:5000])
    return language if distance < 1200 and language != "unknown" else ""


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0].lower()
