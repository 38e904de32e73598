"""Tantivy's tokenizers, stemmers and stop words, as functions from text to words.

They also make the terms of queries, whichever engine holds the index: both sides must cut words alike.
"""

from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

MAX_WORD = 40  # letters; longer ones are no words


@cache
def words(long_ones: bool = False) -> TextAnalyzer:
    """Words in small letters without accents."""
    return _folded(Tokenizer.simple(), long_ones)


@cache
def pieces() -> TextAnalyzer:
    """What stands between spaces, in small letters without accents."""
    return _folded(Tokenizer.whitespace(), False)


def analyze(text: str, spaced: bool = True, long_ones: bool = False) -> list[str]:
    """Terms of a text; `spaced`: its words are found here, otherwise they stand between spaces already."""
    return (words(long_ones) if spaced else pieces()).analyze(text)


def positions(text: str) -> list[tuple[int, str]]:
    """Terms of a text with their places among its words."""
    return [(token.position, token.text) for token in words().pre_tokenize(text).tokens]


@cache
def stemmer(name: str) -> TextAnalyzer:
    """Stems of words that stand between spaces; `name` is the engine's of the language."""
    builder = TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer(name))
    return builder.filter(Filter.ascii_fold()).build()


@cache
def without_stop_words(name: str = "", own: tuple[str, ...] = ()) -> TextAnalyzer:
    """Words without those that say nothing, by the engine's list of a language or one of our own."""
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.lowercase())
    if own:
        builder = builder.filter(Filter.custom_stopword(list(own)))
    elif name:
        builder = builder.filter(Filter.stopword(name))
    return builder.build()


def _folded(tokenizer: Tokenizer, long_ones: bool) -> TextAnalyzer:
    builder = TextAnalyzerBuilder(tokenizer)
    if not long_ones:
        builder = builder.filter(Filter.remove_long(MAX_WORD))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold()).build()
