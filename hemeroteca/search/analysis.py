"""From text to terms: tokens, stop words, stems and accents, per language.

The index holds words as they are written, of all languages together, in small letters and without accents (scripts
without spaces have a field of their own, for pairs of characters). Stems and stop words are a matter of the query
(`vocabulary`, `planner`): stemming every word of every page would cost as much as all the rest of indexing, and a
language guessed wrongly for a short page would hide it (docs/decisions/0048-weights-of-words.md).
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from hemeroteca.search.tantivy import analyzers

# ISO 639-1 → the engine's name of the stemmer. Other languages are indexed word by word, without stems.
_STEMMERS = """
    ar:arabic da:danish de:german el:greek en:english es:spanish fi:finnish fr:french hu:hungarian
    it:italian nl:dutch no:norwegian pt:portuguese ro:romanian ru:russian sv:swedish tr:turkish
"""
STEMMERS = dict(pair.split(":") for pair in _STEMMERS.split())
LANGUAGES = frozenset((*STEMMERS, "ca"))  # whose words are found in all their forms
OWN_SCRIPT = frozenset(("ar", "el", "ru"))  # … whatever else the index holds
WORDS = "words"  # the field of languages that write spaces
BIGRAMS = "pairs"  # … and of scripts without: pairs of characters are the terms; words of other scripts stay whole
_BIGRAM_LANGUAGES = frozenset(("zh", "ja", "ko", "th"))
SCRIPT_SAMPLE = 1000  # characters by which the script of a text is told
SPACELESS = (
    "\u0e00-\u0e7f\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)

_NO_STOP_LIST = frozenset(("ar", "el", "ro", "tr"))  # the engine ships none for these
_CATALAN_STOP_WORDS = """
    a això al allò als amb aquell aquella aquelles aquells aquest aquesta aquestes aquests bé com d de del dels des
    dins doncs el els em en ens entre era eren es estan està ets fa fins ha han hem heu hi ho i jo l la les li ll
    llavors m ma mentre mes meu meva mi molt més n na ni no nosaltres o on pel pels per perquè però poc qual quals
    quan que qui què s sa se sense ser ses seu seus seva seves si sobre sota sí són també te tenen teu ton té un una
    unes uns va van vosaltres és
"""

FIELDS = (WORDS, BIGRAMS)


@lru_cache(maxsize=1000)
def field_of(language: str) -> str:
    """The suffix of the body field for a page in `language`."""
    return BIGRAMS if code_of(language) in _BIGRAM_LANGUAGES else WORDS


def prepared(text: str, field: str) -> str:
    """The text as the engine's analyzer should get it: what the engine cannot do (pairs) is done here."""
    if field != BIGRAMS:
        return text
    return " ".join([_pairs(match) for match in re.finditer(_WORD if text.isascii() else _PIECE, text)])


def terms(text: str, field: str) -> list[str]:
    """Words of a text as the index has them."""
    return analyzers.analyze(prepared(text, field), spaced=field != BIGRAMS)


def stems(words: Iterable[str], language: str) -> dict[str, str]:
    """The stem of each term: those that share it are forms of one word.

    Terms have lost their accents, which stemmers of some languages look for: they are put back where an ending cannot
    be meant without.
    """
    words = list(words)
    if language == "ca":
        return {word: _catalan_stem(word) for word in words}
    if language not in STEMMERS:
        return {word: word for word in words}
    known = _known_stems.setdefault(language, {})
    new = [word for word in words if word not in known]
    if new:
        if sum(map(len, _known_stems.values())) > _MAX_STEMS:
            _known_stems.clear()
            known, new = _known_stems.setdefault(language, {}), words
        written = new
        for pattern, accented in _ACCENTED.get(language, ()):
            written = [pattern.sub(accented, word) for word in written]
        analyze = analyzers.stemmer(STEMMERS[language]).analyze
        found = analyze(" ".join(written))
        if len(found) != len(new):  # the engine splits what is one word here
            found = [(analyze(word) or [word])[0] for word in written]
        known.update(zip(new, found, strict=True))
    return {word: known[word] for word in words}


_known_stems: dict[str, dict[str, str]] = {}
_MAX_STEMS = 60_000  # words remembered with their stems, over all languages
_ACCENTED = {
    "pt": [(re.compile(r"oes$"), "ões"), (re.compile(r"ao$"), "ão"), (re.compile(r"c(ã|õ)"), r"ç\1")],
    "fr": [(re.compile(r"ee(s?)$"), r"ée\1")],
}


def is_spaceless(term: str) -> bool:
    """Whether a term is of a script without spaces."""
    return not term.isascii() and re.match(_SPACELESS, term) is not None


def has_spaceless(text: str) -> bool:
    return not text.isascii() and re.search(_SPACELESS, text) is not None


def fits_script(text: str, language: str) -> bool:
    """Whether a text can be in `language` by the script it is written in: with or without spaces between words."""
    start = text[:SCRIPT_SAMPLE]
    spaceless = 0 if start.isascii() else len(re.findall(_SPACELESS, start))
    if field_of(language) == BIGRAMS:
        return spaceless > 0 or not start.strip()
    return spaceless <= len(start) // 4


def language_by_script(text: str) -> str:
    """The language a text without spaces is probably in; empty for one with spaces."""
    if fits_script(text, ""):
        return ""
    scripts = (("ja", "[\u3040-\u30ff]"), ("ko", "[\uac00-\ud7af]"), ("th", "[\u0e00-\u0e7f]"))
    return next((code for code, letters in scripts if re.search(letters, text[:SCRIPT_SAMPLE])), "zh")


# compiled when they are needed: so many characters take 3 ms each, and most texts have none of them
_SPACELESS = f"[{SPACELESS}]"
_WORD = r"[^\W_]+"
_PIECE = rf"([{SPACELESS}]+)|[^\W_{SPACELESS}]+"


def _pairs(piece: re.Match[str]) -> str:
    """美術館 → 美術 術館; a word of another script as it is, so that `museo` never matches pieces of other words."""
    text = piece.group()
    if piece.lastindex is None or len(text) < 2:
        return text
    return " ".join([text[at : at + 2] for at in range(len(text) - 1)])


@lru_cache(maxsize=20_000)
def _catalan_stem(word: str) -> str:
    """Number and gender only: ciutats → ciutat, biblioteques → bibliotec, cancons → canc. Short words stay whole."""
    if len(word) < 4:
        return word
    stem = re.sub(r"(?:ons|s)$", "", word) if len(word) > 4 else word
    stem = re.sub(r"[aeo]$", "", stem)
    return re.sub(r"j$", "g", re.sub(r"qu$", "c", stem))


# Words a question is asked with and that say nothing about its subject. They stay in the index (they may be part of a
# phrase); a query leaves them out while it has other words. Written without accents.
_QUESTION_WORDS = {
    "en": """a about am an are be been being can could d did do does doing for from had has have having he her here him
        his how i if in is it its ll m me my of or our please re s she should so t than that the their them there these
        they this those to us ve was we were what when where which who whom whose why will with would you your""",
    "es": """a ante como cual cuales cuando cuanta cuantas cuanto cuantos dame de del dime donde el ella en era eran
        eres es esta estan este esto fue fueron ha hace hacer hay la las le lo los me mi mis para por porque puede
        pueden puedo que quien quienes quiero se sea ser si sobre son su sus te tu un una unas unos y""",
    "fr": """a au aux ce ces cette combien comment dans de des donne du elle en est et etre il ils je la le les leur ma
        mes mon nous ou par pour pourquoi quand que quel quelle quelles quels qui quoi sa se ses son sont sur ta te tes
        ton tu un une vous""",
    "pt": """a ao aos as como da das de do dos e ela ele em era essa esse esta este estou foi ha isso me meu minha na
        nas no nos o onde os para pode por porque posso qual quais quando quanto quantos que quem se ser seu sua sao tem
        um uma""",
    "it": """a al che chi ci come con cosa cui da dal dei del della delle di dove e ha ho i il in io la le lo ma mi nel
        perche per posso puo qual quale quali quando quanti quanto se si sono su tu un una uno""",
    "de": """als am an auf aus bei bin bis das dass dem den der des die du durch ein eine einem einen einer er es fur
        gibt hat ich ihr im in ist kann man mein mit nach oder sie sind uber um und von wann warum was welche welchem
        welchen welcher welches wem wen wenn wer werden wie wieso wird wo zu zum zur""",
    "ca": """a al als amb com de del dels el els en es ha hi i la les lo on per perque quan quant quants que quin quina
        quines quins qui se si son un una""",
}


def stop_words_of(words: Sequence[str], languages: Sequence[tuple[str, float]], asked: str = "") -> frozenset[str]:
    """Which words of a query say nothing: stop words and those a question is asked with.

    `languages` come with their share of the index. A word can say nothing in one language and much in another
    (German `war`, `die`), so those of one language count, the one most words say nothing in; a single word is not
    enough for a language few pages are in, unless the query is known to be `asked` in it. Capitals mean a name (WHO),
    unless the whole query shouts.
    """
    shouted = all(word.isupper() for word in words)
    small = [word for word in words if shouted or len(word) < 2 or not word.isupper()]
    best: frozenset[str] = frozenset()
    of_common = False  # those of a common language give way only to clearly more: `war in Iraq` is not German
    for language, share in languages:
        found = frozenset(word for word in small if is_stop_word(word, language))
        if share >= COMMON or language == asked:
            least = len(best) + 1
        else:
            least = max(CLEARLY, len(best) + (CLEARLY if of_common else 1))
        if len(found) >= least:
            best, of_common = found, share >= COMMON
    return best


COMMON = 0.3  # share of a language that is expected in any query
CLEARLY = 2  # little words by which another language must be ahead


def pieces(word: str) -> list[str]:
    """What an apostrophe joins: `l'eau` is `'l` and `eau`, `what's` is `what` and `'s`. Letters keep it: see below."""
    if word.isalnum():
        return [word]
    return [part if len(part) > 1 else f"'{part}" for part in _APOSTROPHE.split(word) if part]


_APOSTROPHE = re.compile("(?<=\\w)['’ʼ](?=\\w)")
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")


@lru_cache(maxsize=20_000)
def is_stop_word(word: str, language: str) -> bool:
    """A consonant says something (vitamin D, T cells) unless an apostrophe cut it off (`l'eau`, `what's`)."""
    if word.lower() in _CONSONANTS:
        return False
    if fold(word) in _question_words(language):
        return True
    return not _has_content(word, language) and any(map(str.isalnum, word))


@cache
def _question_words(language: str) -> frozenset[str]:
    return frozenset(_QUESTION_WORDS.get(language, "").split())


def _has_content(word: str, language: str) -> bool:
    """Whether a word is not in the list of stop words of a language."""
    own = tuple(_CATALAN_STOP_WORDS.split()) if language == "ca" else ()
    name = "" if language in _NO_STOP_LIST else STEMMERS.get(language, "")
    return bool(analyzers.without_stop_words(name, own).analyze(word))


def fold(word: str) -> str:
    """Small letters without accents, as all terms are written."""
    return "".join(analyzers.analyze(word, long_ones=True)) or word.lower()


def positioned(text: str, field: str) -> list[tuple[int, str]]:
    """Terms with their place among the words."""
    if field == BIGRAMS:
        return list(enumerate(terms(text, field)))
    return analyzers.positions(text)


def word_terms(words: list[str]) -> list[str]:
    """The term of each word, stop words included."""
    together = all_words(" ".join(words))
    if len(together) == len(words):
        return together
    # Python and the engine disagree about what a letter is in some script: one by one
    return [(all_words(word) or [word])[0] for word in words]


def all_words(text: str) -> list[str]:
    """Terms of a text, very long words included."""
    return analyzers.analyze(text, long_ones=True)


def code_of(language: str) -> str:
    """ISO 639-1 of what people write: es, es-VE, spa, Spanish, español."""
    language = re.split(r"[-_]", language.strip().lower())[0]
    return _CODES.get(language, language if len(language) == 2 else "")


_CODES = {
    name: code
    for code, names in {
        "ar": "ara arabic árabe",
        "ca": "cat catalan catalán català",
        "da": "dan danish danés",
        "de": "deu ger german alemán deutsch",
        "el": "ell gre greek griego",
        "en": "eng english inglés ingles",
        "es": "spa spanish español espanol castellano",
        "fi": "fin finnish finés",
        "fr": "fra fre french francés français",
        "hu": "hun hungarian húngaro",
        "it": "ita italian italiano",
        "ja": "jpn japanese japonés",
        "ko": "kor korean coreano",
        "nl": "nld dut dutch neerlandés",
        "no": "nor nob nno nb nn norwegian noruego",
        "pt": "por portuguese portugués português",
        "ro": "ron rum romanian rumano",
        "ru": "rus russian ruso",
        "sv": "swe swedish sueco",
        "th": "tha thai tailandés",
        "tr": "tur turkish turco",
        "zh": "zho chi chinese chino",
    }.items()
    for name in names.split()
}
