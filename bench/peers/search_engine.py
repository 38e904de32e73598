"""One search engine on a corpus: `search_engine.py ENGINE documents.jsonl queries.txt FOLDER` prints figures as JSON.

With `-` for the documents Hemeroteca opens the index that is there: the memory of a process that only searches.

Every engine indexes title and text with positions and keeps the text for snippets; every query wants any of its words
(OR), ten results by BM25, with their titles and a marked snippet, as a page of results needs.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Text(NamedTuple):
    number: int
    url: str
    host: str
    title: str
    text: str
    language: str


Search = Callable[[str], int]


def main() -> None:
    name, corpus, asked, folder = sys.argv[1], *map(Path, sys.argv[2:5])
    open_engine = {"hemeroteca": hemeroteca, "sqlite": sqlite, "whoosh": whoosh, "xapian": xapian}[name]
    lines = corpus.open(encoding="utf-8") if str(corpus) != "-" else []
    making = _Stopwatch(Text(*json.loads(line)) for line in lines)
    cpu, wall = time.process_time(), time.perf_counter()
    search = open_engine(iter(making), folder)
    cpu, wall = time.process_time() - cpu - making.cpu, time.perf_counter() - wall - making.wall
    texts = asked.read_text("utf-8").splitlines()
    for text in texts[:20]:
        search(text)
    times = []
    for text in texts:
        start = time.perf_counter()
        search(text)
        times.append(time.perf_counter() - start)
    times.sort()
    memory = dict(re.findall(r"^(RssAnon|RssFile|VmHWM):\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M))
    print(
        json.dumps(
            {
                "index_cpu": cpu,
                "index_seconds": wall,
                "bytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
                "p50": times[len(times) // 2],
                "p95": times[len(times) * 95 // 100],
                "peak": int(memory["VmHWM"]) * 1024,
                "anonymous": int(memory["RssAnon"]) * 1024,
                "mapped": int(memory["RssFile"]) * 1024,
            }
        )
    )


def hemeroteca(texts: Iterator[Text], folder: Path) -> Search:
    from hemeroteca.ingest.search_document import SearchDocument
    from hemeroteca.search.searcher import open_searcher

    searcher = open_searcher(None, folder)
    with searcher.index.writer(threads=os.cpu_count() or 1) as writer:
        for text in texts:
            document = SearchDocument(
                key=text.number, url=text.url, host=text.host, title=text.title, text=text.text, language=text.language
            )
            writer.put(document, replaces=False)
            if text.number % 50_000 == 49_999:
                writer.commit()
        writer.commit()
    return lambda query: len(searcher.search(query).hits)


def sqlite(texts: Iterator[Text], folder: Path) -> Search:
    import sqlite3

    database = sqlite3.connect(folder / "fts.sqlite3")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(
        "CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize = 'unicode61 remove_diacritics 2')"
    )
    rows = ((text.url, text.title, text.text) for text in texts)
    database.executemany("INSERT INTO page VALUES (?, ?, ?)", rows)
    database.commit()
    database.execute("INSERT INTO page(page) VALUES ('optimize')")
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def search(query: str) -> int:
        wanted = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        found = database.execute(
            "SELECT url, title, snippet(page, 2, '<b>', '</b>', '…', 30) FROM page WHERE page MATCH ? "
            "ORDER BY rank LIMIT 10",
            [wanted],
        )
        return len(found.fetchall())

    return search


def whoosh(texts: Iterator[Text], folder: Path) -> Search:
    from whoosh.fields import ID, TEXT, Schema
    from whoosh.index import create_in
    from whoosh.qparser import MultifieldParser, OrGroup

    index = create_in(str(folder), Schema(url=ID(stored=True), title=TEXT(stored=True), text=TEXT(stored=True)))
    writer = index.writer(limitmb=256)
    for text in texts:
        writer.add_document(url=text.url, title=text.title, text=text.text)
    writer.commit()
    parser = MultifieldParser(["title", "text"], index.schema, group=OrGroup)
    searcher = index.searcher()

    def search(query: str) -> int:
        found = searcher.search(parser.parse(query), limit=10)
        return len([(hit["url"], hit["title"], hit.highlights("text")) for hit in found])

    return search


def xapian(texts: Iterator[Text], folder: Path) -> Search:
    import xapian as engine

    database = engine.WritableDatabase(str(folder / "xapian"), engine.DB_CREATE_OR_OPEN)
    generator = engine.TermGenerator()
    stemmers = {"es": "spanish", "en": "english", "pt": "portuguese", "fr": "french", "it": "italian", "de": "german"}
    stems = {code: engine.Stem(stemmers.get(code, "none")) for code in ("es", "en", "pt", "fr", "it", "de", "ca")}
    for text in texts:
        document = engine.Document()
        generator.set_document(document)
        generator.set_stemmer(stems[text.language])
        generator.index_text(text.title, 2)
        generator.increase_termpos()
        generator.index_text(text.text)
        document.set_data(json.dumps([text.url, text.title, text.text]))
        database.add_document(document)
    database.commit()
    enquire = engine.Enquire(database)
    parser = engine.QueryParser()
    parser.set_database(database)
    parser.set_stemmer(stems["es"])
    parser.set_stemming_strategy(parser.STEM_SOME)

    def search(query: str) -> int:
        enquire.set_query(parser.parse_query(query))
        found = enquire.get_mset(0, 10)
        shown = []
        for match in found:
            url, title, text = json.loads(match.document.get_data())
            shown.append((url, title, found.snippet(text.encode(), 220)))
        return len(shown)

    return search


class _Stopwatch:
    """Counts the time spent reading the corpus, which is nobody's merit."""

    def __init__(self, texts: Iterator[Text]) -> None:
        self._texts = texts
        self.cpu = self.wall = 0.0

    def __iter__(self) -> Iterator[Text]:
        while True:
            cpu, wall = time.thread_time(), time.perf_counter()
            text = next(self._texts, None)
            self.cpu += time.thread_time() - cpu
            self.wall += time.perf_counter() - wall
            if text is None:
                return
            yield text


if __name__ == "__main__":
    main()
