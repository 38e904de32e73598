"""In which language a text is written, as far as it tells."""

from hemeroteca.search import analysis


def written_in(text: str, said: str) -> str:
    """The language a document is said to be in, unless its script is another: then, or when nothing is said, a guess.

    The script decides by which field a document is found, so a wrong label would hide it.
    """
    if said and analysis.fits_script(text, said):
        return said
    guessed = language_of(text)
    return guessed if analysis.fits_script(text, guessed) else analysis.language_by_script(text)


def language_of(text: str) -> str:
    from resiliparse.parse.lang import detect_fast

    language, distance = detect_fast(text[:5000])
    return language if distance < 1200 and language != "unknown" else ""
