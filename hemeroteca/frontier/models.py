"""Tables of the frontier. Times are milliseconds since 1970 UTC, as everywhere on the spine."""

from django.conf import settings
from django.db import models

from hemeroteca.frontier.visit import State

STANDING = "standing"  # fingerprint of the crawls of subscriptions
FETCH = "fetch "  # beginning of the fingerprints of what clients of the fleet have fetched


class Crawl(models.Model):
    """An order to visit everything in a scope, starting from seeds."""

    class State(models.TextChoices):
        RUNNING = "running"
        STOPPED = "stopped"  # by a limit, a person or an interruption; can be resumed
        FINISHED = "finished"  # nothing was left to visit

    fingerprint = models.CharField(
        max_length=64,
        db_index=True,
        db_comment="hash of seeds and scope; the same order again resumes this crawl",
    )
    state = models.CharField(
        max_length=8, choices=State, default=State.RUNNING, db_comment="running, stopped, finished"
    )
    stop_reason = models.TextField(default="", db_comment="why it stopped, for people")
    seeds = models.JSONField(db_comment="addresses it started from")
    options = models.JSONField(db_comment="scope, limits and politeness, as ingest.rules.CrawlOptions")
    created_ms = models.BigIntegerField(db_comment="when it was ordered")
    started_ms = models.BigIntegerField(default=0, db_comment="when the present run began")
    ended_ms = models.BigIntegerField(default=0, db_comment="when the last run ended; 0 while running")
    stop_requested = models.BooleanField(default=False, db_comment="a person asked the engine to stop it")
    revised = models.BooleanField(
        default=False, db_comment="a person changed its options or its queue; the engine reads them anew"
    )
    counts = models.JSONField(default=dict, db_comment="totals of the present run, as frontier.crawl_counts.Counts")

    class Meta:
        db_table = "crawl"
        db_table_comment = "orders to visit everything in a scope"


class CrawlOrder(models.Model):
    """An order that is kept: given again by hand, or by the clock."""

    last_crawl_id: int | None

    name = models.CharField(max_length=100, unique=True, db_comment="what people call it")
    seeds = models.JSONField(db_comment="addresses it starts from")
    options = models.JSONField(db_comment="scope, limits and politeness, as ingest.rules.CrawlOptions")
    every_hours = models.FloatField(default=0.0, db_comment="hours from one run to the next; 0: only by hand")
    next_ms = models.BigIntegerField(default=0, db_comment="when it is given the next time; 0: only by hand")
    active = models.BooleanField(default=True, db_comment="false: the clock does not count")
    last_crawl = models.ForeignKey(Crawl, models.SET_NULL, null=True, db_comment="crawl of its last run")
    note = models.TextField(default="", db_comment="why its last run could not begin; empty: it could")
    actor = models.CharField(max_length=150, db_comment="who keeps it")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, db_comment="the same as a person; null: a command"
    )
    created_ms = models.BigIntegerField(db_comment="when it was made")

    class Meta:
        db_table = "crawl_order"
        db_table_comment = "orders of crawls that are kept, and when each is given again"


class CrawlEvent(models.Model):
    """Something that happened to a crawl: a line of its log."""

    crawl = models.ForeignKey(Crawl, models.CASCADE, db_comment="whose log")
    at_ms = models.BigIntegerField(db_comment="when it happened")
    what = models.CharField(max_length=12, db_comment="ordered, began, excluded, taken, stopping, resumed, ended, …")
    detail = models.TextField(default="", db_comment="how, in the words of the engine or of a person")
    actor = models.CharField(max_length=150, default="", db_comment="who did it; empty: the engine")

    class Meta:
        db_table = "crawl_event"
        db_table_comment = "what happened to crawls"


class Takedown(models.Model):
    """Addresses that must not be captured again, because somebody had the right to ask for it."""

    url = models.TextField(db_comment="address, as ordered")
    match = models.CharField(max_length=8, db_comment="exact, prefix, host or domain")
    reason = models.TextField(db_comment="who asked for it, and why")
    actor = models.CharField(max_length=150, db_comment="who ordered it")
    made_ms = models.BigIntegerField(db_comment="since when it holds")
    erasure = models.BigIntegerField(default=0, db_comment="erasure it came with; 0 none")
    lifted_ms = models.BigIntegerField(default=0, db_comment="when it was lifted; 0: it holds")
    lifted_by = models.CharField(max_length=150, default="", db_comment="who lifted it")

    class Meta:
        db_table = "takedown"
        db_table_comment = "addresses that are not captured any more, with reason"


class Host(models.Model):
    """A host name we visit: the unit of politeness."""

    name = models.CharField(max_length=255, unique=True, db_comment="host name, lower case, ASCII")
    delay_ms = models.IntegerField(default=0, db_comment="present adaptive delay between two requests")
    next_ms = models.BigIntegerField(default=0, db_comment="not before this time")
    failures = models.IntegerField(default=0, db_comment="failed requests in a row")
    pages = models.IntegerField(default=0, db_comment="pages known, for the cap per host")
    note = models.TextField(default="", db_comment="why it waits, for people")
    settings = models.JSONField(default=dict, db_comment="what people set, as frontier.site_settings.SiteSettings")
    revision = models.BigIntegerField(
        default=0, db_default=0, db_comment="grows over all hosts whenever a person sets one; 0: never set"
    )

    class Meta:
        db_table = "host"
        db_table_comment = "hosts visited, with what politeness demands"
        indexes = [models.Index(fields=["revision"], name="host_set", condition=models.Q(revision__gt=0))]


class RobotsFile(models.Model):
    """robots.txt of an origin, as last read."""

    origin = models.CharField(max_length=300, primary_key=True, db_comment="scheme://host[:port]")
    fetched_ms = models.BigIntegerField(db_comment="when it was read")
    status = models.IntegerField(db_comment="HTTP status, 0 when unreachable")
    body = models.BinaryField(default=b"", db_comment="the first 512 KiB of it")

    class Meta:
        db_table = "robots_file"
        db_table_comment = "robots.txt per origin, with the time it was read"


class Page(models.Model):
    """A URL we know, and what its last visit brought."""

    key = models.BigIntegerField(unique=True, db_comment="64-bit hash of the canonical URL")
    url = models.TextField(db_comment="canonical URL")
    host = models.ForeignKey(Host, models.PROTECT, db_index=False, db_comment="host it lives on")
    found_ms = models.BigIntegerField(default=0, db_comment="when we first met it")
    visited_ms = models.BigIntegerField(default=0, db_comment="last answered visit; 0 never")
    changed_ms = models.BigIntegerField(default=0, db_comment="last visit that brought a new version; 0 never")
    status = models.SmallIntegerField(default=0, db_comment="last HTTP status; 0 none")
    etag = models.TextField(default="", db_comment="ETag of the last version")
    last_modified = models.TextField(default="", db_comment="Last-Modified of the last version")
    digest = models.TextField(default="", db_comment="payload digest of the last version")
    versions = models.IntegerField(default=0, db_comment="captures that differed from the one before")

    class Meta:
        db_table = "page"
        db_table_comment = "URLs known, with what the last visit of each brought"


class FocusLink(models.Model):
    """How a crawl with a focus met a page, what that promised, and what the visit brought."""

    crawl = models.ForeignKey(Crawl, models.PROTECT, db_index=False, db_comment="crawl with a focus")
    key = models.BigIntegerField(db_comment="key of the page")
    parent = models.BigIntegerField(default=0, db_comment="key of the page the link stands on; 0: a seed, a sitemap")
    parent_url = models.TextField(default="", db_comment="address of that page")
    anchor = models.TextField(default="", db_comment="text of the link")
    context = models.TextField(default="", db_comment="text around the link")
    place = models.IntegerField(default=0, db_comment="number of the link among those of its page")
    page_relevance = models.FloatField(default=0.0, db_comment="relevance of the page it stands on, 0 to 1")
    anchor_relevance = models.FloatField(default=0.0, db_comment="relevance of its text")
    context_relevance = models.FloatField(default=0.0, db_comment="relevance of the text around it")
    address_relevance = models.FloatField(default=0.0, db_comment="relevance of its address")
    away = models.FloatField(default=0.0, db_comment="how surely it leads elsewhere, by its words, 0 to 1")
    inherited = models.FloatField(default=0.0, db_comment="part of the score that comes from the page it stands on")
    neighbourhood = models.FloatField(default=0.0, db_comment="part that comes from its anchor and context")
    learned = models.FloatField(default=0.0, db_comment="what following it was worth, by what had been learned")
    host_factor = models.FloatField(default=1.0, db_comment="what is left after fruitless visits of its host")
    bound = models.IntegerField(default=0, db_comment="links that may still follow without a relevant page")
    score = models.FloatField(default=0.0, db_comment="all of it together, when last computed")
    found_ms = models.BigIntegerField(default=0, db_comment="when it was met")
    number = models.BigIntegerField(default=0, db_comment="as the how manieth page the crawl visited it; 0: not yet")
    visited_ms = models.BigIntegerField(default=0, db_comment="when it was visited")
    relevance = models.FloatField(default=0.0, db_comment="relevance of the page itself")
    target = models.TextField(default="", db_comment="what it is of what the crawl looks for; empty: nothing")
    status = models.SmallIntegerField(default=0, db_comment="HTTP status of the visit")
    response_ms = models.IntegerField(default=0, db_comment="time the answer took")
    digest = models.TextField(default="", db_comment="payload digest")

    class Meta:
        db_table = "focus_link"
        db_table_comment = "links that crawls with a focus found, what they promised and what they brought"
        constraints = [models.UniqueConstraint(fields=["crawl", "key"], name="focus_link_once")]
        indexes = [
            models.Index(fields=["key"], name="focus_link_page"),
            models.Index(fields=["crawl", "number"], name="focus_link_visited", condition=models.Q(number__gt=0)),
        ]


class QueuedVisit(models.Model):
    """A crawl's wish to see a page; several crawls may want the same one."""

    crawl = models.ForeignKey(Crawl, models.PROTECT, db_index=False, db_comment="crawl that wants it")
    page = models.ForeignKey(Page, models.PROTECT, db_index=False, db_comment="page it wants")
    host = models.ForeignKey(Host, models.PROTECT, db_index=False, db_comment="host of the page")
    state = models.SmallIntegerField(
        choices=[(state.value, state.name.lower()) for state in State],
        default=State.QUEUED,
        db_comment="0 queued, 1 done, 2 failed, 3 excluded, 4 held back",
    )
    score = models.FloatField(default=0.0, db_comment="by the crawl's prioritiser; higher goes first")
    due_ms = models.BigIntegerField(default=0, db_comment="not before this time")
    depth = models.IntegerField(default=0, db_comment="links from the nearest seed; a requisite: see urls.candidate")
    redirects = models.SmallIntegerField(default=0, db_comment="redirects followed in a row to get here")
    role = models.SmallIntegerField(default=0, db_comment="0 page in scope, 1 page requisite, 2 sitemap")
    attempts = models.SmallIntegerField(default=0, db_comment="failed tries")
    followed = models.BooleanField(
        default=False, db_comment="the crawl has followed its links: an unchanged answer need not be read"
    )
    reason = models.TextField(default="", db_comment="why it failed or was excluded, for people")

    class Meta:
        db_table = "visit"
        db_table_comment = "visits that crawls want, and what became of them"
        constraints = [models.UniqueConstraint(fields=["crawl", "page"], name="visit_once")]
        indexes = [
            models.Index(
                fields=["crawl", "host", "-score", "id"], name="visit_queue", condition=models.Q(state=State.QUEUED)
            ),
            models.Index(fields=["crawl", "state"], name="visit_failed", condition=models.Q(state__gte=State.FAILED)),
        ]
