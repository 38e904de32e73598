"""Tables of watching. Times are milliseconds since 1970 UTC, as everywhere on the spine."""

from django.db import models

from hemeroteca.accounts.models import User
from hemeroteca.frontier.models import Crawl
from hemeroteca.instance.sealed_secrets import SealedField

# The list of topics as it begins, with codes as in the founding work (300 to 314); people edit it.
CATEGORIES = dict(
    enumerate(
        (
            "general", "news", "government", "education", "science", "culture", "health", "economy", "law",
            "technology", "environment", "sports", "organisations", "entertainment", "people",
        ),
        300,
    )
)  # fmt: skip


class Category(models.Model):
    """A topic of sites, in a list with codes that people edit."""

    code = models.IntegerField(primary_key=True, db_comment="its number in the list, such as 301")
    name = models.CharField(max_length=100, unique=True, db_comment="topic, such as news")
    description = models.TextField(default="", db_comment="what belongs to it")

    class Meta:
        db_table = "category"
        db_table_comment = "coded list of topics of sites"


class Collection(models.Model):
    """Subscriptions that belong together, under a topic."""

    category_id: int | None

    name = models.CharField(max_length=100, unique=True, db_comment="name, as people call it")
    category = models.ForeignKey(Category, models.PROTECT, null=True, db_comment="topic of its sites; null: none")
    description = models.TextField(default="", db_comment="what it is for")
    visits_per_day = models.IntegerField(default=0, db_comment="most visits a day of all its pages; 0: no limit")
    bytes_per_day = models.BigIntegerField(default=0, db_comment="most bytes received a day; 0: no limit")
    created_ms = models.BigIntegerField(db_comment="when it was made")

    class Meta:
        db_table = "collection"
        db_table_comment = "subscriptions that belong together"


class Publication(models.Model):
    """A collection that everybody may read at an address of its own, even where the archive is closed."""

    collection_id: int

    collection = models.OneToOneField(Collection, models.CASCADE, db_comment="what is published")
    slug = models.CharField(max_length=60, unique=True, db_comment="its address: /c/SLUG")
    title = models.CharField(max_length=200, db_comment="heading of its pages")
    description = models.TextField(default="", db_comment="what it is, for its readers; plain text")
    colour = models.CharField(max_length=7, default="", db_comment="of its heading, #rrggbb; empty: the console's")
    picture = models.BinaryField(default=b"", db_comment="picture of its heading, PNG made here; empty none")
    patterns = models.JSONField(
        default=dict, db_comment="what was decided to be public: subscriptions by number, with what each covered then"
    )
    actor = models.CharField(max_length=150, db_comment="who decided to publish it")
    published_ms = models.BigIntegerField(db_comment="since when")

    class Meta:
        db_table = "publication"
        db_table_comment = "collections that everybody may read"


class Subscription(models.Model):
    """Somebody wants to know when a page or a site changes."""

    crawl_id: int
    category_id: int | None
    collection_id: int | None
    owner_id: int | None

    name = models.CharField(max_length=200, db_comment="what it is called; its address unless somebody named it")
    url = models.TextField(db_comment="page, or page a site is entered by; canonical")
    scope = models.JSONField(db_comment="what belongs to it, as urls.Scope")
    owner = models.ForeignKey(User, models.SET_NULL, null=True, db_comment="who wants it; null: nobody any more")
    collection = models.ForeignKey(Collection, models.PROTECT, null=True, db_comment="collection it belongs to")
    category = models.ForeignKey(
        Category, models.PROTECT, null=True, db_comment="its topic; null: that of its collection"
    )
    purpose = models.TextField(default="", db_comment="why it is watched, in the owner's words")
    comparison = models.JSONField(
        default=dict, db_comment="threshold F(mu) and what is ignored, as frontier Comparison"
    )
    mode = models.CharField(
        max_length=80, default="auto", db_comment="auto, fixed, another policy, or rules joined by +"
    )
    fixed_hours = models.FloatField(default=24.0, db_comment="hours between visits when the mode is fixed")
    min_hours = models.FloatField(default=0.0, db_comment="never visited more often; 0: no own limit")
    max_hours = models.FloatField(default=0.0, db_comment="never left alone longer; 0: 720")
    weight = models.FloatField(default=1.0, db_comment="how much a change of its pages is worth against others")
    visits_per_day = models.IntegerField(default=0, db_comment="most visits a day; 0: no limit of its own")
    bytes_per_day = models.BigIntegerField(default=0, db_comment="most bytes received a day; 0: no limit of its own")
    windows = models.JSONField(default=list, db_comment="times of the week at which it is visited; empty: always")
    country = models.CharField(
        max_length=10, default="", db_comment="country whose holidays count, such as ES; or empty"
    )
    notify = models.JSONField(default=list, db_comment="conditions of notices; one must hold; empty: every change")
    requisites = models.BooleanField(default=True, db_comment="images, styles and scripts of its pages are fetched too")
    active = models.BooleanField(default=True, db_comment="false: paused by a person, or not approved")
    proposed_ms = models.BigIntegerField(
        default=0, db_comment="when it was proposed and waits for approval; 0: decided"
    )
    refusal = models.TextField(default="", db_comment="why a director refused it; empty: approved or not decided")
    crawl = models.OneToOneField(Crawl, models.PROTECT, db_comment="standing crawl that visits its pages")
    created_ms = models.BigIntegerField(db_comment="when it was made")
    learned_ms = models.BigIntegerField(
        default=0, db_comment="when earlier captures of its pages were learned; 0 not yet"
    )
    failures = models.IntegerField(default=0, db_comment="visits without a useful answer in a row, over all its pages")
    failing_since_ms = models.BigIntegerField(
        default=0, db_comment="first of those visits; 0 when the last one was good"
    )
    last_error = models.TextField(default="", db_comment="why the last of those visits failed, for people")
    alerted_ms = models.BigIntegerField(default=0, db_comment="failing_since_ms of the failure that was told; 0 none")
    group = models.CharField(max_length=6, default="", db_comment="high, medium or low, by daily_chance; empty unknown")
    daily_chance = models.FloatField(
        null=True, db_comment="P: share of days on which one of its pages changes; null before a second visit"
    )
    behaviour = models.CharField(max_length=8, default="", db_comment="steady, periodic, bursty, silent; empty unknown")
    check_ms = models.BigIntegerField(default=0, db_comment="when somebody last asked for a visit at once; 0 never")
    in_burst = models.BooleanField(default=False, db_comment="its pages change far more than usual these days")
    fault = models.TextField(default="", db_comment="why the engine cannot work with it, for people; empty: it can")

    class Meta:
        db_table = "subscription"
        db_table_comment = "pages and sites somebody wants to be watched"


class WatchedPage(models.Model):
    """A page under watch: what is known about its habits, and its next visit."""

    subscription_id: int

    key = models.BigIntegerField(primary_key=True, db_comment="64-bit hash of the canonical URL, as page.key")
    subscription = models.ForeignKey(Subscription, models.CASCADE, db_comment="subscription that has it visited")
    site = models.CharField(max_length=255, db_index=True, db_comment="host it lives on")
    url = models.TextField(db_comment="canonical URL")
    listing = models.CharField(max_length=8, default="", db_comment="feed or sitemap when it lists other pages")
    first_ms = models.BigIntegerField(db_comment="first visit or capture")
    last_ms = models.BigIntegerField(db_comment="last answered visit")
    next_ms = models.BigIntegerField(default=0, db_comment="about when the next visit is expected; 0 unknown")
    visits = models.IntegerField(default=0, db_comment="answered visits")
    changes = models.IntegerField(default=0, db_comment="important changes seen")
    changed_ms = models.BigIntegerField(default=0, db_comment="last important change seen; 0 never")
    observed_days = models.FloatField(default=0.0, db_comment="days between first and last visit that visits cover")
    change_days = models.IntegerField(default=0, db_comment="days on which an important change was seen")
    chance = models.FloatField(default=0.0, db_comment="of a change at the last visit, as predicted before it")
    failures = models.IntegerField(default=0, db_comment="visits without a useful answer in a row")
    group = models.CharField(max_length=6, default="", db_comment="high, medium or low, by daily_chance; empty unknown")
    daily_chance = models.FloatField(
        null=True, db_comment="P: chance of an important change on a day, by its rate; null before a second visit"
    )
    behaviour = models.CharField(max_length=8, default="", db_comment="steady, periodic, bursty, silent; empty unknown")
    reason = models.JSONField(default=dict, db_comment="why it was or will be visited: code and values for a sentence")
    next_reason = models.JSONField(default=dict, db_comment="why the next visit is expected then; empty: it is due now")

    class Meta:
        db_table = "watched_page"
        db_table_comment = "pages under watch, with what is known of their habits"
        indexes = [
            models.Index(fields=["group", "site"], name="watched_page_group"),
            models.Index(fields=["subscription", "next_ms"], name="watched_page_next"),
        ]


class Observation(models.Model):
    """What one visit taught about a page."""

    key = models.BigIntegerField(db_comment="page, as watched_page.key; rows outlive the subscription")
    subscription = models.ForeignKey(
        Subscription, models.SET_NULL, null=True, db_index=False, db_comment="subscription that had it visited"
    )
    seen_ms = models.BigIntegerField(db_comment="when it was visited")
    interval_ms = models.BigIntegerField(db_comment="since the visit before; 0 at the first one")
    status = models.SmallIntegerField(db_comment="HTTP status")
    conditional = models.BooleanField(default=False, db_comment="the server said by itself that nothing changed (304)")
    changed = models.BooleanField(db_comment="the bytes differ from the last version")
    important = models.BooleanField(db_comment="the difference passes the threshold; what is predicted")
    view = models.FloatField(null=True, db_comment="how much it looks different, 0 to 1; null when not compared")
    form = models.FloatField(null=True, db_comment="how much it is built differently, 0 to 1")
    content = models.FloatField(null=True, db_comment="how much other text and resources it has, 0 to 1")
    bytes = models.BigIntegerField(default=0, db_comment="received")
    stored = models.BigIntegerField(default=0, db_comment="written to the archive")
    cost_ms = models.IntegerField(default=0, db_comment="how long the server and we needed for the answer")
    chance = models.FloatField(null=True, db_comment="chance of an important change as predicted before the visit")
    imported = models.BooleanField(default=False, db_comment="learned from the archive, not from a visit we planned")
    reason = models.JSONField(default=dict, db_comment="why it was visited then, as watched_page.reason; may be empty")

    class Meta:
        db_table = "observation"
        db_table_comment = "did a page change between two visits"
        indexes = [
            models.Index(fields=["key", "seen_ms"], name="observation_page"),
            models.Index(fields=["subscription", "seen_ms"], name="observation_subscription"),
            models.Index(fields=["seen_ms"], name="observation_time"),
        ]


class Change(models.Model):
    """An important change as one subscription judges it, with what it was: what people are told about."""

    subscription_id: int | None

    key = models.BigIntegerField(db_comment="page, as watched_page.key")
    subscription = models.ForeignKey(
        Subscription, models.SET_NULL, null=True, db_comment="subscription that covers the page and judges it important"
    )
    first = models.BooleanField(default=True, db_comment="one of each capture: lists over all subscriptions show it")
    site = models.CharField(max_length=255, db_comment="host of the page")
    url = models.TextField(db_comment="canonical URL")
    title = models.TextField(default="", db_comment="title of the new version")
    seen_ms = models.BigIntegerField(db_comment="when the new version was captured")
    since_ms = models.BigIntegerField(db_comment="the visit before: the change happened after it")
    record_id = models.UUIDField(null=True, db_comment="capture of the new version")
    view = models.FloatField(db_comment="how much it looks different, 0 to 1")
    form = models.FloatField(db_comment="how much it is built differently, 0 to 1")
    content = models.FloatField(db_comment="how much other text and resources it has, 0 to 1")
    total = models.FloatField(db_comment="importance: sum of the three, at most 1; compared with the threshold")
    words_added = models.IntegerField(default=0, db_comment="words only the new version has")
    words_removed = models.IntegerField(default=0, db_comment="words only the old version has")
    diff = models.TextField(default="", db_comment="beginning of a unified diff of the text")
    told = models.BooleanField(default=False, db_comment="notices for it have been written")

    class Meta:
        db_table = "change"
        db_table_comment = "important changes as each subscription judges them, with what differs"
        constraints = [models.UniqueConstraint(fields=["record_id", "subscription"], name="change_once")]
        indexes = [
            models.Index(fields=["seen_ms"], name="change_time"),
            models.Index(fields=["key", "seen_ms"], name="change_page"),
            models.Index(fields=["site", "seen_ms"], name="change_site"),
            models.Index(fields=["id"], name="change_untold", condition=models.Q(told=False)),
        ]


class Burst(models.Model):
    """Days on which the pages of a subscription changed far more than usual."""

    subscription_id: int

    subscription = models.ForeignKey(Subscription, models.CASCADE, db_index=False, db_comment="whose pages changed")
    start_ms = models.BigIntegerField(db_comment="first exceptional day")
    end_ms = models.BigIntegerField(db_comment="end of the last one so far")
    changes = models.IntegerField(db_comment="important changes seen in it")
    usual = models.FloatField(db_comment="changes in as many ordinary days")
    told = models.BooleanField(default=False, db_comment="notices for it have been written")

    class Meta:
        db_table = "burst"
        db_table_comment = "exceptional days of subscriptions"
        constraints = [models.UniqueConstraint(fields=["subscription", "start_ms"], name="burst_once")]


class SiteRun(models.Model):
    """A round of visits of a subscription: those with less than an hour between two of them."""

    subscription_id: int

    subscription = models.ForeignKey(Subscription, models.CASCADE, db_index=False, db_comment="whose pages it visited")
    start_ms = models.BigIntegerField(db_comment="first visit")
    end_ms = models.BigIntegerField(db_comment="last visit so far")
    pages = models.IntegerField(default=0, db_comment="pages visited")
    versions = models.IntegerField(default=0, db_comment="visits that brought a new version")
    changes = models.IntegerField(default=0, db_comment="important changes seen")
    received = models.BigIntegerField(default=0, db_comment="bytes received")
    stored = models.BigIntegerField(default=0, db_comment="bytes written to the archive")
    cost_ms = models.BigIntegerField(default=0, db_comment="how long the answers took")
    index_ms = models.FloatField(default=0.0, db_comment="time spent to index what they brought")
    machine = models.CharField(max_length=100, default="", db_comment="name of the machine that made it")

    class Meta:
        db_table = "site_run"
        db_table_comment = "rounds of visits of subscriptions"
        constraints = [models.UniqueConstraint(fields=["subscription", "start_ms"], name="site_run_once")]


class ReadMark(models.Model):
    """Up to which change a person has read what a subscription saw."""

    user = models.ForeignKey(User, models.CASCADE, db_index=False, db_comment="who has read")
    subscription = models.ForeignKey(Subscription, models.CASCADE, db_comment="of which subscription")
    change = models.BigIntegerField(db_comment="number of the last change read")

    class Meta:
        db_table = "read_mark"
        db_table_comment = "what people have read of subscriptions' changes"
        constraints = [models.UniqueConstraint(fields=["user", "subscription"], name="read_mark_once")]


class SignalSource(models.Model):
    """Somebody or something that tells us when pages change, and how far it is to be believed."""

    class Kind(models.TextChoices):
        FEED = "feed"
        SITEMAP = "sitemap"
        WEBSUB = "websub"
        INDEXNOW = "indexnow"
        WEBHOOK = "webhook"

    class State(models.TextChoices):
        NEW = "new"  # something is still to be done: subscribe at the hub, check the key
        ACTIVE = "active"
        REFUSED = "refused"
        ENDING = "ending"  # the hub is still to be told
        ENDED = "ended"

    subscription_id: int | None

    kind = models.CharField(max_length=8, choices=Kind, db_comment="feed, sitemap, websub, indexnow, webhook")
    subscription = models.ForeignKey(
        Subscription, models.CASCADE, null=True, db_comment="subscription it speaks about; null: the site named"
    )
    site = models.CharField(
        max_length=255, default="", db_comment="host it speaks about; empty: that of the subscription"
    )
    url = models.TextField(default="", db_comment="feed, sitemap, topic of the hub, or place of the IndexNow key")
    hub = models.TextField(default="", db_comment="WebSub hub")
    state = models.CharField(max_length=8, choices=State, default=State.NEW, db_comment="new, active, refused, ended")
    note = models.TextField(default="", db_comment="why it is in that state, for people")
    secret = SealedField(default="", db_comment="key that hub messages are signed with, sealed; IndexNow key")
    token = models.CharField(
        max_length=64, default="", db_index=True, db_comment="SHA-256 of the secret in its address"
    )
    due_ms = models.BigIntegerField(default=0, db_comment="when something is to be done next: renew, try again")
    attempts = models.IntegerField(default=0, db_comment="failed tries in a row")
    lease_ms = models.BigIntegerField(default=0, db_comment="until when the hub sends; 0 when it does not")
    created_ms = models.BigIntegerField(db_comment="when it was made or found")
    heard_ms = models.BigIntegerField(default=0, db_comment="last signal")
    received = models.BigIntegerField(default=0, db_comment="signals that came")
    dropped = models.BigIntegerField(default=0, db_comment="signals refused because too many came")
    right = models.IntegerField(default=0, db_comment="announced pages that were found changed")
    wrong = models.IntegerField(default=0, db_comment="announced pages that were found unchanged")
    missed = models.IntegerField(default=0, db_comment="changes it said nothing of")

    class Meta:
        db_table = "signal_source"
        db_table_comment = "who tells us that pages change, and how often that was true"
        constraints = [
            models.UniqueConstraint(fields=["kind", "subscription", "site", "url"], name="signal_source_once")
        ]


class Signal(models.Model):
    """Somebody said that a page changed; waits for the engine."""

    source_id: int

    source = models.ForeignKey(SignalSource, models.CASCADE, db_comment="who said it")
    url = models.TextField(db_comment="page it is about, as said; empty: the whole subscription")
    said_ms = models.BigIntegerField(default=0, db_comment="when the page is said to have changed; 0 not said")
    received_ms = models.BigIntegerField(db_comment="when we heard it")

    class Meta:
        db_table = "signal"
        db_table_comment = "signals on their way to the engine, which takes them out"


class Channel(models.Model):
    """Where people are told about changes."""

    class Kind(models.TextChoices):
        APPRISE = "apprise"
        WEBHOOK = "webhook"

    subscription_id: int | None
    collection_id: int | None

    name = models.CharField(max_length=100, db_comment="what it is called")
    owner = models.ForeignKey(User, models.SET_NULL, null=True, db_comment="who made it")
    kind = models.CharField(max_length=8, choices=Kind, db_comment="apprise or webhook")
    target = SealedField(db_comment="Apprise URL or address of the webhook, sealed: it may hold passwords")
    secret = SealedField(default="", db_comment="key that webhook messages are signed with, sealed")
    subscription = models.ForeignKey(
        Subscription, models.CASCADE, null=True, db_comment="tell only of this one; null with collection: of all"
    )
    collection = models.ForeignKey(Collection, models.CASCADE, null=True, db_comment="tell only of this collection")
    digest_hours = models.FloatField(default=0.0, db_comment="gather changes for so many hours; 0: at once")
    changes = models.BooleanField(default=True, db_comment="tell of important changes")
    errors = models.BooleanField(default=True, db_comment="tell when a subscription fails repeatedly, and recovers")
    language = models.CharField(max_length=2, default="en", db_comment="es or en")
    active = models.BooleanField(default=True, db_comment="false: paused by a person, or given up after many failures")
    failures = models.IntegerField(default=0, db_comment="deliveries that failed in a row")
    last_error = models.TextField(default="", db_comment="why the last of them failed, for people")
    sent_ms = models.BigIntegerField(default=0, db_comment="last delivery; 0 never")
    created_ms = models.BigIntegerField(db_comment="when it was made")

    class Meta:
        db_table = "channel"
        db_table_comment = "where people are told about changes"


class Notice(models.Model):
    """Something a channel is to be told, once."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENDING = "sending"  # by a way that cannot recognise a repetition: it is not sent again
        SENT = "sent"
        FAILED = "failed"

    channel_id: int

    channel = models.ForeignKey(Channel, models.CASCADE, db_comment="whom to tell")
    event = models.CharField(max_length=80, db_comment="what happened, such as change:<capture>; told once per channel")
    kind = models.CharField(max_length=11, db_comment="change, match, burst, error, recovered, service, certificate")
    facts = models.JSONField(db_comment="what the message says")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING, db_comment="waiting, sent, failed")
    created_ms = models.BigIntegerField(db_comment="when it happened")
    due_ms = models.BigIntegerField(db_comment="not delivered before this time")
    attempts = models.IntegerField(default=0, db_comment="failed deliveries")
    sent_ms = models.BigIntegerField(default=0, db_comment="when it was delivered; 0 not yet")
    error = models.TextField(default="", db_comment="why the last delivery failed")

    class Meta:
        db_table = "notice"
        db_table_comment = "messages to deliver and delivered: the outbox"
        constraints = [models.UniqueConstraint(fields=["channel", "event"], name="notice_once")]
        indexes = [models.Index(fields=["due_ms"], name="notice_waiting", condition=models.Q(state="waiting"))]


class SavedSearch(models.Model):
    """A query somebody wants to hear of when something new matches it."""

    channel_id: int | None

    name = models.CharField(max_length=200, db_comment="what it is called; the query unless somebody named it")
    query = models.TextField(db_comment="what is looked for; every word is required")
    owner = models.ForeignKey(User, models.SET_NULL, null=True, db_comment="who saved it; null: nobody any more")
    channel = models.ForeignKey(
        Channel, models.SET_NULL, null=True, db_comment="who is told; null: all channels that tell of everything"
    )
    created_ms = models.BigIntegerField(db_comment="when it was saved; what matched then is not told")
    found_ms = models.BigIntegerField(default=0, db_comment="when something new matched last; 0 never")
    found = models.IntegerField(default=0, db_comment="how many pages have matched since it was saved")

    class Meta:
        db_table = "saved_search"
        db_table_comment = "queries whose new matches are told"


class SavedMatch(models.Model):
    """A page a saved search has found, so that nobody is told of it again."""

    search = models.ForeignKey(SavedSearch, models.CASCADE, db_index=False, db_comment="search that found it")
    key = models.BigIntegerField(db_comment="page, as page.key, or imported document")
    found_ms = models.BigIntegerField(db_comment="when it was found; 0: it matched when the search was saved")

    class Meta:
        db_table = "saved_match"
        db_table_comment = "pages that saved searches have found"
        constraints = [models.UniqueConstraint(fields=["search", "key"], name="saved_match_once")]


class Allowance(models.Model):
    """What was left of a budget, or owed, when it was last used: a restart must neither forgive nor forget it."""

    owner = models.CharField(
        max_length=300, primary_key=True, db_comment="instance, collection N, subscription N or site HOST"
    )
    visits = models.FloatField(db_comment="visits left at that time; negative: owed")
    bytes = models.FloatField(db_comment="bytes left at that time; negative: owed")
    at_ms = models.BigIntegerField(db_comment="when that was")

    class Meta:
        db_table = "allowance"
        db_table_comment = "what is left of budgets, or owed, kept over restarts"


class WatchRevision(models.Model):
    """Counts the changes people make, so that the engine notices them by one small read."""

    number = models.BigIntegerField(default=0, db_comment="grows with every change of subscriptions or budgets")

    class Meta:
        db_table = "watch_revision"
        db_table_comment = "one row: grows when the engine must read the subscriptions again"
