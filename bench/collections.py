"""Judged collections made from data at hand, to see how good the ranking is on texts it was not tuned on.

    python -m bench.collections FOLDER        # writes NAME/{documents.jsonl,queries.tsv,qrels.tsv}
    python -m bench search                    # makes and measures them all

Sources (each is left out where it is missing): the GEMET thesaurus (`../shared/data/gemet`, or under
HEMEROTECA_SHARED_DATA), Debian's package lists
with debtags, software descriptions in several languages (AppStream), manual pages, the Python manual. Judgements come
from relations somebody else wrote down: a thesaurus, tags, an index, a one-line summary of the text.
"""

import glob
import gzip
import html
import json
import os
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

GEMET = (
    Path(os.environ.get("HEMEROTECA_SHARED_DATA", Path(__file__).parent.parent.parent / "shared" / "data")) / "gemet"
)
LISTS = "/var/lib/apt/lists/*"
MANUAL = Path("/usr/share/doc/python3.11/html")
MANUAL_PAGES = Path("/usr/share/man")
MAX_QUERIES = 400

Qrels = dict[str, dict[str, int]]


class Collection(NamedTuple):
    documents: list[dict[str, str]]
    queries: dict[str, str]
    qrels: Qrels


def main() -> None:
    folder = Path(sys.argv[1])
    for name, make in COLLECTIONS.items():
        try:
            collection = make()
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name}: left out ({error})", file=sys.stderr)
            continue
        collection = sampled(collection)
        write(folder / name, collection)
        print(f"{name}: {len(collection.documents):,} documents, {len(collection.queries)} queries")


def sampled(collection: Collection) -> Collection:
    """With no more than `MAX_QUERIES` queries, the same every time."""
    chosen = random.Random(1).sample(sorted(collection.queries), min(MAX_QUERIES, len(collection.queries)))
    return collection._replace(queries={qid: collection.queries[qid] for qid in chosen})


def write(folder: Path, collection: Collection) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "documents.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in collection.documents)
    lines = [f"{qid}\t{' '.join(text.split())}\n" for qid, text in collection.queries.items()]
    (folder / "queries.tsv").write_text("".join(lines), "utf-8")
    judged = [
        f"{qid}\t0\t{document}\t{grade}\n"
        for qid in collection.queries
        for document, grade in collection.qrels[qid].items()
    ]
    (folder / "qrels.tsv").write_text("".join(judged), "utf-8")


# GEMET: a thesaurus of the environment


def gemet_term() -> Collection:
    """The definition of a term, which often does without the term."""
    labels, definitions, _ = _gemet("en")
    ids = [concept for concept in definitions if concept in labels]
    documents = [{"id": concept, "text": definitions[concept]} for concept in ids]
    return Collection(documents, {c: labels[c] for c in ids}, {c: {c: 1} for c in ids})


def gemet_related() -> Collection:
    """Concepts next to one in the thesaurus, asked for by its name."""
    labels, definitions, related = _gemet("en")
    return _related(labels, definitions, related, lambda concept: labels[concept])


def gemet_long() -> Collection:
    """The same, asked for with a whole paragraph."""
    labels, definitions, related = _gemet("en")
    return _related(labels, definitions, related, lambda concept: definitions.get(concept, ""))


def gemet_es() -> Collection:
    """Spanish names of concepts: documents of a few words."""
    labels, definitions, related = _gemet("es")
    return _related(labels, definitions, related, lambda concept: labels[concept])


def _related(
    labels: dict[str, str],
    definitions: dict[str, str],
    related: dict[str, set[str]],
    query: Callable[[str], str],
) -> Collection:
    documents = [{"id": c, "title": label, "text": definitions.get(c, label)} for c, label in labels.items()]
    queries = {c: query(c) for c in labels if query(c) and len(related[c] & labels.keys()) >= 3}
    return Collection(documents, queries, {c: dict.fromkeys(related[c] & labels.keys(), 1) for c in queries})


def _gemet(language: str) -> tuple[dict[str, str], dict[str, str], dict[str, set[str]]]:
    skos, rdf = "{http://www.w3.org/2004/02/skos/core#}", "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
    labels, definitions = {}, {}
    for node in ET.parse(GEMET / f"gemet-definitions-{language}.rdf").getroot():
        concept = node.get(f"{rdf}about", "").rpartition("/")[2]
        if label := node.findtext(f"{skos}prefLabel"):
            labels[concept] = label
        if definition := node.findtext(f"{skos}definition"):
            definitions[concept] = definition
    related: dict[str, set[str]] = defaultdict(set)
    for node in ET.parse(GEMET / "gemet-skoscore.rdf").getroot().iter(f"{skos}Concept"):
        concept = node.get(f"{rdf}about", "").rpartition("/")[2]
        for kind in ("broader", "narrower", "related"):
            for other in node.iter(f"{skos}{kind}"):
                related[concept].add(other.get(f"{rdf}resource", "").rpartition("/")[2])
    return labels, definitions, related


# Debian


def debtags() -> Collection:
    """Packages with the tags somebody gave them; a query is a pair of tags, written as words."""
    documents, tagged = [], defaultdict(set)
    for block in _packages():
        fields = dict(re.findall(r"^(Package|Description|Tag): ((?:.*)(?:\n .*)*)", block, re.M))
        if "Tag" not in fields or len(documents) >= 20_000:
            continue
        summary = fields["Description"]
        documents.append({"id": fields["Package"], "title": fields["Package"], "text": summary})
        for tag in re.findall(r"(?:use|works-with|field|game|sound|security|protocol)::[\w:-]+", fields["Tag"]):
            tagged[tag].add(fields["Package"])
    queries, qrels = {}, {}
    tags = sorted(tagged)
    for at, one in enumerate(tags):
        for other in tags[at + 1 :]:
            both = tagged[one] & tagged[other]
            if one.partition("::")[0] != other.partition("::")[0] and 3 <= len(both) <= 60:
                qid = f"{one}+{other}"
                queries[qid] = re.sub(r"\W+", " ", f"{one.partition('::')[2]} {other.partition('::')[2]}")
                qrels[qid] = dict.fromkeys(both, 1)
    return Collection(documents, queries, qrels)


def _packages() -> Iterator[str]:
    files = [file for file in glob.glob(f"{LISTS}_main_binary-*_Packages*") if "-security" not in file]
    if not files:
        raise FileNotFoundError("no list of packages")
    command = ["lz4cat", max(files, key=lambda file: Path(file).stat().st_size)]
    yield from subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n\n")


def software(language: str) -> Collection:
    """Descriptions of programs; a query is the one-line summary, not part of the text."""
    files = glob.glob(f"{LISTS}dep11_Components*.yml.gz")
    if not files:
        raise FileNotFoundError("no AppStream data")
    documents, queries = [], {}
    text = gzip.decompress(Path(files[0]).read_bytes()).decode("utf-8")
    for at, block in enumerate(text.split("\n---\n")[1:]):
        summary = _translated(block, "Summary", language)
        description = _translated(block, "Description", language)
        if len(description) > 100 and summary:
            documents.append({"id": f"d{at}", "text": html.unescape(re.sub(r"<[^>]+>", " ", description))})
            queries[f"d{at}"] = summary
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


def _translated(block: str, field: str, language: str) -> str:
    """The value of `field: {language: …}` in the flat YAML of AppStream."""
    part = re.search(rf"^{field}:\n((?:  .*\n?)+)", block, re.M)
    found = part and re.search(rf"^  {language}: ?((?:.*)(?:\n    .*|\n$)*)", part[1], re.M)
    value = re.sub(r"\s+", " ", found[1]).strip() if found else ""
    return re.sub(r"^>-?\s*", "", value).strip("'\"")


def manual_pages() -> Collection:
    """Manual pages; a query is the line that says what the command is for, not part of the text."""
    documents: list[dict[str, str]] = []
    queries: dict[str, str] = {}
    for section in ("man1", "man8", "man7", "man5"):
        for file in sorted((MANUAL_PAGES / section).glob("*.gz")):
            if (
                file.is_symlink()
                or file.name.startswith("gcloud")
                or file.stat().st_size > 60_000
                or len(documents) >= 5000
            ):
                continue
            source = gzip.decompress(file.read_bytes()).decode("utf-8", "replace")
            named = re.search(r'^\.S[Hh] "?NAME"?\n(.+?)(?=^\.S[Hh])', source, re.M | re.S | re.I)
            line = re.sub(r"\s+", " ", _roff(named[1])) if named else ""
            _, dash, purpose = line.partition(" - ")
            body = _roff(source[named.end() :]) if named else ""
            if dash and len(purpose.split()) >= 3 and len(body) > 300 and purpose not in queries.values():
                documents.append({"id": file.name, "text": body})
                queries[file.name] = purpose
    if not documents:
        raise FileNotFoundError("no manual pages")
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


def _roff(source: str) -> str:
    source = re.sub(r'^[.\'](?:\\"|TH|so|if|ie|el|de|ds|nr|tr|ft|\.).*$', "", source, flags=re.M)
    source = re.sub(r"^[.'][A-Za-z]{1,2}\s*", "", source, flags=re.M)
    source = re.sub(r"\\f(?:\[[^]]*\]|\(..|.)|\\s[+-]?\d+|\\&|\\[|^:]|\\\"[^\n]*", "", source)
    return re.sub(r"\\\((?:hy|en|em)|\\-", "-", source).replace("\\e", "\\").replace('"', " ")


def python_manual() -> Collection:
    """Sections of the manual; a query is an entry of its index."""
    index = (MANUAL / "genindex-all.html").read_text("utf-8")
    sections: dict[str, str] = {}
    for file in MANUAL.glob("*/*.html"):
        page = file.read_text("utf-8")
        for part in re.split(r"(?=<section id=)", page)[1:]:
            if name := re.match(r'<section id="([^"]+)"', part):
                for anchor in [name[1], *re.findall(r'\bid="([^"]+)"', part)]:
                    sections.setdefault(f"{file.parent.name}/{file.name}#{anchor}", f"{file.name}#{name[1]}")
                text = html.unescape(re.sub(r"<[^>]+>", " ", part)).replace("¶", " ")
                sections[f"text {file.name}#{name[1]}"] = re.sub(r"\s+", " ", text)
    documents = [{"id": key[5:], "text": text} for key, text in sections.items() if key.startswith("text ")]
    queries, qrels = {}, {}
    for number, (href, label) in enumerate(re.findall(r'<li><a href="([^"]+)">([^<]+)</a>', index)):
        words = re.sub(r"\W+", " ", html.unescape(label)).strip()
        if href in sections and len(words.split()) >= 2:
            queries[str(number)] = words
            qrels[str(number)] = {sections[href]: 1}
    return Collection(documents, queries, qrels)


COLLECTIONS: dict[str, Callable[[], Collection]] = {
    "gemet-term": gemet_term,
    "gemet-related": gemet_related,
    "gemet-long": gemet_long,
    "gemet-es": gemet_es,
    "debtags": debtags,
    "software-en": lambda: software("C"),
    "software-es": lambda: software("es"),
    "software-fr": lambda: software("fr"),
    "software-de": lambda: software("de"),
    "manual-pages": manual_pages,
    "python-manual": python_manual,
}


if __name__ == "__main__":
    main()
