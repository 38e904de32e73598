"""A page of results: narrowed and widened without losing what was chosen, hosts judged where they are seen."""

import html
import re
from typing import ClassVar

import numpy as np
import pytest

from hemeroteca.ingest.search_document import SearchDocument
from hemeroteca.search import portal, semantic
from hemeroteca.search.index import SearchError
from hemeroteca.search.preferences import load_preferences, prefer
from tests.console.world import BREAD

pytestmark = [pytest.mark.database, pytest.mark.django_db]


def text(answer):
    return answer.content.decode()


def links(page, pattern):
    return [html.unescape(link) for link in re.findall(rf'href="(\?[^"]*{pattern}[^"]*)"', page)]


def put(*documents):
    with portal.searcher().index.writer(15 << 20) as writer:
        for document in documents:
            writer.put(document)
        writer.commit()


def test_a_condition_is_taken_away_and_the_order_stays(client, world):
    page = text(client.get("/", {"q": "pan OR harbour", "sort": "newest"}))
    narrowed = links(page, "host%3Anews")[0]
    assert narrowed == "?q=%28pan%20OR%20harbour%29%20host%3Anews.example&sort=newest"
    page = text(client.get("/" + narrowed))
    conditions = re.search(r'<ul class="conditions".*?</ul>', page, re.DOTALL)[0]
    back = html.unescape(re.search(r'href="([^"]+)"', conditions)[1])
    assert back == "?q=%28pan%20OR%20harbour%29&sort=newest"
    assert BREAD in text(client.get("/" + back))
    assert 'name="sort" value="newest"' in page, "the next query is in the same order"


def test_languages_have_names(client, world):
    put(
        *(
            SearchDocument(key=n, url=f"https://h{n}.example/", text="faro", language=code)
            for n, code in enumerate(("es", "zh", "xq"), 1)
        )
    )
    facets = re.search(
        r'<details class="facets".*?</details>',
        text(client.get("/", {"q": "faro"}, headers={"accept-language": "es"})),
        re.DOTALL,
    )[0]
    assert sorted(re.findall(r"lang%3A(\w+)\">([^<]+)<", facets)) == [("es", "Español"), ("xq", "xq"), ("zh", "Chino")]


def test_facets_stay_on_the_following_pages(client, world):
    put(
        *(
            SearchDocument(key=n, url=f"https://h{n % 3}.example/{n}", host=f"h{n % 3}.example", text=f"faro {n}" * n)
            for n in range(1, 26)
        )
    )
    assert links(text(client.get("/", {"q": "faro", "p": "2"})), "host%3Ah1")


def test_pages_with_about_the_same_text_can_be_seen_one_by_one(client, world):
    body = " ".join(f"palabra{n}" for n in range(200))
    put(
        *(
            SearchDocument(key=n, url=f"https://h{n}.example/", host=f"h{n}.example", title="Faro", text=body)
            for n in (1, 2, 3)
        )
    )
    page = text(client.get("/", {"q": "palabra7"}))
    assert page.count("<h2 lang") == 1
    assert "2 similar pages" in page
    page = text(client.get("/" + links(page, "each=1")[0]))
    assert page.count("<h2 lang") == 3
    assert links(page, "palabra7")[0] == "?q=palabra7", "and together again"


def test_a_query_that_finds_nothing_offers_what_would(client, world):
    page = text(client.get("/", {"q": '"pan panaderos" lang:en host:diario.example'}))
    offered = re.search(r'<ul class="offers".*?</ul>', page, re.DOTALL)[0]
    assert links(offered, "pan") == ["?q=pan%20panaderos"]
    assert BREAD in text(client.get("/" + links(offered, "pan")[0]))
    assert "sort=newest" not in page, "nothing to be ordered"


def test_nothing_is_offered_where_nothing_would_help(client, world):
    page = text(client.get("/", {"q": "zanahoria lang:es"}))
    assert "offers" not in page
    assert "Try fewer or other words" in page


def test_it_is_said_which_date_is_which(client, world):
    put(
        SearchDocument(
            key=1, url="https://h.example/", host="h.example", text="faro", captured_ms=10**12, published_ms=9 * 10**11
        )
    )
    page = re.sub(r"<[^>]+>", "", text(client.get("/", {"q": "faro"})))
    assert "published 9 Jul 1998" in page
    assert "captured 9 Sep 2001" in page


def test_documents_without_title_or_address_have_a_heading_and_no_false_link(client, world):
    put(
        SearchDocument(key=1, url="", id="expediente-7", text="faro sin dirección"),
        SearchDocument(key=2, url="javascript:alert(1)", id="e", title="Faro", text="faro peligroso"),
        SearchDocument(key=3, url="http://[::1", id="f", title="Faro", text="faro roto"),
    )  # fmt: skip
    page = text(client.get("/", {"q": "faro"}))
    assert ">expediente-7</h2>" in re.sub(r"\s+", " ", page)
    assert 'href="javascript' not in page
    assert 'href=""' not in page


def test_ordering_by_meaning_is_offered_where_the_model_is_installed(client, world, monkeypatch):
    monkeypatch.setattr(semantic, "installed", lambda: False)
    assert "By meaning" not in text(client.get("/", {"q": "pan"}))
    monkeypatch.setattr(semantic, "installed", lambda: True)
    page = text(client.get("/", {"q": "pan OR harbour"}))
    assert "By meaning" in page
    monkeypatch.setattr(semantic, "load_encoder", Letters)
    page = text(client.get("/" + links(page, "sort=meaning")[0]))
    assert BREAD in page
    assert Letters.asked[0] == "pan OR harbour"

    def missing():
        raise SearchError("semantic ranking needs a package that is missing; `pip install hemeroteca[semantic]`")

    monkeypatch.setattr(semantic, "load_encoder", missing)
    assert "pip install hemeroteca[semantic]" in text(client.get("/", {"q": "pan", "sort": "meaning"}))


class Letters:
    """A model that knows how often a text has each letter."""

    asked: ClassVar[list[str]] = []

    def encode(self, texts):
        self.asked.extend(texts)
        rows = np.array([[text.count(letter) + 0.1 for letter in "abcdefg"] for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_what_a_saved_search_ignores_is_said_when_it_is_saved(client, world, director):
    client.force_login(director)
    page = text(client.post("/searches", {"query": "pan before:nunca"}, follow=True))
    assert "You will be told" in page
    assert "`before:nunca` was ignored" in html.unescape(page)
    assert client.post("/searches", {"query": "before:nunca"}).status_code == 422


class TestExplaining:
    def test_a_result_leads_to_why_it_stands_there(self, client, world, instance):
        prefer(instance.index_dir, "diario.example", 2)
        page = text(client.get("/", {"q": "precio del pan"}))
        address = html.unescape(re.search(r'href="(/explain[^"]+)"', page)[1])
        page = text(client.get(address))
        for expected in ("Result 1", "the words", "the preference for its host", "× 2.000", "precio"):
            assert expected in page, expected
        assert "la preferencia por su servidor" in text(client.get(address, headers={"accept-language": "es"}))

    @pytest.mark.parametrize(
        ("query", "url", "said"),
        [("pan", "https://nowhere.example/", "is not in the index"), ("zanahoria", BREAD, "does not match the query"),
         ("pan", "<script>", "is not in the index"), ("", BREAD, "does not match"), ("pan", "", "is not in the index")],
    )  # fmt: skip
    def test_what_is_no_result_is_said(self, client, world, query, url, said):
        answer = client.get("/explain", {"q": query, "url": url})
        assert answer.status_code == 404
        assert said in text(answer)
        assert "<script>" not in text(answer).replace("<script src", "")

    def test_a_blocked_host_is_named(self, client, world, instance):
        prefer(instance.index_dir, "diario.example", 0)
        assert "diario.example is blocked" in text(client.get("/explain", {"q": "pan", "url": BREAD}))


class TestJudging:
    def test_a_host_is_judged_beside_its_result_and_the_reader_comes_back(self, client, world, director, instance):
        client.force_login(director)
        page = text(client.get("/", {"q": "pan"}))
        assert 'name="host" value="diario.example"' in page
        answer = client.post("/preferences", {"host": "diario.example", "factor": "0", "next": "/?q=pan"}, follow=True)
        assert answer.redirect_chain == [("/?q=pan", 302)]
        assert "Results of diario.example are not shown any more" in text(answer)
        assert BREAD not in text(answer)
        assert "1 page of blocked hosts matches" in text(answer)
        client.post("/preferences", {"host": "diario.example", "factor": ""})
        assert BREAD in text(client.get("/", {"q": "pan"}))

    def test_all_judgements_are_on_one_page(self, client, world, director, instance):
        prefer(instance.index_dir, "diario.example", 2)
        prefer(instance.index_dir, "evil.example", 0)
        client.force_login(director)
        page = text(client.get("/preferences"))
        assert "diario.example" in page
        assert "blocked, with its subdomains" in page
        answer = client.post("/preferences", {"host": "https://news.example/harbour", "factor": "0.5"}, follow=True)
        assert load_preferences(instance.index_dir).boosts == {"diario.example": 2, "news.example": 0.5}
        assert answer.status_code == 200

    @pytest.mark.parametrize(
        "given",
        [
            {"host": "no host", "factor": "2"},
            {"host": "a.example", "factor": "nan"},
            {"host": "a.example", "factor": "x"},
        ],
    )
    def test_what_cannot_be_is_said(self, client, world, director, instance, given):
        client.force_login(director)
        answer = client.post("/preferences", given)
        assert answer.status_code == 422
        assert 'role="alert"' in text(answer)
        assert load_preferences(instance.index_dir).boosts == {}

    def test_nobody_is_sent_to_another_site(self, client, world, director, instance):
        client.force_login(director)
        for elsewhere in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
            answer = client.post("/preferences", {"host": "a.example", "factor": "2", "next": elsewhere})
            assert answer.headers["Location"] == "/preferences"

    def test_readers_and_strangers_judge_nothing(self, client, world, reader, instance):
        assert (
            client.post("/preferences", {"host": "a.example", "factor": "0"}).headers["Location"].startswith("/sign-in")
        )
        assert client.get("/preferences").status_code == 302
        client.force_login(reader)
        assert client.post("/preferences", {"host": "a.example", "factor": "0"}).status_code == 403
        assert 'name="factor"' not in text(client.get("/", {"q": "pan"}))
        assert load_preferences(instance.index_dir).blocks == ()
