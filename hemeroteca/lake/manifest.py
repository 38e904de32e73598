"""Which files make up the tables. Apart from the engines, which a writer need not load."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Manifest(msgspec.Struct, frozen=True):
    """Which files make up the tables, and what the database knows of the articles."""

    version: int  # grows with every commit
    bases: Mapping[str, tuple[str, ...]]  # names of files by table
    updates: Mapping[str, tuple[str, ...]]  # rows in them replace those of the bases
    articles: tuple[LakeArticle, ...] = ()


class LakeArticle(msgspec.Struct, frozen=True):
    """An article as queries see it."""

    wiki: str
    locale: str
    ns: int
    pageid: int
    title: str
    first_extraction_date: int = 0
    last_extraction_date: int = 0
    last_revision_extracted: int = 0
    renamed: bool = False  # some rows carry an earlier title
    deleted: bool = False
    limited: bool = False  # only the first revisions were extracted
    categories: tuple[str, ...] = ()
