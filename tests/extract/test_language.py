"""Languages by their little words, with the page's own word as a hint."""

import pytest

from hemeroteca.extract import language

SENTENCES = {
    "es": "La biblioteca guarda los periódicos que se publicaron en la ciudad durante el siglo pasado.",
    "en": "The library keeps the newspapers that were published in the city during the last century.",
    "pt": "A biblioteca guarda os jornais que foram publicados na cidade durante o século passado.",
    "fr": "La bibliothèque conserve les journaux qui ont été publiés dans la ville au siècle dernier.",
    "it": "La biblioteca conserva i giornali che sono stati pubblicati nella città durante il secolo scorso.",
    "de": "Die Bibliothek bewahrt die Zeitungen auf, die im letzten Jahrhundert in der Stadt erschienen sind.",
    "ca": "La biblioteca guarda els diaris que es van publicar a la ciutat durant el segle passat amb cura.",
    "nl": "De bibliotheek bewaart de kranten die in de vorige eeuw in de stad zijn verschenen.",
    "ro": "Biblioteca păstrează ziarele care au fost publicate în oraș și pe care nu le mai are nimeni.",
    "eu": "Liburutegiak joan den mendean hirian argitaratu ziren egunkariak gordetzen ditu eta ez du galtzen.",
    "ru": "Библиотека хранит газеты, которые выходили в городе в прошлом веке.",
    "el": "Η βιβλιοθήκη φυλάσσει τις εφημερίδες που εκδόθηκαν στην πόλη.",
    "ja": "図書館は前世紀に市内で発行された新聞を保管しています。",
    "zh": "图书馆保存着上个世纪在该市出版的报纸。",
    "ar": "تحتفظ المكتبة بالصحف التي نشرت في المدينة خلال القرن الماضي.",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_one_sentence_is_enough(name: str) -> None:
    assert language.detect(SENTENCES[name]) == name


@pytest.mark.parametrize("name", SENTENCES)
def test_a_false_declaration_does_not_mislead(name: str) -> None:
    assert language.detect(SENTENCES[name], "fi") == name
    assert language.detect(SENTENCES[name], "en-US") == name


def test_a_declaration_decides_what_the_text_leaves_open() -> None:
    assert language.detect("java.util.HashMap", "es-VE") == "es"
    assert language.detect("", "pt_BR") == "pt"
    assert language.detect("Hyvää päivää", "fi") == "fi"


def test_letters_that_stand_alone_are_no_french() -> None:
    assert language.detect("GNU R package for n-dimensional arrays in C, s3 classes") != "fr"
    assert language.detect("Library J, C, N bindings") == ""


@pytest.mark.parametrize("name", ["es", "en", "fr", "de"])
def test_capitals_are_read_as_small_letters(name: str) -> None:
    assert language.detect(SENTENCES[name].upper()) == name
    assert language.by_statistics(SENTENCES[name].upper()) == name


def test_texts_in_capitals_without_little_words_are_not_taken_for_chinese() -> None:
    listed = (
        "DIGITAL COMPUTERS MAGNETIC STORAGE SYSTEMS TRANSISTOR AMPLIFIER CIRCUITS IONOSPHERE MEASUREMENT EQUIPMENT "
    )
    assert language.detect(2 * listed) not in ("zh", "ja", "ko")


def test_unknown_is_said() -> None:
    assert language.detect("") == ""
    assert language.detect("1234 5678") == ""
    assert language.detect("xyzzy") == ""


@pytest.mark.parametrize(
    ("declared", "code"),
    [("es", "es"), ("ES-es", "es"), ("es, en", "es"), ("nb-NO", "no"), ("iw", "he"), ("spa", "es"), ("espanol", ""),
     ("", ""), ("-", ""), ("x", ""), ("en;q=1", "en")],
)  # fmt: skip
def test_how_languages_are_declared(declared: str, code: str) -> None:
    assert language.code(declared) == code
