"""Saved searches: told of what is new, of nothing twice."""

import json

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.errors import Refused
from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.instance import Instance
from hemeroteca.search.index import open_index
from hemeroteca.watch import notices, saved_searches, services
from hemeroteca.watch.fields import ChannelOrder
from hemeroteca.watch.models import Notice, SavedSearch

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def index(settings, tmp_path):
    settings.INSTANCE = Instance(tmp_path / "data")
    settings.INSTANCE.create()
    opened = open_index(None, settings.INSTANCE.index_dir)

    def put(key, text, captured_ms=1_700_000_000_000):
        with opened.writer(15 << 20) as writer:
            url = f"https://a.example/{key}"
            writer.put(
                SearchDocument(
                    key=key, url=url, host="a.example", title=f"Página {key}", text=text, language="es",
                    captured_ms=captured_ms,
                )
            )  # fmt: skip
            writer.commit()

    put(1, "el faro viejo del puerto")
    return put


@pytest.fixture
def channel(index):
    return services.add_channel(SYSTEM, ChannelOrder(target="https://hook.example/"))[0]


@pytest.fixture
def looker(settings, index):
    return saved_searches.SavedSearchRun(settings.INSTANCE.index_dir)


def told(kind="match"):
    return [[result["url"] for result in n.facts["results"]] for n in Notice.objects.filter(kind=kind).order_by("pk")]


def test_what_matched_before_is_not_told_and_what_is_new_is_told_once(index, channel, looker, settings):
    saved_searches.save(SYSTEM, "faro")
    assert looker.run() == 0
    index(2, "un faro nuevo", captured_ms=1_000_000_000_000)  # captured long ago, indexed now: an import
    index(3, "nada de nada")
    assert looker.run() == 1
    assert told() == [["https://a.example/2"]]
    index(2, "el faro nuevo cambia de color")
    index(1, "el faro viejo cambia también")
    assert looker.run() == 0
    assert saved_searches.SavedSearchRun(settings.INSTANCE.index_dir).run() == 0  # after a restart
    assert told() == [["https://a.example/2"]]
    assert SavedSearch.objects.get().found == 1


def test_every_word_is_required_but_for_little_ones(index, channel, looker):
    saved_searches.save(SYSTEM, "el faro del bosque")
    index(2, "un faro nuevo en el cabo")
    index(3, "un faro en un bosque")
    index(4, "el bosque")
    looker.run()
    assert told() == [["https://a.example/3"]]


def test_alternatives_filters_and_text_only_keep_their_meaning(index, channel, looker):
    saved_searches.save(SYSTEM, "grúa OR ballena", name="o")
    saved_searches.save(SYSTEM, "ballena host:b.example", name="otro sitio")
    saved_searches.save(SYSTEM, "inbody:página", name="solo título")
    index(2, "una ballena azul")
    looker.run()
    assert [n.facts["name"] for n in Notice.objects.all()] == ["o"]


def test_one_notice_for_all_that_is_new_at_a_look(index, channel, looker):
    saved_searches.save(SYSTEM, "ballena")
    for key in range(2, 30):
        index(key, f"la ballena {key}", captured_ms=1_700_000_000_000 + key)
    assert looker.run() == 28
    notice = Notice.objects.get()
    assert (notice.facts["count"], len(notice.facts["results"])) == (28, saved_searches.SHOWN)
    title, text = notices.message([notice], "es")
    assert title == "28 resultados nuevos de ballena"
    assert "la ballena 29" in text
    assert "… y 8 más\n" in text
    assert text.endswith("/?q=ballena")


def test_a_message_about_one_result_says_which(index, channel, looker):
    saved_searches.save(SYSTEM, "ballena")
    index(2, "la ballena azul")
    looker.run()
    title, text = notices.message(list(Notice.objects.all()), "en")
    assert title == "New result: Página 2"
    assert "https://a.example/2\nla ballena azul" in text


def test_channels_bound_to_something_else_are_not_told_and_a_digest_gathers(index, looker):
    services.set_collection(SYSTEM, "Prensa", {})
    services.add_channel(SYSTEM, ChannelOrder(target="https://one.example/", collection="Prensa"))
    digest, _ = services.add_channel(SYSTEM, ChannelOrder(target="https://two.example/", digest_hours=24))
    chosen, _ = services.add_channel(SYSTEM, ChannelOrder(target="https://three.example/", changes=False))
    saved_searches.save(SYSTEM, "ballena")
    saved_searches.save(SYSTEM, "azul", channel=chosen.pk)
    index(2, "la ballena azul")
    looker.run()
    assert sorted(Notice.objects.values_list("channel_id", "facts__name")) == [
        (digest.pk, "ballena"),
        (chosen.pk, "azul"),
    ]
    due = {n.channel_id: n.due_ms - n.created_ms for n in Notice.objects.all()}
    assert due[chosen.pk] < 10_000
    assert Notice.objects.get(channel=digest).due_ms % (24 * 3_600_000) == 0


@pytest.mark.parametrize("query", ["", "   ", "x" * 3000])
def test_what_cannot_be_saved_says_why(index, query):
    with pytest.raises(Refused, match="1 to 2000 characters"):
        saved_searches.save(SYSTEM, query)


@pytest.mark.parametrize("query", ["at:zz ((", "before:nunca", '"', "---"])
def test_a_search_that_could_never_match_is_not_saved(index, query):
    with pytest.raises(Refused, match="nothing of the query"):
        saved_searches.save(SYSTEM, query)
    assert saved_searches.saved() == []


def test_forgetting(index, channel, looker):
    number = saved_searches.save(SYSTEM, "ballena").pk
    saved_searches.remove(SYSTEM, number)
    index(2, "la ballena azul")
    assert looker.run() == 0
    with pytest.raises(Refused, match="no saved search"):
        saved_searches.remove(SYSTEM, number)


def test_a_webhook_gets_the_results(index, channel, looker, settings):
    saved_searches.save(SYSTEM, "ballena", name="Ballenas")
    index(2, "la ballena azul")
    looker.run()
    sent = []

    class Outgoing:
        def send(self, url, *, content, headers):
            sent.append(json.loads(content))
            return type("Answer", (), {"ok": True})

    assert notices.deliver(settings.CONFIG, Outgoing(), services.now_ms()) == 1
    event = sent[0]["events"][0]
    assert (event["kind"], event["name"], event["count"]) == ("match", "Ballenas", 1)
    assert event["results"][0]["url"] == "https://a.example/2"
    assert notices.deliver(settings.CONFIG, Outgoing(), services.now_ms()) == 0


def test_an_imported_document_has_no_time_of_capture(index, channel, looker):
    saved_searches.save(SYSTEM, "ballena")
    index(2, "la ballena azul", captured_ms=0)
    looker.run()
    assert Notice.objects.get().facts["results"][0]["captured"] == ""
