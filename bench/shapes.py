"""Collections of the shapes public ones have, made of manuals: claims, questions, whole paragraphs as queries, copies.

    apt-get download postgresql-doc-15 installation-guide-amd64 debian-faq debian-faq-fr debian-faq-pt aptitude-doc-es \
        debian-reference-es dict-jargon dict-foldoc dict-gcide dict-wn
    for package in *.deb; do dpkg -x $package unpacked; done
    python -m bench.shapes unpacked [PATTERN]

A section of a manual is found by its heading, by its first sentence or one of its middle (taken out of the text), by
its first half, by a question about it. The weights of the ranking
(docs/decisions/0048-weights-of-words.md) were chosen on the headings of
faq-en, faq-pt, guide-de, -es, -fr, -pt and postgresql, on the middles of aptitude, guide-de, -es, -fr, postgresql and
python, on postgresql-first and -halves, and on GEMET and the Python manual of `bench.collections`; all others were
measured afterwards.
"""

import glob
import gzip
import re
import sys
from collections.abc import Callable
from pathlib import Path

from bench import heldout
from bench.collections import Collection, Qrels

Sections = list[tuple[str, str]]  # heading, text
Shape = Callable[[Sections], Collection]
Source = Callable[[Path], Sections]


def main() -> None:
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    chosen = {name: make for name, make in COLLECTIONS.items() if pattern.search(name)}
    heldout.measure(chosen, Path(sys.argv[1]), "shapes")


# shapes


def headings(sections: Sections) -> Collection:
    """The text of a section by its heading."""
    documents = [{"id": str(at), "text": text} for at, (_, text) in enumerate(sections)]
    return _one_each(documents, {str(at): heading for at, (heading, _) in enumerate(sections)})


def asked(sections: Sections) -> Collection:
    """The same in the words of a question."""
    made = headings(sections)
    form = "What is the best way to deal with {} in my database?"
    return made._replace(queries={qid: form.format(text) for qid, text in made.queries.items()})


def first(sections: Sections) -> Collection:
    """The rest of a section, with its heading as title, by its first sentence."""
    return _without_a_sentence(sections, lambda count: 0)


def middle(sections: Sections) -> Collection:
    """The same by a sentence of its middle: a claim."""
    return _without_a_sentence(sections, lambda count: count // 2)


def halves(sections: Sections, title: bool = True) -> Collection:
    """The second half of a section by its first half, up to 2,000 characters; ids with odd characters."""
    documents, queries = [], {}
    for at, (heading, text) in enumerate(sections):
        words = text[:4000].split()
        half = len(words) // 2
        documents.append({"id": f"ñ#{at}/b", "title": heading if title else "", "text": " ".join(words[half:])})
        if half > 40:
            queries[f"ñ#{at}/b"] = " ".join(words[:half])
    return _one_each(documents, queries)


def halves_untitled(sections: Sections) -> Collection:
    return halves(sections, title=False)


def same_title(sections: Sections) -> Collection:
    """Every title is the same."""
    made = middle(sections)
    return made._replace(documents=[{**row, "title": "Chapter of the manual"} for row in made.documents])


def same_host(sections: Sections) -> Collection:
    """All documents are of one host."""
    made = middle(sections)
    url = "https://docs.example.org/a/{}.html"
    return made._replace(documents=[{**row, "url": url.format(row["id"])} for row in made.documents])


def doubled(sections: Sections) -> Collection:
    """Every document twice, nearly the same; both are relevant."""
    made = middle(sections)
    copies = [{**row, "id": f"{row['id']}-b", "text": f"{row['text']} Also."} for row in made.documents]
    both: Qrels = {qid: {qid: 1, f"{qid}-b": 1} for qid in made.queries}
    return Collection([*made.documents, *copies], made.queries, both)


def around(sections: Sections) -> Collection:
    """Two to four words, many relevant documents: the sections next to one, by its heading."""
    documents = [{"id": str(at), "title": heading, "text": text} for at, (heading, text) in enumerate(sections)]
    queries = {str(at): heading for at, (heading, _) in enumerate(sections) if 2 <= len(heading.split()) <= 4}
    qrels: Qrels = {
        qid: {str(other): 1 for other in range(max(0, int(qid) - 3), min(len(sections), int(qid) + 4))} | {qid: 2}
        for qid in queries
    }
    return Collection(documents, queries, qrels)


def _without_a_sentence(sections: Sections, which: Callable[[int], int]) -> Collection:
    documents, queries = [], {}
    for at, (heading, text) in enumerate(sections):
        sentences = re.split(r"(?<=[.?!])\s+(?=[A-ZÁÉÍÓÚÑ¿¡À])", text)
        if len(sentences) >= 4:
            taken = sentences.pop(which(len(sentences)))
            if 6 <= len(taken.split()) <= 60:
                queries[str(at)] = taken
        documents.append({"id": str(at), "title": heading, "text": " ".join(sentences)})
    return _one_each(documents, queries)


def _one_each(documents: list[dict[str, str]], queries: dict[str, str]) -> Collection:
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


# sources


def manual(files: str, least: int = 300) -> Source:
    """Sections of HTML files between their headings."""

    def sections(root: Path) -> Sections:
        found: Sections = []
        seen: set[str] = set()
        for file in sorted(glob.glob(files if files.startswith("/") else f"{root}/**/{files}", recursive=True)):
            page = Path(file).read_text("utf-8", "replace")
            page = re.sub(r"<(script|style|head)\b.*?</\1>", " ", page, flags=re.S | re.I)
            page = re.sub(r'<div class="nav(header|footer)">.*?</div>', " ", page, flags=re.S)
            parts = re.split(r"(<h[1-6][^>]*>.*?</h[1-6]>)", page, flags=re.S | re.I)
            for head, body in zip(parts[1::2], parts[2::2], strict=True):
                heading = re.sub(r"^[\dA-Z]?[\d.\s]+", "", heldout.plain(head)).strip(" ¶#")
                text = heldout.plain(body)
                new = not seen & {heading, text[:200]}
                if new and len(text) >= least and len(heading.split()) > 1 and len(heading) < 150:
                    seen |= {heading, text[:200]}
                    found.append((heading, text))
        return found

    return sections


def dictionary(name: str) -> Source:
    def entries(root: Path) -> Sections:
        files = glob.glob(f"{root}/**/{name}.dict.dz", recursive=True)
        text = gzip.decompress(Path(files[0]).read_bytes()).decode("utf-8", "replace") if files else ""
        found = []
        for part in re.split(r"\n(?=\S)", text)[:30_000]:
            head, _, body = part.partition("\n")
            body = re.sub(r"\s+", " ", body).strip()
            if len(body) > 150:
                found.append((head.strip(), body))
        return found

    return entries


def made(shape: Shape, source: Source) -> Callable[[Path], Collection]:
    return lambda root: shape(source(root))


POSTGRESQL = manual("postgresql-doc-15/html/*.html")
PYTHON = manual("/usr/share/doc/python3.11/html/**/*.html")
COLLECTIONS: dict[str, Callable[[Path], Collection]] = {
    **{
        f"postgresql-{shape.__name__}": made(shape, POSTGRESQL)
        for shape in (headings, asked, first, middle, halves, halves_untitled, same_title, same_host, doubled, around)
    },
    **{f"python-{shape.__name__}": made(shape, PYTHON) for shape in (headings, middle, halves)},
    **{
        f"faq-{code}-headings": made(headings, manual(f"FAQ/{folder}*.html", 150))
        for code, folder in (("en", ""), ("fr", "fr/"), ("pt", "pt/"))
    },
    **{
        f"guide-{code}-headings": made(headings, manual(f"installation-guide-amd64/{code}/*.html", 200))
        for code in ("en", "es", "fr", "de", "it", "pt", "ca", "ru", "nl", "sv")
    },
    **{
        f"guide-{code}-middle": made(middle, manual(f"installation-guide-amd64/{code}/*.html", 200))
        for code in ("es", "fr", "de")
    },
    "aptitude-headings": made(headings, manual("aptitude/html/es/*.html", 150)),
    "aptitude-middle": made(middle, manual("aptitude/html/es/*.html", 150)),
    "reference-headings": made(headings, manual("debian-reference-es/docs/*.html", 200)),
    "reference-middle": made(middle, manual("debian-reference-es/docs/*.html", 200)),
    "jargon-headings": made(headings, dictionary("jargon")),
    "jargon-halves": made(halves, dictionary("jargon")),
    "foldoc-middle": made(middle, dictionary("foldoc")),
    "foldoc-halves": made(halves, dictionary("foldoc")),
    "gcide-middle": made(middle, dictionary("gcide")),
}


if __name__ == "__main__":
    main()
