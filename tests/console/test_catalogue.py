"""Every text of the console in Spanish, and the compiled catalogue as fresh as its source."""

import gettext
import io
import re
from pathlib import Path

from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.utils.translation.template import templatize

import hemeroteca
from hemeroteca import config
from hemeroteca.geo.description import TYPES
from hemeroteca.watch.models import CATEGORIES

ROOT = Path(hemeroteca.__file__).parent
CATALOGUE = ROOT / "console/locale/es/LC_MESSAGES/django.po"
ROOMS = ("console", "accounts", "search")
KEYWORDS = {**DEFAULT_KEYWORDS, "gettext_lazy": None, "gettext_noop": None, "Note": None}


def texts():
    """Every text of templates and code that is marked for translation."""
    for room in ROOMS:
        for file in (ROOT / room).rglob("*.py"):
            yield from extract("python", io.BytesIO(file.read_bytes()), KEYWORDS)
        for file in (*(ROOT / room).rglob("*.html"), *(ROOT / room).rglob("templates/**/*.txt")):
            # what Django makes of a template for gettext's tools reads like JavaScript
            yield from extract("javascript", io.BytesIO(templatize(file.read_text("utf-8")).encode()), KEYWORDS)


def translations(catalogue):
    """Texts with their translations; of those with a plural both forms."""
    return {_key(message.id): _key(message.string) for message in catalogue if message.id and message.string}


def _key(text):
    return text if isinstance(text, str) else tuple(text)


def test_every_text_is_translated():
    with CATALOGUE.open("rb") as file:
        known = {text if isinstance(text, str) else text[0] for text in translations(read_po(file))}
    used = {text if isinstance(text, str) else text[0] for _, text, _, _ in texts()}
    assert len(used) > 300
    assert used - known == set()


def test_readers_are_spoken_to_as_friends_everywhere():
    """Spanish has two ways to say you, with other verbs; a page that mixes them reads like two people."""
    formal = re.compile(
        r"\b(ustede?s?|Elija|Escriba|Pulse|Pruebe|Añada|Vuelva|Use|Ponga|Haga|Indique|Dele|inténtel[ao]|compruébel[ao]|"
        r"escríbal[ao]|divídal[ao]|elíjal[ao]|úsel[ao]|cámbiel[ao]|compártal[ao]|escribirle|o espere|le importan?)\b"
        r"|, ponga|; use",
        re.IGNORECASE,
    )
    with CATALOGUE.open("rb") as file:
        said = [" ".join(text) if isinstance(text, tuple) else text for text in translations(read_po(file)).values()]
    said += [file.read_text("utf-8") for file in (ROOT / "console/templates/console/help/es").glob("*.html")]
    said += [(ROOT.parent / "README.es.md").read_text("utf-8"), (ROOT / "replay/server.py").read_text("utf-8")]
    assert [text for text in said if formal.search(text)] == []


def test_every_setting_is_explained_in_spanish():
    with CATALOGUE.open("rb") as file:
        known = translations(read_po(file))
    assert {purpose for _, _, purpose in config.describe()} - known.keys() == set()


def test_the_topics_of_sites_as_they_begin_are_named_in_spanish():
    with CATALOGUE.open("rb") as file:
        assert set(CATEGORIES.values()) - translations(read_po(file)).keys() == set()


def test_types_of_geographic_services_are_described_in_spanish():
    with CATALOGUE.open("rb") as file:
        assert set(TYPES.values()) - translations(read_po(file)).keys() == set()


def test_the_compiled_catalogue_is_fresh():
    with CATALOGUE.open("rb") as source, CATALOGUE.with_suffix(".mo").open("rb") as compiled:
        assert translations(read_mo(compiled)) == translations(read_po(source)), "run `make messages`"


def test_the_compiled_catalogue_is_one_that_gettext_reads():
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        catalogue = gettext.GNUTranslations(file)
    assert catalogue.gettext("Search") == "Buscar"
    assert catalogue.ngettext("%(number)s version", "%(number)s versions", 3) == "%(number)s versiones"
