"""Who did what to which thing, and when: one row for each act that matters to whoever is responsible.

Services call `note` after they acted; nothing changes or removes a row, except that the oldest ones make room.
"""

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext_lazy as _

from hemeroteca import spreadsheet
from hemeroteca.accounts.models import AuditEntry
from hemeroteca.accounts.permissions import Actor, require
from hemeroteca.ingest.heavy_reads import asker

MAX_ENTRIES = 200_000
TRIM_EVERY = 500  # rows between two looks whether there are too many

# What is written, with its name for people.
ACTS = {
    "sign-in": _("signed in"),
    "sign-in refused": _("was not let in"),
    "sign-out": _("signed out"),
    "sessions ended": _("ended sessions"),
    "registered": _("registered"),
    "invited": _("invited somebody"),
    "user added": _("added a person"),
    "user removed": _("removed a person"),
    "role changed": _("changed a role"),
    "locked out": _("locked somebody out"),
    "let in again": _("let somebody in again"),
    "password set": _("set a password"),
    "e-mail changed": _("changed an e-mail address"),
    "two-factor on": _("switched two-factor sign-in on"),
    "two-factor off": _("switched two-factor sign-in off"),
    "recovery codes": _("made recovery codes"),
    "token made": _("made a token"),
    "token revoked": _("revoked a token"),
    "erased": _("erased captures"),
    "taken down": _("took an address down"),
    "takedown lifted": _("lifted a takedown"),
    "published": _("published a collection"),
    "unpublished": _("withdrew a published collection"),
    "process ordered": _("stopped or started a process"),
    "site changed": _("changed settings of a site"),
    "proposed": _("proposed a site"),
    "subscribed": _("subscribed to a site"),
    "approved": _("approved a proposed site"),
    "refused": _("refused a proposed site"),
    "subscription changed": _("changed a subscription"),
    "subscription ended": _("ended a subscription"),
    "crawl ordered": _("ordered a crawl"),
    "job ordered": _("ordered a job"),
}


def note(actor: Actor, act: str, thing: object = "", detail: str = "") -> None:
    """Write that somebody did something. `act` is one of `ACTS`."""
    if act not in ACTS:
        raise KeyError(act)
    made = AuditEntry(  # not `create`: it first looks at the relations of all tables
        user=actor.user,
        who=actor.name[:64],
        act=act,
        thing=str(thing)[:300],
        detail=detail[:500],
        address=asker.get("")[:45],
    )
    made.save(force_insert=True)
    if made.pk % TRIM_EVERY == 0:
        AuditEntry.objects.filter(pk__lte=made.pk - MAX_ENTRIES).delete()


def entries(
    actor: Actor,
    limit: int = 100,
    *,
    before: int | None = None,
    who: str = "",
    act: str = "",
    thing: str = "",
    since: datetime | None = None,
) -> list[AuditEntry]:
    """Newest first. `thing`: what contains this text."""
    require(actor, "account.audit")
    found = AuditEntry.objects.order_by("-pk")
    for name, value in (
        ("pk__lt", before),
        ("who", who),
        ("act", act),
        ("thing__icontains", thing),
        ("at__gte", since),
    ):
        if isinstance(value, str) and "\0" in value:
            return []  # no text of a database has it, and PostgreSQL refuses the question
        if value:
            found = found.filter(**{name: value})
    return list(found[:limit])


def as_csv(rows: list[AuditEntry]) -> Iterator[str]:
    names = ("who", "act", "thing", "detail", "address")
    cells = ((row.at.isoformat(), *(getattr(row, name) for name in names)) for row in rows)
    return spreadsheet.lines([("at", *names), *cells])
