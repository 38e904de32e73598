"""More collections of the shapes public ones have, made after the ranking was settled: none served to choose a weight.

    apt-get download wordnet-base libreoffice-help-es libreoffice-help-en-us gimp-help-es gimp-help-en apache2-doc \
        gnome-user-docs linux-doc-6.1 git-doc fortunes-es manpages-es manpages-fr
    for package in *.deb; do dpkg -x $package unpacked; done
    python -m bench.unseen unpacked [PATTERN]

Definitions of one sentence (as in Quora), related articles (SciDocs, NFCorpus), whole articles as queries (ArguAna),
documents of thousands of words, passages of 100 words (MS MARCO, MIRACL), questions, text in capitals, codes and
options, wrong or missing languages, copies that are all relevant.
"""

import glob
import gzip
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from bench import heldout
from bench.collections import MANUAL_PAGES, Collection, Qrels, _roff
from bench.shapes import Sections, Source, first, halves, headings, made, manual, middle

Make = Callable[[Path], Collection]


def main() -> None:
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    chosen = {name: make for name, make in COLLECTIONS.items() if pattern.search(name)}
    heldout.measure(chosen, Path(sys.argv[1]), "unseen")


# WordNet: definitions of one sentence, and what they are next to


def definitions(root: Path) -> Collection:
    """A definition without its words, asked for by words of the synset."""
    senses = _senses(root, "noun", 20_000)
    documents = [{"id": sense, "text": gloss} for sense, (_, gloss, _, _) in senses.items()]
    queries = {sense: words[0] for sense, (words, _, _, _) in senses.items() if " " in words[0]}
    return _one_each(documents, queries)


def examples(root: Path) -> Collection:
    """A sentence that uses a word, asked for the definition of the word."""
    senses = _senses(root, "verb", 20_000)
    documents = [{"id": s, "text": f"{', '.join(words)}: {gloss}"} for s, (words, gloss, _, _) in senses.items()]
    queries = {sense: said for sense, (_, _, _, said) in senses.items() if len(said.split()) > 4}
    return _one_each(documents, queries)


def neighbours(root: Path) -> Collection:
    """Synsets a synset points at, asked for by its words and definition; it is in the collection itself."""
    senses = _senses(root, "noun", 20_000)
    documents = [{"id": s, "title": ", ".join(w), "text": gloss} for s, (w, gloss, _, _) in senses.items()]
    queries, qrels = {}, {}
    for sense, (words, gloss, others, _) in senses.items():
        if len(known := [other for other in others if other in senses]) >= 3:
            queries[sense] = f"{words[0]} {gloss}"
            qrels[sense] = dict.fromkeys(known, 1)
    return Collection(documents, queries, qrels)


def _senses(root: Path, part: str, most: int) -> dict[str, tuple[list[str], str, list[str], str]]:
    """id → words, definition, ids it points at, a sentence of use."""
    files = glob.glob(f"{root}/**/wordnet/data.{part}", recursive=True)
    found = {}
    for line in Path(files[0]).read_text("utf-8", "replace").splitlines() if files else []:
        data, bar, gloss = line.partition(" | ")
        parts = data.split()
        if not bar or line.startswith(" "):
            continue
        count = int(parts[3], 16)
        words = [word.replace("_", " ") for word in parts[4 : 4 + 2 * count : 2]]
        pointers = parts[4 + 2 * count :]
        others = [to for to, kind in zip(pointers[2::4], pointers[3::4], strict=False) if kind == part[0]]
        said = re.search(r'"([^"]+)"', gloss)
        found[parts[0]] = (words, gloss.partition(';"')[0].partition('; "')[0].strip(), others, said[1] if said else "")
    chosen = sorted(random.Random(2).sample(sorted(found), min(most, len(found))))
    return {sense: found[sense] for sense in chosen}


# GNOME's help: pages that name other pages


def help_pages(code: str) -> Source:
    def pages(root: Path) -> Sections:
        return [(title, text) for _, title, _, text, _ in _mallard(root, code)]

    return pages


def help_by_purpose(code: str) -> Make:
    def purposes(root: Path) -> Collection:
        """A page of help by the sentence that says what it is for, which is not part of the text."""
        pages = _mallard(root, code)
        documents = [{"id": name, "title": title, "text": text} for name, title, _, text, _ in pages]
        return _one_each(documents, {name: purpose for name, _, purpose, _, _ in pages if len(purpose.split()) > 3})

    return purposes


def help_related(code: str) -> Make:
    def related(root: Path) -> Collection:
        """Pages a page names, by its title and purpose."""
        pages = _mallard(root, code)
        names = {name for name, *_ in pages}
        documents = [{"id": name, "title": title, "text": text} for name, title, _, text, _ in pages]
        queries, qrels = {}, {}
        for name, title, purpose, _, links in pages:
            if len(others := (links & names) - {name}) >= 2:
                queries[name] = f"{title} {purpose}"
                qrels[name] = dict.fromkeys(sorted(others), 1)
        return Collection(documents, queries, qrels)

    return related


def _mallard(root: Path, code: str) -> list[tuple[str, str, str, str, set[str]]]:
    """Name, title, purpose, text and names of other pages."""
    found = []
    for file in sorted(glob.glob(f"{root}/**/help/{code}/gnome-help/*.page", recursive=True)):
        source = Path(file).read_text("utf-8", "replace")
        info = re.search(r"<info>.*?</info>", source, re.S)
        title = re.search(r"<title>(.*?)</title>", source[info.end() :] if info else source, re.S)
        purpose = re.search(r"<desc>(.*?)</desc>", info[0], re.S) if info else None
        if info is None or title is None:
            continue
        rest = source[info.end() :].replace(title[0], " ", 1)
        links = {name.partition("#")[0] for name in re.findall(r'<link[^>]+xref="([^"]+)"', source)}
        text = heldout.plain(rest)
        if len(text) > 200:
            said = heldout.plain(purpose[1]) if purpose else ""
            found.append((Path(file).stem, heldout.plain(title[1]), said, text, links))
    return found


# manual pages: what they refer to


def see_also(folder: str, named: str, by_name: bool) -> Make:
    def pages(root: Path) -> Collection:
        """Pages named under SEE ALSO, by the line that says what a page is for."""
        base = f"{root}/**/man/{folder}" if folder else str(MANUAL_PAGES)
        documents, queries, wanted = [], {}, {}
        for file in sorted(glob.glob(f"{base}/man[1578]/*.gz", recursive=True))[:6000]:
            name = Path(file).name.partition(".")[0]
            if Path(file).is_symlink() or Path(file).stat().st_size > 60_000 or name.startswith("gcloud"):
                continue
            source = gzip.decompress(Path(file).read_bytes()).decode("utf-8", "replace")
            head = re.search(r"^\.S[Hh] [^\n]+\n(.+?)(?=^\.S[Hh])", source, re.M | re.S)
            also = re.search(rf'^\.S[Hh] "?(?:{named})"?\n(.+?)(?=^\.S[Hh]|\Z)', source, re.M | re.S)
            line = re.sub(r"\s+", " ", _roff(head[1])) if head else ""
            purpose = line.partition(" - ")[2]
            if head is None or name in wanted or not purpose:
                continue
            body = source[head.end() : also.start()] if also else source[head.end() :]
            documents.append({"id": name, "title": line, "text": _roff(body)})
            said = re.findall(r"([\w.-]+)\s*\(\d\w*\)", _roff(also[1])) if also else []
            wanted[name] = set(said) - {name}
            queries[name] = name.replace("-", " ") if by_name else purpose
        judged = {name: {o: 1 for o in sorted(others) if o in wanted} for name, others in wanted.items()}
        qrels: Qrels = {name: grades for name, grades in judged.items() if len(grades) >= 2}
        return Collection(documents, {name: queries[name] for name in qrels}, qrels)

    return pages


# shapes of sections


def whole(sections: Sections) -> Collection:
    """The sections next to one, by its whole text (150 words and more); it is in the collection itself."""
    documents = [{"id": str(at), "text": f"{heading}. {text}"} for at, (heading, text) in enumerate(sections)]
    queries = {str(at): text for at, (_, text) in enumerate(sections) if 150 <= len(text.split()) <= 1500}
    qrels: Qrels = {qid: {str(at): 1 for at in _next_to(int(qid), len(sections))} for qid in queries}
    return Collection(documents, queries, qrels)


def very_long(sections: Sections) -> Collection:
    """A quarter of a text by the rest of it: queries of a thousand words and more."""
    documents, queries = [], {}
    for at, (heading, text) in enumerate(sections):
        words = text.split()[:4000]
        if len(words) > 1000:
            queries[str(at)] = " ".join(words[len(words) // 4 :])
        documents.append({"id": str(at), "title": heading, "text": " ".join(words[: len(words) // 4])})
    return _one_each(documents, queries)


def passages(sections: Sections) -> Collection:
    """Passages of 100 words with the title of their text; those of a section by its heading, as a question is put."""
    documents: list[dict[str, str]] = []
    queries, qrels = {}, {}
    for at, (heading, text) in enumerate(sections):
        words = text.split()
        grades = {}
        for part, start in enumerate(range(0, min(len(words), 1000), 100)):
            number = f"{at}#{part}"
            documents.append({"id": number, "text": " ".join(words[start : start + 100])})
            grades[number] = 1
        queries[str(at)], qrels[str(at)] = heading, grades
    return Collection(documents, queries, qrels)


def asked_in_spanish(sections: Sections) -> Collection:
    forms = ("¿Cómo puedo usar {}?", "¿Qué es {} y para qué sirve?", "¿Dónde se encuentra {} en el menú?", "{}")
    return _put(headings(sections), forms)


def asked_in_english(sections: Sections) -> Collection:
    forms = (
        "how do i use {}?",
        "What is {} and why would I want it?",
        "Is there any way to get {} working on my computer",
        "{}",
    )
    return _put(headings(sections), forms)


def _put(collection: Collection, forms: tuple[str, ...]) -> Collection:
    put = {qid: forms[at % len(forms)].format(text) for at, (qid, text) in enumerate(collection.queries.items())}
    return collection._replace(queries=put)


def sentences(sections: Sections) -> Collection:
    """Documents of one sentence; the sentences next to one, by it."""
    documents: list[dict[str, str]] = []
    qrels: Qrels = {}
    queries = {}
    for _, text in sections:
        said = [s for s in re.split(r"(?<=[.?!])\s+(?=[A-ZÁÉÍÓÚÑ¿¡À])", text) if 5 <= len(s.split()) <= 40]
        numbers = [str(len(documents) + at) for at in range(len(said))]
        documents += [{"id": number, "text": sentence} for number, sentence in zip(numbers, said, strict=True)]
        for at, number in enumerate(numbers):
            near = [other for other in numbers[max(0, at - 2) : at + 3] if other != number]
            if len(near) >= 3:
                queries[number], qrels[number] = said[at], dict.fromkeys(near, 1)
    return Collection(documents, queries, qrels)


def shouted(sections: Sections) -> Collection:
    """Everything in capitals, queries too."""
    made = middle(sections)
    documents = [{**row, "title": row["title"].upper(), "text": row["text"].upper()} for row in made.documents]
    return Collection(documents, {qid: text.upper() for qid, text in made.queries.items()}, made.qrels)


def shouted_documents(sections: Sections) -> Collection:
    """Documents in capitals, queries not."""
    return shouted(sections)._replace(queries=headings(sections).queries, qrels=headings(sections).qrels)


def wrong_language(sections: Sections) -> Collection:
    """Every document says that it is in a language it is not in."""
    made = headings(sections)
    codes = ("fr", "zh", "xx", "", "de")
    return made._replace(documents=[{**row, "lang": codes[at % len(codes)]} for at, row in enumerate(made.documents)])


def copies(sections: Sections) -> Collection:
    """Five copies of every document, nearly the same, on three hosts; all are relevant."""
    made = middle(sections)
    documents = [
        {
            **row,
            "id": f"{row['id']}-{copy}",
            "url": f"https://host{copy % 3}.example.org/{row['id']}/{copy}",
            "text": f"{row['text']} Copy {copy}.",
        }
        for row in made.documents
        for copy in range(5)
    ]
    return Collection(documents, made.queries, {qid: {f"{qid}-{copy}": 1 for copy in range(5)} for qid in made.queries})


def codes(sections: Sections) -> Collection:
    """Sections by the options, numbers and names with signs in them."""
    sign = re.compile(r"(?<!\S)(?:--?[a-z][\w-]+|[A-Za-z]+[_:/.\d-][\w:/.-]*\w|\d[\d.,x]*\d|[A-Z]{2,}\d+)(?=[\s,;)])")
    documents = [{"id": str(at), "text": f"{heading}. {text}"} for at, (heading, text) in enumerate(sections)]
    spread: dict[str, set[str]] = {}
    for row in documents:
        for code in set(sign.findall(row["text"])):
            spread.setdefault(code, set()).add(row["id"])
    queries, qrels = {}, {}
    for number, (code, having) in enumerate(sorted(spread.items())):
        if 2 <= len(having) <= 8:
            queries[f"c{number}"], qrels[f"c{number}"] = f"use of {code}", dict.fromkeys(sorted(having), 1)
    return Collection(documents, queries, qrels)


def _next_to(at: int, count: int) -> list[int]:
    return [other for other in range(max(0, at - 2), min(count, at + 3)) if other != at]


def _one_each(documents: list[dict[str, str]], queries: dict[str, str]) -> Collection:
    return Collection(documents, queries, {qid: {qid: 1} for qid in queries})


def quotations(root: Path) -> Collection:
    """A second half of a Spanish saying by its first."""
    documents, queries = [], {}
    for file in sorted(glob.glob(f"{root}/**/fortunes/es/*.fortunes", recursive=True)):
        for saying in Path(file).read_text("utf-8", "replace").split("\n%\n"):
            words = saying.partition("\t\t--")[0].split()
            if 16 <= len(words) <= 120:
                number = str(len(documents))
                documents.append({"id": number, "text": " ".join(words[len(words) // 2 :])})
                queries[number] = " ".join(words[: len(words) // 2])
    return _one_each(documents, queries)


def mixed(*sources: Source) -> Source:
    return lambda root: [section for source in sources for section in source(root)[:600]]


LIBREOFFICE = {code: manual(f"libreoffice/help/{code}/text/**/*.html", 150) for code in ("es", "en-US")}
GIMP = {code: manual(f"gimp/2.0/help/{code}/*.html", 150) for code in ("es", "en")}
APACHE = {
    code: manual(f"apache2-doc/manual/{code}/**/*.html", 150) for code in ("en", "es", "fr", "de", "tr", "pt-br", "ja")
}
LINUX = manual("linux-doc-6.1/html/*/**/*.html", 150)
GIT = manual("git/html/**/*.html", 150)
LONG_FILES = manual("linux-doc-6.1/html/*/*.html", 6000)
COLLECTIONS: dict[str, Make] = {
    "wordnet-definitions": definitions,
    "wordnet-examples": examples,
    "wordnet-neighbours": neighbours,
    **{f"help-{code}-purpose": help_by_purpose(code) for code in ("C", "es", "fr", "de", "it", "pt_BR", "ca", "ru")},
    **{f"help-{code}-related": help_related(code) for code in ("C", "es", "fr", "de", "it", "ca")},
    "help-es-halves": made(halves, help_pages("es")),
    "help-es-asked": made(asked_in_spanish, help_pages("es")),
    "manual-also": see_also("", "SEE ALSO", by_name=False),
    "manual-also-names": see_also("", "SEE ALSO", by_name=True),
    "manual-also-es": see_also("es", "VÉASE TAMBIÉN", by_name=False),
    "manual-also-fr": see_also("fr", "VOIR AUSSI", by_name=False),
    **{f"office-es-{shape.__name__}": made(shape, LIBREOFFICE["es"]) for shape in (headings, asked_in_spanish)},
    "office-es-first": made(first, LIBREOFFICE["es"]),
    "office-es-sentences": made(sentences, LIBREOFFICE["es"]),
    "office-en-asked": made(asked_in_english, LIBREOFFICE["en-US"]),
    "office-en-whole": made(whole, LIBREOFFICE["en-US"]),
    "office-en-codes": made(codes, LIBREOFFICE["en-US"]),
    "gimp-es-passages": made(passages, GIMP["es"]),
    "gimp-es-whole": made(whole, GIMP["es"]),
    "gimp-en-copies": made(copies, GIMP["en"]),
    "gimp-en-sentences": made(sentences, GIMP["en"]),
    **{f"apache-{code}-headings": made(headings, source) for code, source in APACHE.items()},
    "apache-mixed-headings": made(headings, mixed(*APACHE.values())),
    "apache-mixed-middle": made(middle, mixed(*APACHE.values())),
    "apache-en-wrong-language": made(wrong_language, APACHE["en"]),
    "apache-es-wrong-language": made(wrong_language, APACHE["es"]),
    "apache-en-codes": made(codes, APACHE["en"]),
    "apache-fr-middle": made(middle, APACHE["fr"]),
    "linux-whole": made(whole, LINUX),
    "linux-shouted": made(shouted, LINUX),
    "linux-shouted-documents": made(shouted_documents, LINUX),
    "linux-asked": made(asked_in_english, LINUX),
    "linux-codes": made(codes, LINUX),
    "linux-passages": made(passages, LINUX),
    "linux-long-headings": made(headings, LONG_FILES),
    "linux-very-long": made(very_long, LONG_FILES),
    "git-headings": made(headings, GIT),
    "git-codes": made(codes, GIT),
    "git-very-long": made(very_long, manual("git/html/**/*.html", 5000)),
    "sayings-es": quotations,
}


if __name__ == "__main__":
    main()
