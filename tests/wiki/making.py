"""Rows in the lake without a wiki: for questions whose answers are known."""

from hemeroteca.lake.revisions import Revision
from hemeroteca.warc import timestamps
from hemeroteca.wiki import commits
from hemeroteca.wiki.models import Article, Wiki

DAY = timestamps.from_iso("2026-11-01T12:00:00Z")


def keep(rows: list[tuple], **more: object) -> Wiki:
    """(title, pageid, revid, time, user, userid, size, tags) each, as the article's next commit."""
    wiki, _ = Wiki.objects.get_or_create(name="es.example.org", defaults={"api_url": "", "farm": "x", "locale": "es"})
    for title, pageid in dict.fromkeys((row[0], row[1]) for row in rows):
        article, _ = Article.objects.get_or_create(
            wiki=wiki,
            pageid=pageid,
            defaults={"title": title, "first_extraction_ms": DAY, "last_extraction_ms": DAY, "complete": True},
        )
        made = [
            Revision(
                wiki=wiki.name, locale="es", ns=0, pageid=pageid, title=title, revid=revid, parentid=0,
                timestamp=timestamps.from_iso(at), user=user, userid=userid, anon=userid == 0, size=size,
                sha1=f"{size or 0:040x}", text_sha1=f"{size or 0:040x}", comment="", tags=tags, extraction_date=DAY,
                **more,
            )
            for name, number, revid, at, user, userid, size, tags in rows
            if number == pageid
        ]  # fmt: skip
        commits.commit(wiki, [commits.ArticleChange(article, article.version, made)], commits.lake_files())
    return wiki
