"""Did you mean, measured: misspelt words put right, right words left alone, against SymSpell.

    apt-get download gimp-help-en gimp-help-es libreoffice-help-es manpages-{es,fr,de,it,pt-br} wbritish wspanish \
        wfrench wngerman witalian wportuguese
    for package in *.deb; do dpkg -x $package unpacked; done
    pip download --no-deps codespell symspellpy      # unzip both into `unpacked`; or have them installed
    python -m bench.spelling unpacked [LANGUAGE …]

A model is learned from the texts of one language (and one from all of them, as an archive has them), by
`search.maintenance.learn` with its defaults, which reads the beginning of each; the rest is left out here. English
mistakes are people's (codespell's list); those of other languages are made: a letter left out, doubled, swapped or of a
neighbouring key, and what is heard the same (b/v, h, ll/y, g/j, c/s/z, qu/k). Words that are asked for stand in the
texts at least five times, the mistakes never. SymSpell gets the same words and frequencies.
"""

import gzip
import html
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from hemeroteca.search.suggest.language_model import Bounds, Learner, fold
from hemeroteca.search.suggest.suggester import Suggester

SAMPLE = 1500
MAX_DOCUMENTS = 10_000
TEXTS = {
    "en": ("usr/share/gimp/2.0/help/en/**/*.html",),
    "es": ("usr/share/gimp/2.0/help/es/**/*.html", "usr/share/man/es/man*/*.gz"),
    "fr": ("usr/share/man/fr/man*/*.gz",),
    "de": ("usr/share/man/de/man*/*.gz",),
    "it": ("usr/share/man/it/man*/*.gz",),
    "pt": ("usr/share/man/pt_BR/man*/*.gz",),
}
WORDS = {
    "en": "british-english",
    "es": "spanish",
    "fr": "french",
    "de": "ngerman",
    "it": "italian",
    "pt": "portuguese",
}
_HEARD = "b/v v/b h/ ll/y y/ll g/j j/g c/s z/s s/z qu/k k/qu m/n ss/s tt/t ph/f x/s"
HEARD = [pair.split("/") for pair in _HEARD.split()]
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
Correct = Callable[[str], str]


def main() -> None:
    root = Path(sys.argv[1])
    languages = sys.argv[2:] or list(TEXTS)
    texts = {
        language: [(title, text[: Bounds().text]) for title, text in documents(root, language)][:MAX_DOCUMENTS]
        for language in languages
    }
    print("model  words  kind                     asked  right@1  wrong  nothing | symspell right wrong")
    for language in languages:
        measure(root, language, language, {language: texts[language]})
    if len(languages) > 1:
        for language in languages:
            measure(root, "all", language, texts)


def measure(root: Path, model: str, language: str, texts: dict[str, list[tuple[str, str]]]) -> None:
    seen = Counter(word for _, text in texts[language] for word in re.findall(r"[^\W\d_]+", text.lower()))
    everywhere = {
        fold(word) for part in texts.values() for _, text in part for word in re.findall(r"[^\W\d_]+", text.lower())
    }
    dictionary = {
        fold(word.strip().lower()) for word in (root / "usr/share/dict" / WORDS[language]).open(errors="replace")
    }
    with tempfile.TemporaryDirectory() as folder:
        learner = Learner()
        for code, part in texts.items():
            for title, text in part:
                learner.add(title, text, code)
        learner.write(Path(folder))
        suggester = Suggester.load(Path(folder))
        assert suggester is not None
        symspell = by_symspell(root, seen)
        rng = random.Random(7)
        known = sorted(
            word for word, times in seen.items() if times >= 5 and len(word) >= 4 and fold(word) in dictionary
        )
        for kind, pairs in {
            "one mistake": list(mistakes(root, language, known, everywhere, rng, 1)),
            "two mistakes": list(mistakes(root, language, known, everywhere, rng, 2)),
            "two wrong words": list(both(texts[language], known, everywhere, rng)),
            "written as one": list(joined(texts[language], everywhere, rng)),
            "right, in the texts": [(word, word) for word in rng.sample(known, min(SAMPLE, len(known)))],
            "right, rare": [(w, w) for w in sorted(seen) if seen[w] <= 2 and fold(w) in dictionary and len(w) > 3][
                :SAMPLE
            ],
            "right, not in the texts": [
                (w, w) for w in rng.sample(sorted(dictionary - everywhere), SAMPLE) if len(w) > 3
            ],
        }.items():
            pairs = rng.sample(pairs, min(SAMPLE, len(pairs)))
            before = time.process_time()
            ours = tally(pairs, lambda typed: suggester.correct(typed) or typed)
            each = (time.process_time() - before) / max(1, len(pairs)) * 1e3
            peer = tally(pairs, symspell) if symspell else None
            told = f"{peer[0]:5.1f} {peer[1]:5.1f}" if peer else "    –     –"
            counted = "  ".join(f"{share:6.1f}" for share in ours)
            print(f"{model:5} {language:5}  {kind:24} {len(pairs):5}  {counted} | {told}   {each:.2f} ms")


def tally(pairs: list[tuple[str, str]], correct: Correct) -> tuple[float, float, float]:
    """Per cent right, changed to something wrong, left as typed though wrong."""
    right = wrong = nothing = 0
    for typed, meant in pairs:
        found = fold(correct(typed))
        right += found == fold(meant)
        nothing += found == fold(typed) != fold(meant)
        wrong += found not in (fold(meant), fold(typed))
    return tuple(100 * count / max(1, len(pairs)) for count in (right, wrong, nothing))  # type: ignore[return-value]


def documents(root: Path, language: str) -> Iterator[tuple[str, str]]:
    for pattern in TEXTS[language]:
        for file in sorted(root.glob(pattern)):
            raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            text = raw.decode("utf-8", "replace")
            if file.suffix == ".html":
                title = re.search(r"(?s)<title>(.*?)</title>", text)
                body = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", text)
                yield html.unescape(title.group(1)) if title else "", html.unescape(body)
            else:
                text = re.sub(r"(?m)^\.[A-Z]{2}\b|^[.'].*|\\f[A-Z(]\w?|\\[&%-]|\\\(..", " ", text)
                yield file.name.split(".")[0], text


def mistakes(
    root: Path, language: str, known: list[str], everywhere: set[str], rng: random.Random, edits: int
) -> Iterator[tuple[str, str]]:
    if language == "en" and edits == 1:
        wanted = {fold(word) for word in known}
        for line in next(root.glob("**/codespell_lib/data/dictionary.txt")).open(encoding="utf-8"):
            typed, _, meant = line.strip().partition("->")
            if meant in wanted and typed.isalpha() and fold(typed) not in everywhere:
                yield typed, meant
        return
    for word in rng.sample(known, min(2 * SAMPLE, len(known))):
        if len(word) < 4 + 2 * (edits - 1):
            continue
        typed = word
        for _ in range(edits):
            typed = made(typed, rng)
        if fold(typed) not in everywhere and fold(typed) != fold(word):
            yield typed, word


def made(word: str, rng: random.Random) -> str:
    """The word with one mistake."""
    heard = [(old, new) for old, new in HEARD if old in word]
    kind = rng.randrange(6)
    at = rng.randrange(1, len(word))
    if kind < 2 and heard:
        old, new = rng.choice(heard)
        return word.replace(old, new, 1)
    if kind == 2:
        return word[:at] + word[at + 1 :]
    if kind == 3:
        return word[: at + 1] + word[at:]
    if kind == 4 and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    row = next((row for row in ROWS if fold(word[at]) in row), "")
    if not row:
        return word[:at] + word[at + 1 :]
    place = row.index(fold(word[at]))
    return word[:at] + row[place - 1 if place else 1] + word[at + 1 :]


def both(
    texts: list[tuple[str, str]], known: list[str], everywhere: set[str], rng: random.Random
) -> Iterator[tuple[str, str]]:
    """Pairs of words of the texts, both misspelt."""
    right = set(known)
    found = 0
    for _, text in rng.sample(texts, len(texts)):
        for one, other in re.findall(r"([^\W\d_]{5,}) ([^\W\d_]{5,})", text.lower())[:5]:
            if one in right and other in right:
                typed = made(one, rng), made(other, rng)
                if not {fold(word) for word in typed} & everywhere:
                    yield " ".join(typed), f"{one} {other}"
                    found += 1
        if found > 3 * SAMPLE:
            return


def joined(texts: list[tuple[str, str]], everywhere: set[str], rng: random.Random) -> Iterator[tuple[str, str]]:
    pairs = Counter(
        pair for _, text in texts for pair in re.findall(r"(?=\b([^\W\d_]{4,} [^\W\d_]{4,})\b)", text.lower())
    )
    for pair, times in pairs.items():
        if times >= 4 and fold(pair.replace(" ", "")) not in everywhere:
            yield pair.replace(" ", ""), pair


def by_symspell(root: Path, seen: Counter[str]) -> Correct | None:
    package = next(root.glob("**/symspellpy/__init__.py"), None)
    if package is not None:
        sys.path.insert(0, str(package.parent.parent))
    try:
        from symspellpy import SymSpell, Verbosity
    except ImportError:
        return None
    peer = SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    folded: Counter[str] = Counter()
    for word, times in seen.items():
        folded[fold(word)] += times
    for word, times in folded.items():
        if times > 1:
            peer.create_dictionary_entry(word, times)

    def correct(typed: str) -> str:
        found = []
        for word in fold(typed).split():
            best = peer.lookup(word, Verbosity.TOP, max_edit_distance=2)
            found.append(best[0].term if best else word)
        return " ".join(found)

    return correct


if __name__ == "__main__":
    main()
