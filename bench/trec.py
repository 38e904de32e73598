"""Search quality on any TREC-style collection: nDCG@10, MAP, MRR; Hemeroteca against plain BM25 of the same engine.

    python -m bench.trec FOLDER                           # a collection as it is published: BEIR, TREC, Cranfield …
    python -m bench.trec documents queries qrels          # its three files; see bench/trec_files.py for their forms
    python -m bench.trec FOLDER --write OTHER             # only brought into the form that the commands take

The references are one field with title and text, each word of the query wanted (OR): `plain`, the engine's default
analysis and its own BM25, and `english`, BM25 over words as Lucene's `english` analyser makes them.
"""

import argparse
import json
import math
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from bench import trec_files
from bench.trec_files import Qrels

DEPTH = 1000  # results judged for MAP and MRR

Run = dict[str, list[str]]


@dataclass(frozen=True)
class Quality:
    ndcg10: float
    map: float
    mrr: float
    queries: int


def evaluate(run: Run, qrels: Qrels) -> Quality:
    """The usual measures, as trec_eval computes them, over the queries that have a relevant document."""
    ndcg, average, reciprocal, count = 0.0, 0.0, 0.0, 0
    for qid, grades in qrels.items():
        relevant = {doc for doc, grade in grades.items() if grade > 0}
        if not relevant:
            continue
        count += 1
        ranked = run.get(qid, [])[:DEPTH]
        gains = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:10]
        ideal = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))
        ndcg += sum(max(0, grades.get(doc, 0)) / math.log2(rank + 2) for rank, doc in enumerate(ranked[:10])) / ideal
        found, precision = 0, 0.0
        for rank, doc in enumerate(ranked, 1):
            if doc in relevant:
                found += 1
                precision += found / rank
                if found == 1:
                    reciprocal += 1 / rank
        average += precision / len(relevant)
    count = max(1, count)
    return Quality(ndcg / count, average / count, reciprocal / count, count)


def hemeroteca(documents: Path, queries: dict[str, str], folder: Path) -> Run:
    from hemeroteca.search import corpus
    from hemeroteca.search.searcher import open_searcher

    searcher = open_searcher(None, folder)
    with documents.open("rb") as lines:
        corpus.import_documents(searcher.index, lines)
    run: Run = {qid: [] for qid in queries}
    for row in corpus.run_queries(searcher, queries.items(), DEPTH):
        run[row.qid].append(row.id)
    return run


def plain(documents: Path, queries: dict[str, str], folder: Path) -> Run:
    import tantivy

    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="default")
    schema = builder.build()
    index = tantivy.Index(schema, str(folder))
    writer = index.writer(100 << 20, 1)
    with documents.open("rb") as lines:
        for line in lines:
            row = json.loads(line)
            text = f"{row.get('title') or ''} {row.get('text') or ''}"
            writer.add_document(tantivy.Document(id=[str(row["id"])], text=[text]))
    writer.commit()
    index.reload()
    searcher = index.searcher()
    run: Run = {}
    for qid, text in queries.items():
        words = " ".join(re.findall(r"\w+", text)[:1000]).lower()  # no operators
        query, _ = index.parse_query_lenient(words, ["text"])
        hits = searcher.search(query, limit=DEPTH, count=False).hits
        run[qid] = [searcher.doc(address)["id"][0] for _, address in hits]
    return run


_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
LUCENES_STOP_WORDS = frozenset(_STOP_WORDS.split())


def english(documents: Path, queries: dict[str, str], folder: Path) -> Run:
    """BM25 (k1 1.2, b 0.75) over Porter's stems, without possessives and Lucene's 33 stop words.

    A query's word counts as often as it is in it. Lengths are exact; Lucene's are rounded to a byte.
    """
    import numpy as np
    import snowballstemmer

    stem = lru_cache(1 << 20)(snowballstemmer.stemmer("porter").stemWord)

    def analyse(text: str) -> Counter[str]:
        words = (word.lower() for word in re.findall(r"\w+(?:['’.]\w+)*", text))
        bare = (word[:-2] if word.endswith(("'s", "’s")) else word for word in words)
        return Counter(stem(word) for word in bare if word not in LUCENES_STOP_WORDS)

    ids: list[str] = []
    lengths: list[int] = []
    places: dict[str, list[int]] = defaultdict(list)
    times: dict[str, list[int]] = defaultdict(list)
    with documents.open("rb") as lines:
        for at, line in enumerate(lines):
            row = json.loads(line)
            ids.append(str(row["id"]))
            counted = analyse(f"{row.get('title') or ''} {row.get('text') or ''}")
            lengths.append(counted.total())
            for word, count in counted.items():
                places[word].append(at)
                times[word].append(count)
    size = np.array(lengths, dtype=np.float64)
    norm = 1.2 * (0.25 + 0.75 * size / max(1.0, size.mean()))
    run: Run = {}
    for qid, text in queries.items():
        scores = np.zeros(len(ids))
        for word, count in analyse(text).items():
            if word in places:
                where, often = np.array(places[word]), np.array(times[word])
                rarity = math.log(1 + (len(ids) - len(where) + 0.5) / (len(where) + 0.5))
                scores[where] += count * rarity * often / (often + norm[where])
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        run[qid] = [ids[at] for at in best if scores[at] > 0]
    return run


ENGINES: dict[str, Callable[[Path, dict[str, str], Path], Run]] = {
    "plain BM25": plain,
    "BM25, Lucene's english": english,
    "hemeroteca": hemeroteca,
}


def measure(documents: Path, queries: Path, qrels: Path) -> dict[str, Quality]:
    """Every engine on one collection, by name."""
    judged = trec_files.read_qrels(qrels.read_text(encoding="utf-8"))
    with queries.open("rb") as lines:
        asked = {qid: text for qid, text in trec_files.read_queries(lines).items() if qid in judged}
    found = {}
    print(f"{'':24} {'nDCG@10':>8} {'MAP':>8} {'MRR':>8} {'seconds':>8}   ({len(asked)} queries)")
    for name, engine in ENGINES.items():
        with tempfile.TemporaryDirectory() as temporary:
            start = time.perf_counter()
            quality = found[name] = evaluate(engine(documents, asked, Path(temporary) / "index"), judged)
            seconds = time.perf_counter() - start
        print(f"{name:24} {quality.ndcg10:8.4f} {quality.map:8.4f} {quality.mrr:8.4f} {seconds:8.1f}")
    return found


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path, help="a folder, or documents, queries and qrels")
    parser.add_argument("--write", type=Path, help="write documents.jsonl, queries.tsv and qrels.txt there, and end")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        try:
            files = trec_files.bring(options.sources, options.write or Path(temporary))
        except trec_files.CollectionError as error:
            parser.error(str(error))
        if options.write:
            return []
        found = measure(*files)
    ours = found.pop("hemeroteca")
    for name, other in found.items():
        print(f"hemeroteca / {name}: {ours.ndcg10 / max(other.ndcg10, 1e-9):.3f} (nDCG@10)")
    found["hemeroteca"] = ours
    return [{"engine": name, "ndcg10": q.ndcg10, "map": q.map, "mrr": q.mrr} for name, q in found.items()]


if __name__ == "__main__":
    main(sys.argv[1:])
