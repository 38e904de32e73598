"""What the code calls by a short word has a name for people, and truths and endings are said in their language."""

from typing import get_type_hints

import pytest
from django.utils import translation

from hemeroteca.accounts.permissions import SCOPES
from hemeroteca.console import names
from hemeroteca.console.templatetags import console as filters
from hemeroteca.jobs import kinds


def test_every_kind_of_job_and_every_area_has_a_name():
    ours = {name for name, kind in kinds.every().items() if kind.run.__module__.startswith("hemeroteca.")}
    assert ours == names.WORK.keys()
    assert set(SCOPES) == names.SCOPES.keys()


def test_whatever_a_job_tells_of_its_end_has_a_name():
    """Lists and what is inside others is shown elsewhere."""
    shown = {int, str, bool, int | None}
    told = {
        name
        for kind in kinds.every().values()
        if kind.run.__module__.startswith("hemeroteca.")
        for name, type_ in get_type_hints(get_type_hints(kind.run)["return"]).items()
        if type_ in shown
    }
    assert told <= names.RESULTS.keys()


@pytest.mark.parametrize(
    ("said", "spanish"),
    [
        (lambda: filters.work("archive.import"), "Importación de capturas"),
        (lambda: filters.work("other.thing"), "other.thing"),
        (lambda: filters.scope_name("crawl"), "rastreos"),
        (lambda: filters.with_roles("sol, subscriber"), "sol, suscriptor"),
        (lambda: filters.with_roles("reader → director; readership"), "lector → director; readership"),
        (lambda: filters.yes_no("True"), "sí"),
        (lambda: filters.yes_no(False), "no"),
        (lambda: filters.yes_no(1), 1),
        (lambda: filters.yes_no("Truely"), "Truely"),
        (lambda: filters.ending("exit code 0"), "código 0"),
        (lambda: filters.ending("killed by SIGKILL"), "killed by SIGKILL"),
    ],
)
def test_said_in_spanish(said, spanish):
    with translation.override("es"):
        assert said() == spanish
