"""From text to terms: tokens, stop words, stems and accents, per language.

Each supported language has its own body field in the index (`body_es`), so that a page is stemmed once, by its own
rules, and a query word is looked up in the form it takes in each language the index holds. Accents are removed after
stemming: the stemmers know them, readers who type without them still find the page.
"""

from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

# ISO 639-1 → the engine's name of the stemmer. Other languages are indexed word by word, without stems.
STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
PLAIN = "xx"  # every other language, and pages whose language is not known
BIGRAMS = "cjk"  # scripts without spaces: pairs of characters are the terms
_BIGRAM_LANGUAGES = frozenset(("zh", "ja", "ko", "th"))
_ALIASES = {"nb": "no", "nn": "no"}
LONGEST_WORD = 40

_NO_STOP_LIST = frozenset(("ar", "el", "ro", "tr"))  # the engine ships none for these
_CATALAN_STOP_WORDS = (
    "a al als amb aquell aquella aquelles aquells aquest aquesta aquestes aquests això allò bé com d de del dels des "
    "dins doncs el els em en ens entre era eren es és eren està estan ets fa fins ha han hem heu hi ho i jo l la les "
    "li ll llavors m ma mentre mes més meu meva mi molt n na ni no nosaltres o on per perquè però pel pels poc qual "
    "quals quan que què qui s sa se sense ser ses seu seus seva seves si sí sobre són sota també te té tenen teu ton un una "
    "unes uns va van vosaltres"
).split()  # noqa: SIM905

FIELDS = (*sorted((*STEMMERS, "ca")), BIGRAMS, PLAIN)


def field_of(language: str) -> str:
    """The suffix of the body field for a page in `language`."""
    language = language[:2].lower()
    language = _ALIASES.get(language, language)
    if language in STEMMERS or language == "ca":
        return language
    return BIGRAMS if language in _BIGRAM_LANGUAGES else PLAIN


@cache
def analyzer(field: str) -> TextAnalyzer:
    """What turns a page or a query into terms of the body field `field`."""
    if field == BIGRAMS:
        return TextAnalyzerBuilder(Tokenizer.ngram(2, 2)).filter(Filter.lowercase()).build()
    builder = (
        TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
    )
    if field == "ca":
        builder = builder.filter(Filter.custom_stopword(_CATALAN_STOP_WORDS))
    elif field in STEMMERS and field not in _NO_STOP_LIST:
        builder = builder.filter(Filter.stopword(STEMMERS[field]))
    if field in STEMMERS:
        builder = builder.filter(Filter.stemmer(STEMMERS[field]))
    return builder.filter(Filter.ascii_fold()).build()


@cache
def word_analyzer(field: str) -> TextAnalyzer:
    """The same without stop words and length limit: exactly one term for each word."""
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase())
    if field in STEMMERS:
        builder = builder.filter(Filter.stemmer(STEMMERS[field]))
    return builder.filter(Filter.ascii_fold()).build()


def terms(text: str, field: str) -> list[str]:
    return analyzer(field).analyze(text)
