"""Judged collections nobody tuned on: measured to know what the ranking is worth elsewhere, never to choose a weight.

    apt-get download dict-foldoc perl-doc manpages-es manpages-fr debian-handbook
    for package in *.deb; do dpkg -x $package unpacked; done
    python -m bench.heldout unpacked

Judgements come from what the authors wrote: cross references of a dictionary, questions of an FAQ, the line that says
what a manual page is for, headings of a book; none of them is part of the text that is searched.
"""

import glob
import gzip
import html
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from bench import machine, trec
from bench.collections import Collection, Qrels, _roff, sampled, write


def main() -> None:
    measure(COLLECTIONS, Path(sys.argv[1]), "heldout")


def measure(collections: dict[str, Callable[[Path], Collection]], root: Path, name_of_folder: str) -> None:
    """Make each collection from what is in `root`, and measure it."""
    folder = machine.WORK / name_of_folder
    for name, make in collections.items():
        made = make(root)
        collection = made if make is many_languages else sampled(made)
        if not collection.queries:
            print(f"{name}: its source is not in {root}", file=sys.stderr)
            continue
        write(folder / name, collection)
        files = [folder / name / file for file in ("documents.jsonl", "queries.tsv", "qrels.tsv")]
        print(f"{name}: {len(collection.documents):,} documents")
        found = trec.measure(*files)
        ours = found["hemeroteca"].ndcg10
        ratios = [f"{ours / other.ndcg10:.3f} × {engine}" for engine, other in found.items() if engine != "hemeroteca"]
        print(f"{name}: {', '.join(ratios)}\n")


def definitions(root: Path) -> Collection:
    """The definition of a term of computing, asked for by the term."""
    entries = _foldoc(root)
    documents = [{"id": str(at), "text": text} for at, (_, text) in enumerate(entries)]
    queries = {str(at): term for at, (term, text) in enumerate(entries) if len(text) > 80}
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


def references(root: Path) -> Collection:
    """Entries that refer to one or that it refers to, asked for by its name (it counts twice itself)."""
    entries = _foldoc(root)
    by_name = {term.lower(): at for at, (term, _) in enumerate(entries)}
    linked: dict[int, set[int]] = defaultdict(set)
    for at, (_, text) in enumerate(entries):
        for name in re.findall(r"\{([^{}]+)\}", text):
            other = by_name.get(re.sub(r"\s+", " ", name).lower())
            if other is not None and other != at:
                linked[at].add(other)
                linked[other].add(at)
    documents = [{"id": str(at), "title": term, "text": text} for at, (term, text) in enumerate(entries)]
    queries = {str(at): entries[at][0] for at, others in linked.items() if 3 <= len(others) <= 40}
    qrels: Qrels = {qid: {str(other): 1 for other in linked[int(qid)]} | {qid: 2} for qid in queries}
    return Collection(documents, queries, qrels)


def _foldoc(root: Path) -> list[tuple[str, str]]:
    files = glob.glob(f"{root}/**/foldoc.dict.dz", recursive=True)
    if not files:
        return []
    text = gzip.decompress(Path(files[0]).read_bytes()).decode("utf-8", "replace")
    entries = []
    for part in re.split(r"\n(?=\S)", text):
        head, _, body = part.partition("\n")
        if len(body.strip()) > 20 and not head.startswith("00-database"):
            entries.append((head.strip(), re.sub(r"\s+", " ", body).strip()))
    return entries


def questions(root: Path) -> Collection:
    """Answers of the Perl FAQ, asked for by their questions."""
    documents, queries = [], {}
    for file in sorted(glob.glob(f"{root}/**/perlfaq[1-9].pod", recursive=True)):
        source = Path(file).read_text("utf-8", "replace")
        for question, answer in re.findall(r"^=head2 (.+?)\n\n(.+?)(?=^=head|\Z)", source, re.M | re.S):
            number = str(len(documents))
            documents.append({"id": number, "text": _pod(answer)})
            queries[number] = _pod(question)
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


def _pod(source: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[A-Z]<+\s?([^<>]*)>+|^=\w+.*$", r"\1", source, flags=re.M)).strip()


def manual(language: str) -> Callable[[Path], Collection]:
    def pages(root: Path) -> Collection:
        """Manual pages in other languages; a query is the line that says what the page is for."""
        documents, queries = [], {}
        for file in sorted(glob.glob(f"{root}/**/man/{language}/man*/*.gz", recursive=True)):
            source = gzip.decompress(Path(file).read_bytes()).decode("utf-8", "replace")
            named = re.search(r"^\.S[Hh] [^\n]+\n(.+?)(?=^\.S[Hh])", source, re.M | re.S)
            if named is None:
                continue
            _, dash, purpose = re.sub(r"\s+", " ", _roff(named[1])).partition(" - ")
            body = _roff(source[named.end() :])
            if dash and len(purpose.split()) >= 3 and len(body) > 300 and purpose not in queries.values():
                documents.append({"id": Path(file).name, "text": body})
                queries[Path(file).name] = purpose
        return Collection(documents, queries, {qid: {qid: 1} for qid in queries})

    return pages


def handbook(language: str) -> Callable[[Path], Collection]:
    def sections(root: Path) -> Collection:
        """Sections of a book of administration, asked for by their headings."""
        documents, queries = [], {}
        for file in sorted(glob.glob(f"{root}/**/debian-handbook/html/{language}/*.html", recursive=True)):
            page = Path(file).read_text("utf-8", "replace")
            for part in re.split(r'(?=<div class="section">)', page)[1:]:
                head = re.search(r'<h[2-5] class="title">(.+?)</h[2-5]>', part, re.S)
                if head is None:
                    continue
                heading = re.sub(r"^[\d.\s]+", "", plain(head[1]))
                text = plain(part[head.end() :])
                if len(text) > 300 and len(heading.split()) > 1 and heading not in queries.values():
                    queries[str(len(documents))] = heading
                    documents.append({"id": str(len(documents)), "text": text})
        return Collection(documents, queries, {qid: {qid: 1} for qid in queries})

    return sections


def many_languages(root: Path) -> Collection:
    """The same book in seven languages in one index; the section in the language of the heading is meant."""
    documents: list[dict[str, str]] = []
    queries: dict[str, str] = {}
    for name in ("es-ES", "en-US", "fr-FR", "de-DE", "it-IT", "ja-JP", "zh-CN"):
        language = name[:2]
        book = handbook(name)(root)
        documents += [
            {"id": f"{language}-{row['id']}", "text": row["text"], "lang": language} for row in book.documents
        ]
        chosen = random.Random(1).sample(sorted(book.queries), min(100, len(book.queries)))
        queries |= {f"{language}-{qid}": book.queries[qid] for qid in chosen}
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


def plain(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", markup))).strip()


COLLECTIONS: dict[str, Callable[[Path], Collection]] = {
    "foldoc-definitions": definitions,
    "foldoc-references": references,
    "perl-faq": questions,
    "manual-es": manual("es"),
    "manual-fr": manual("fr"),
    "handbook-es": handbook("es-ES"),
    "handbook-de": handbook("de-DE"),
    "handbook-seven": many_languages,
}


if __name__ == "__main__":
    main()
