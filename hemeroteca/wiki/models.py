"""Wikis, articles, the manifest of the lake, and the budgets of requests."""

from django.db import models


class Wiki(models.Model):
    """A MediaWiki site."""

    name = models.CharField(
        max_length=300, unique=True, db_comment="host and path, as queries name it: es.wikipedia.org"
    )
    api_url = models.TextField(db_comment="address of its api.php; empty: known from a dump only")
    index_url = models.TextField(default="", db_comment="address of its index.php")
    article_path = models.TextField(default="", db_comment="address of an article, with $1 for its title")
    farm = models.CharField(max_length=255, db_comment="whose budget its requests are paid from")
    locale = models.CharField(max_length=40, default="", db_comment="language of its content")
    sitename = models.TextField(default="", db_comment="as the wiki calls itself")
    generator = models.CharField(max_length=100, default="", db_comment="MediaWiki and its version")
    rights = models.TextField(default="", db_comment="licence of its content, in words")
    rights_url = models.TextField(default="", db_comment="address of that licence")
    temporary = models.JSONField(default=list, db_comment="patterns of the names of temporary accounts")
    bots = models.JSONField(default=list, db_comment="names of accounts with the bot flag, when last looked")
    known_ms = models.BigIntegerField(default=0, db_comment="when these facts were last asked for")
    changes_until = models.CharField(max_length=40, default="", db_comment="recent changes were read up to this time")
    event_id = models.TextField(default="", db_comment="position in the stream of events (Last-Event-ID)")

    class Meta:
        db_table = "wiki"
        db_table_comment = "MediaWiki sites whose articles are kept"


class Article(models.Model):
    """An article whose history is kept, and how far that is."""

    wiki_id: int

    wiki = models.ForeignKey(Wiki, models.CASCADE, related_name="articles", db_comment="where it stands")
    pageid = models.BigIntegerField(db_comment="MediaWiki's number of the page")
    ns = models.IntegerField(default=0, db_comment="namespace")
    title = models.TextField(db_comment="title of today")
    former_titles = models.JSONField(default=list, db_comment="titles it had when it was extracted earlier")
    categories = models.JSONField(default=list, db_comment="categories, when last looked")
    first_extraction_ms = models.BigIntegerField(default=0, db_comment="when its first revision was kept")
    last_extraction_ms = models.BigIntegerField(default=0, db_comment="when the wiki was last asked for its revisions")
    last_revision = models.BigIntegerField(default=0, db_comment="newest revision kept: its number")
    last_revision_ms = models.BigIntegerField(default=0, db_comment="the same: its time")
    revisions = models.BigIntegerField(default=0, db_comment="revisions kept")
    version = models.BigIntegerField(default=0, db_comment="grows with every commit: of two writers one is too late")
    complete = models.BooleanField(default=False, db_comment="all revisions up to the last are kept")
    position_ms = models.BigIntegerField(default=0, db_comment="while not complete: time of the last one kept")
    text_complete = models.BooleanField(default=False, db_comment="their texts too")
    text_position_ms = models.BigIntegerField(default=0, db_comment="the same for texts")
    limited = models.BooleanField(default=False, db_comment="an extraction ended at its limit of revisions")
    source = models.CharField(max_length=8, default="api", db_comment="api, export, history or dump")
    last_log = models.BigIntegerField(default=0, db_comment="newest event of the log kept: its number")
    deleted = models.BooleanField(default=False, db_comment="the wiki has it no more")
    policy = models.CharField(max_length=12, default="auto", db_comment="looked at again: auto, exponential, never")
    rate = models.FloatField(default=0.0, db_comment="revisions an hour, as the policy estimates them")
    due_ms = models.BigIntegerField(default=0, db_comment="when it is to be looked at again; 0: never by itself")
    announced_ms = models.BigIntegerField(default=0, db_comment="when the wiki announced a change not yet looked at")

    class Meta:
        db_table = "wiki_article"
        db_table_comment = "Articles whose histories are kept"
        constraints = [models.UniqueConstraint(fields=["wiki", "pageid"], name="wiki_article_page")]
        indexes = [
            models.Index(fields=["wiki", "title"], name="wiki_article_title"),
            models.Index(fields=["due_ms"], name="wiki_article_due"),
        ]


class LakeFile(models.Model):
    """A file of the lake. Only those that are live count."""

    class State(models.TextChoices):
        DRAFT = "draft"  # being written; its writer may have been killed
        LIVE = "live"
        DROPPED = "dropped"  # replaced; readers may still have it open

    table = models.CharField(max_length=12, db_comment="revisions, texts, earlier, events")
    wiki = models.ForeignKey(Wiki, models.CASCADE, db_comment="whose rows")
    bucket = models.IntegerField(db_comment="bucket of its articles")
    name = models.CharField(max_length=200, unique=True, db_comment="path below the lake's folder or store")
    updates = models.BooleanField(default=False, db_comment="its rows replace those of other files")
    rows = models.BigIntegerField(default=0, db_comment="rows in it")
    bytes = models.BigIntegerField(default=0, db_comment="its size")
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT, db_comment=", ".join(State.values))
    changed_ms = models.BigIntegerField(db_comment="when it came into that state")

    class Meta:
        db_table = "lake_file"
        db_table_comment = "The manifest of the lake: which Parquet files make up its tables"
        indexes = [models.Index(fields=["state", "table", "wiki", "bucket"], name="lake_file_part")]


class LakeVersion(models.Model):
    """One row: the version of the manifest."""

    number = models.BigIntegerField(default=0, db_comment="grows with every commit")

    class Meta:
        db_table = "lake_version"
        db_table_comment = "One row: how often the lake was changed"


class FarmBudget(models.Model):
    """When a farm of wikis may be asked again, by whichever worker."""

    farm = models.CharField(max_length=255, primary_key=True, db_comment="wikimedia, or a registrable domain")
    next_ms = models.BigIntegerField(default=0, db_comment="earliest time of the next request")
    reason = models.TextField(default="", db_comment="why that is later than usual: Retry-After, maxlag")
    requests = models.BigIntegerField(default=0, db_comment="requests made")

    class Meta:
        db_table = "wiki_budget"
        db_table_comment = "Requests to farms of wikis, shared by all workers"


class FarmSlot(models.Model):
    """A worker that talks to a farm just now."""

    farm = models.CharField(max_length=255, db_comment="farm")
    worker = models.CharField(max_length=200, db_comment="process and thread")
    until_ms = models.BigIntegerField(db_comment="when the slot is free again, unless it is renewed")

    class Meta:
        db_table = "wiki_slot"
        db_table_comment = "Workers that talk to a farm at the moment, at most three"
        constraints = [models.UniqueConstraint(fields=["farm", "worker"], name="wiki_slot_worker")]
