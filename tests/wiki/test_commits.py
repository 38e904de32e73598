"""What is kept when another worker was quicker, and what a killed one leaves behind."""

import os

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.lake.files import DRAFTS
from hemeroteca.lake.revisions import Revision, Text
from hemeroteca.wiki import commits, free_queries, queries
from hemeroteca.wiki.commits import ArticleChange, Buffer, Overtaken
from hemeroteca.wiki.models import Article, LakeFile, Wiki

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def change(article: Article, revid: int) -> ArticleChange:
    """A revision of an article, with its text."""
    name, sha1 = article.wiki.name, f"{revid:040x}"
    row = Revision(
        wiki=name, locale="es", ns=0, pageid=article.pageid, title=article.title, revid=revid, timestamp=revid,
        text_sha1=sha1,
    )  # fmt: skip
    text = Text(wiki=name, pageid=article.pageid, sha1=sha1, text=f"texto {revid}")
    return ArticleChange(article, article.version, [row], texts=[text])


@pytest.fixture
def articles(house):
    """Three, two of which lie in one file."""
    wiki = Wiki.objects.create(name="es.example.org", api_url="", farm="x", locale="es")
    return [Article.objects.create(wiki=wiki, pageid=number, title=f"T{number}") for number in (1, 17, 2)]


@pytest.mark.parametrize("mixed", [False, True])
def test_texts_of_an_article_that_another_worker_kept_are_not_kept_twice(articles, mixed):
    quick, slow = (Buffer(articles[0].wiki) for _ in range(2))
    quick.add(change(articles[0], 100))
    for number, article in enumerate(articles):
        slow.add(change(article, 100 + number), mixed)
    quick.write()
    with pytest.raises(Overtaken) as overtaken:
        slow.write()
    assert overtaken.value.pages == (articles[0].pageid,)
    kept = [(row["revid"], row["text"]) for row in queries.every_revision(SYSTEM, {}, text=True)]
    assert kept == [(number, f"texto {number}") for number in (100, 101, 102)]
    assert free_queries.sql(SYSTEM, "SELECT count(*) FROM texts").rows == ((3,),)
    assert not LakeFile.objects.exclude(state="live").exists()
    assert {path.name for path in commits.lake_files().folder.glob("texts/*/*/*")} == {
        name.rpartition("/")[2] for name in LakeFile.objects.filter(table="texts").values_list("name", flat=True)
    }


def test_a_writer_that_lost_everything_leaves_no_file(articles):
    quick, slow = (Buffer(articles[0].wiki) for _ in range(2))
    for buffer in (quick, slow):
        buffer.add(change(articles[0], 100))
    quick.write()
    with pytest.raises(Overtaken):
        slow.write()
    assert len(list(commits.lake_files().folder.glob("texts/*/*/*"))) == 1
    assert slow.empty


def test_drafts_of_killed_writers_are_swept_and_those_at_work_are_not(articles):
    files = commits.lake_files()
    buffer = Buffer(articles[0].wiki, files)
    buffer.add(change(articles[0], 100))  # its file of texts has been begun
    left = files.draft()
    left.write_bytes(b"half a file")
    long_ago = left.stat().st_mtime - commits.DRAFT_MS / 1000 - 1
    os.utime(left, (long_ago, long_ago))
    commits.sweep(files)
    assert not left.exists()
    assert len(list((files.folder / DRAFTS).iterdir())) == 1
    buffer.write()
    assert [row["text"] for row in queries.every_revision(SYSTEM, {}, text=True)] == ["texto 100"]
    assert not list((files.folder / DRAFTS).iterdir())


def test_an_article_comes_with_its_first_revisions_and_of_two_writers_of_it_one_is_too_late(articles):
    wiki = articles[0].wiki
    quick, slow = (Buffer(wiki) for _ in range(2))
    quick.add(change(Article(wiki=wiki, pageid=5, title="T5", categories=["C"]), 100))
    slow.add(change(Article(wiki=wiki, pageid=5, title="T5"), 101))
    assert not Article.objects.filter(pageid=5).exists()
    quick.write()
    with pytest.raises(Overtaken) as overtaken:
        slow.write()
    assert overtaken.value.pages == (5,)
    kept = Article.objects.get(wiki=wiki, pageid=5)
    assert (kept.version, kept.revisions, kept.categories) == (1, 1, ["C"])
    assert [row["revid"] for row in queries.every_revision(SYSTEM, {})] == [100]


def test_texts_of_articles_in_turn_share_the_memory_of_a_page_and_come_out_as_they_went_in(articles, monkeypatch):
    monkeypatch.setattr("hemeroteca.lake.parquet.TEXT_PAGE_BYTES", 64)
    monkeypatch.setattr("hemeroteca.lake.parquet.MIN_TEXT_PAGE_BYTES", 16)
    buffer = Buffer(articles[0].wiki)
    told = {}
    for turn in range(6):
        for place, article in enumerate(articles):
            found = change(article, 100 * turn + place)
            found.texts[0].text = told[100 * turn + place] = f"{turn} {place} " * (1 + 7 * (turn % 3))  # some too long
            buffer.add(found)
    buffer.write()
    assert {row["revid"]: row["text"] for row in queries.every_revision(SYSTEM, {}, text=True)} == told
