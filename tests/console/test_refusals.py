"""What services refuse is said in the reader's language, whatever somebody typed."""

import pytest
from django.utils import translation

from hemeroteca import urls
from hemeroteca.console.refusals import told
from hemeroteca.errors import Refused
from hemeroteca.watch import notices
from hemeroteca.wiki import wiki_address


@pytest.mark.parametrize(
    ("read", "typed", "said"),
    [
        (urls.typed, "", "'' no es una dirección web: está vacía"),
        (urls.typed, "mailto:a@b.c", "'mailto:a@b.c' no es una dirección web: parece una dirección de correo"),
        (urls.typed, "http://a.test:99999/", "'99999' no es un número de puerto (de 0 a 65535)"),
        (urls.typed, "https://a.test/" + "a" * 20_000, "caracteres"),
        (urls.canonical, "x", "le falta el principio; escríbela entera, como https://example.org/"),
        (wiki_address.read, "zz zz", "'zz zz' no es una wiki; da un idioma (es)"),
    ],
)
def test_a_wrong_address_is_refused_in_spanish(read, typed, said):
    with pytest.raises((urls.UrlError, Refused)) as refused:
        read(typed)
    with translation.override("es"):
        assert said in told(str(refused.value))


def test_a_channel_of_no_known_kind_is_refused_in_spanish():
    with translation.override("es"):
        assert "ftp:// no sirve; escribe https:// para un webhook" in told(notices.check_apprise("ftp://x"))
