"""What is kept when another worker was quicker, and what a killed one leaves behind."""

import os

import pytest

from hemeroteca.accounts import SYSTEM
from hemeroteca.lake.files import DRAFTS
from hemeroteca.lake.revisions import Revision, Text
from hemeroteca.wiki import commits, queries
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
    return ArticleChange(article.pk, article.version, [row], texts=[text])


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
    assert overtaken.value.articles == (articles[0].pk,)
    kept = [(row["revid"], row["text"]) for row in queries.every_revision(SYSTEM, {}, text=True)]
    assert kept == [(number, f"texto {number}") for number in (100, 101, 102)]
    assert queries.sql(SYSTEM, "SELECT count(*) FROM texts").rows == ((3,),)
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
