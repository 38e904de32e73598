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


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox 128 on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
            "Safari/537.36 Edg/126.0.2592.87",
            "Edge 126 on Windows",
        ),
        (
            "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.71 "
            "Mobile Safari/537.36",
            "Chrome 126 on Android",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
            "Version/17.5 Mobile/15E148 Safari/604.1",
            "Safari 17 on iPhone",
        ),
        ("curl/8.9.1", "curl/8.9.1"),
        ("", ""),
    ],
)
def test_a_browser_is_called_as_people_call_it(user_agent, name):
    assert names.browser(user_agent) == name


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
