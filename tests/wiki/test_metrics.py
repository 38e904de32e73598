"""Reverts as mwreverts finds them, authorship as WikiWho finds it, and numbers that can be counted by hand."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hemeroteca.accounts import SYSTEM
from hemeroteca.wiki import queries
from hemeroteca.wiki.authorship import Version, authorship
from hemeroteca.wiki.reverts import Edit, reverts, undoings, wars
from tests.wiki.making import keep


@given(st.lists(st.integers(0, 12), max_size=80), st.integers(1, 20))
def test_reverts_are_those_of_mwreverts(texts, radius):
    mwreverts = pytest.importorskip("mwreverts")
    edits = [Edit(number, str(text), "u") for number, text in enumerate(texts)]
    detector, expected = mwreverts.Detector(radius), []
    for edit in edits:
        found = detector.process(edit.sha1, edit)
        if found:
            expected.append((found.reverting, tuple(found.reverteds), found.reverted_to))
    assert [(found.reverting, found.reverted, found.reverted_to) for found in reverts(edits, radius)] == expected


def test_a_hidden_text_can_be_reverted_but_not_reverted_to():
    edits = [Edit(1, "a", "Ana"), Edit(2, None, "Beto"), Edit(3, None, "Carla"), Edit(4, "a", "Ana")]
    (found,) = reverts(edits)
    assert [edit.revid for edit in found.reverted] == [3, 2]
    assert found.reverted_to.revid == 1


def test_who_undid_whom_and_wars():
    hour = 3_600_000
    users = ("Ana", "Beto", "Ana", "Beto", "Ana", "Beto")
    edits = [Edit(n, "ab"[n % 2], user, n * hour) for n, user in enumerate(users)]
    found = list(reverts(edits))
    assert [(row.by, row.of, row.count) for row in undoings(found)] == [("Ana", "Beto", 2), ("Beto", "Ana", 2)]
    (war,) = wars(found)
    assert (war.users, war.reverts, war.start, war.end) == (("Ana", "Beto"), 4, 2 * hour, 5 * hour)
    slow = [Edit(n, "ab"[n % 2], user, n * 48 * hour) for n, user in enumerate(users)]
    assert wars(list(reverts(slow))) == []


def story(seed: int) -> list[Version]:
    """A text of paragraphs edited at random: sentences added, words replaced, paragraphs removed, edits undone."""
    chance = random.Random(seed)
    words = [f"palabra{n}" for n in range(400)]
    paragraphs = [[" ".join(chance.sample(words, 12)) for _ in range(3)] for _ in range(4)]
    texts: list[str] = []
    for _ in range(40):
        kind = chance.random()
        if kind < 0.2 and len(texts) > 3:
            texts.append(chance.choice(texts[-4:]))
            paragraphs = [part.split(". ") for part in texts[-1].split("\n\n")]
            continue
        block = chance.choice(paragraphs)
        if kind < 0.5:
            block.insert(chance.randrange(len(block) + 1), " ".join(chance.sample(words, 10)))
        elif kind < 0.8:
            place = chance.randrange(len(block))
            found = block[place].split(" ")
            found[chance.randrange(len(found))] = chance.choice(words)
            block[place] = " ".join(found)
        elif len(paragraphs) > 2:
            paragraphs.remove(block)
        texts.append("\n\n".join(". ".join(block) for block in paragraphs))
    return [Version(n + 1, f"user{n % 5}", text) for n, text in enumerate(texts)]


@pytest.mark.parametrize("seed", range(5))
def test_authorship_agrees_with_wikiwho(seed):
    wikiwho = pytest.importorskip("WikiWho.wikiwho")
    utils = pytest.importorskip("WikiWho.utils")
    versions = story(seed)
    reference = wikiwho.Wikiwho("T")
    reference.analyse_article(
        [
            {"revid": v.revid, "*": v.text, "timestamp": "", "userid": 1, "user": v.user, "comment": "x", "minor": ""}
            for v in versions
        ]
    )
    last = reference.revisions[reference.ordered_revisions[-1]]
    expected = [(word.value, word.origin_rev_id) for word in utils.iter_rev_tokens(last)]
    read = [version for version in versions if version.revid in reference.revisions]  # it drops what it takes for spam
    got = [(token.text, token.added) for token in authorship(read).tokens]
    assert [text for text, _ in got] == [text for text, _ in expected]
    same = sum(a == b for a, b in zip(got, expected, strict=True))
    assert same / len(expected) > 0.97


def test_whoever_undoes_vandalism_does_not_become_an_author():
    text = "La casa es grande. El patio es chico.\n\nLa plaza es vieja."
    found = authorship([Version(1, "Ana", text), Version(2, "Vandal", "jaja"), Version(3, "Beto", text)])
    assert {token.user for token in found.tokens} == {"Ana"}
    authors = {author.user: author for author in found.authors()}
    assert (authors["Ana"].share, authors["Vandal"].present, authors["Vandal"].persistence) == (1.0, 0, 1.0)
    assert "Beto" not in authors
    assert authors["Ana"].persistence == 2.0


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_numbers_that_can_be_counted_by_hand(house):
    users = ["Ana"] * 7 + ["Beto"] * 2 + ["HelpBot"]
    sizes = [100, 200, 150, 400, 400, 300, 310, 320, 330, 340]
    keep(
        [
            ("Caracas", 1, n + 1, f"2026-03-{n + 1:02d}T{n:02d}:00:00Z", user, 1, size, ["a"] if n < 3 else [])
            for n, (user, size) in enumerate(zip(users, sizes, strict=True))
        ]
    )
    found = queries.metrics_of(SYSTEM, {"title": "Caracas"})
    assert found["summary"][0]["edits"] == 10
    assert found["edits_per_hour"][3] == {"hour": 3, "edits": 1}
    assert found["time_between_edits"] == [{"gaps": 9, "mean": 90000.0, "least": 90000, "most": 90000}]
    ana = found["editors"][0]
    assert (ana["user"], ana["edits"], ana["added"], ana["removed"]) == ("Ana", 7, 100 + 100 + 250 + 10, 50 + 100)
    assert found["largest_additions"][0]["revid"] == 4
    assert found["largest_deletions"][0]["revid"] == 6
    assert found["tags"] == [{"tag": "a", "edits": 3}]
    shares = {row["kind"]: row["share"] for row in found["kinds"]}
    assert shares == {"registered": 0.9, "bot": 0.1}
    tight = found["concentration"][0]
    assert (tight["editors"], tight["top_tenth"]) == (3, 0.7)
    assert tight["gini"] == pytest.approx((2 * (1 * 1 + 2 * 2 + 3 * 7)) / (3 * 10) - 4 / 3)
    assert found["reverts"]["count"] == 0
    from hemeroteca.wiki import metrics

    spec = metrics.chart("edits_per_day", found["edits_per_day"])
    assert len(spec["data"]["values"]) == 10
    assert spec["encoding"]["x"]["field"] == "day"


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_an_article_edited_unusually_often_is_a_trend(house):
    later = datetime(2026, 4, 10, tzinfo=UTC)
    steady = [("Quieto", 1, n, f"2026-0{1 + n % 3}-{1 + n // 3:02d}T00:00:00Z", "Ana", 1, 5, []) for n in range(1, 40)]
    burst = [("Noticia", 2, 100, "2026-01-01T00:00:00Z", "Ana", 1, 5, [])]
    burst += [("Noticia", 2, 101 + n, f"2026-03-28T{n:02d}:00:00Z", "Ana", 1, 5, []) for n in range(12)]
    keep(steady + burst)
    from hemeroteca.wiki.models import Article

    Article.objects.filter(title="Noticia").update(categories=["Sucesos"])
    found = queries.trends(SYSTEM, 7, now=datetime(2026, 3, 31, tzinfo=UTC))
    assert found["articles"][0]["title"] == "Noticia"
    assert found["articles"][0]["recent"] == 12
    assert all(row["recent"] > row["expected"] for row in queries.trends(SYSTEM, 90, now=later)["articles"])
    assert found["categories"][0]["category"] == "Sucesos"


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_countries_of_editors_without_an_account(house, tmp_path):
    writer = pytest.importorskip("mmdb_writer")
    import dataclasses

    from netaddr import IPSet

    from hemeroteca.errors import Unavailable

    atlas = writer.MMDBWriter(6, "GeoLite2-Country", ipv4_compatible=True)
    for network, country, continent in (("192.0.2.0/24", "VE", "SA"), ("2001:db8::/32", "ES", "EU")):
        atlas.insert_network(IPSet([network]), {"country": {"iso_code": country}, "continent": {"code": continent}})
    atlas.to_db_file(str(tmp_path / "countries.mmdb"))
    users = ["192.0.2.7", "192.0.2.7", "192.0.2.9", "2001:DB8::1", "198.51.100.1", "192.0.2.xxx"]
    rows = [("T", 1, n, f"2020-03-0{n}T00:00:00Z", user, 0, 10, []) for n, user in enumerate(users, 1)]
    keep([*rows, ("T", 1, 9, "2020-03-09T00:00:00Z", "Ana", 4, 10, [])])
    assert "countries" not in queries.metrics_of(SYSTEM, {}), "not without a file"
    with pytest.raises(Unavailable, match="wiki_countries"):
        queries.metrics_of(SYSTEM, {}, ("countries",))
    house.CONFIG = dataclasses.replace(house.CONFIG, wiki_countries=str(tmp_path / "countries.mmdb"))
    found = queries.metrics_of(SYSTEM, {}, ("countries", "minor"))["countries"]
    assert [(row["country"], row["continent"], row["edits"], row["editors"]) for row in found] == [
        ("VE", "SA", 3, 2),
        ("?", "?", 2, 2),
        ("ES", "EU", 1, 1),
    ]
    assert found[0]["share"] == 0.5


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_articles_beside_each_other(house):
    from hemeroteca.errors import Invalid, NotFound

    edits = (("Ana", 100), ("Beto", 200), ("Ana", 100))  # the third undoes the second
    keep([("A", 1, n, f"2026-0{n}-01T00:00:00Z", user, 1, size, []) for n, (user, size) in enumerate(edits, 1)])
    keep([("B", 2, 9, "2026-02-01T00:00:00Z", "Carla", 3, 70, [])])
    found = queries.compare(SYSTEM, ["A", "B"])
    first, second = found["articles"]
    assert (first["title"], first["edits"], first["editors"], first["reverts"], first["size"]) == ("A", 3, 2, 1, 100)
    assert (second["title"], second["edits"], second["reverts"]) == ("B", 1, 0)
    assert first["first"] == "2026-01-01T00:00:00.000Z"
    assert [(row["title"], row["month"]) for row in found["months"]] == [
        ("A", "2026-01-01"),
        ("A", "2026-02-01"),
        ("B", "2026-02-01"),
        ("A", "2026-03-01"),
    ]
    with pytest.raises(Invalid, match="2 to 10"):
        queries.compare(SYSTEM, ["A"])
    with pytest.raises(NotFound):
        queries.compare(SYSTEM, ["A", "C"])
