"""Who may do what, in one table: `ACTIONS`.

API, console and commands build an `Actor` and hand it to services and queries, which ask `require(actor, action)`.
To add a role, add it to `Role` and to the groups below; to add something that can be done, add a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from hemeroteca.errors import Denied

if TYPE_CHECKING:
    from hemeroteca.accounts.models import ApiToken, User


class Role(StrEnum):
    READER = "reader"  # looks
    SUBSCRIBER = "subscriber"  # also proposes sites, and manages their own
    DIRECTOR = "director"  # also decides what is watched, how often and at what cost; orders crawls
    ADMINISTRATOR = "administrator"  # also operates the instance


READERS = frozenset(Role)
SUBSCRIBERS = frozenset({Role.SUBSCRIBER, Role.DIRECTOR, Role.ADMINISTRATOR})
DIRECTORS = frozenset({Role.DIRECTOR, Role.ADMINISTRATOR})
ADMINISTRATORS = frozenset({Role.ADMINISTRATOR})


class Strangers(StrEnum):
    """When somebody who has not signed in may do something too."""

    NEVER = "never"
    OPEN = "open"  # while the setting `open_search` is on
    ALWAYS = "always"


class Permission(NamedTuple):
    words: str  # completes "you may not …"
    roles: frozenset[Role]
    strangers: Strangers = Strangers.NEVER
    owner: bool = False  # also whoever the thing belongs to


def _reading(words: str) -> Permission:
    return Permission(words, READERS, Strangers.OPEN)


def _public(words: str) -> Permission:
    return Permission(words, READERS, Strangers.ALWAYS)


# The first word of an action is its scope: a token may be limited to some scopes.
ACTIONS: dict[str, Permission] = {
    "search.read": _reading("search the archive"),
    "search.feed": _public("read a feed of results"),  # its key, or `search.read`
    "search.saved": Permission("see saved searches", READERS),
    "search.save": Permission("save a search", SUBSCRIBERS),
    "search.forget": Permission("remove a saved search", DIRECTORS, owner=True),
    "search.history": Permission("see and erase one's own searches", READERS),
    "search.preferences": Permission("see which hosts are raised, lowered or blocked", READERS),
    "search.prefer": Permission("raise, lower or block a host in search", DIRECTORS),
    "search.import": Permission("put documents into the index", ADMINISTRATORS),
    "search.rebuild": Permission("rebuild the index", ADMINISTRATORS),
    "search.rank": Permission("rank the link graph", ADMINISTRATORS),
    "search.learn": Permission("learn words for suggestions", ADMINISTRATORS),
    "archive.read": _reading("read the archive"),
    "archive.files": Permission("read whole WARC files", READERS),
    "archive.notes": Permission("read tags and notes", READERS),
    "archive.note": Permission("tag pages and write notes", SUBSCRIBERS),
    "archive.unnote": Permission("remove a note", ADMINISTRATORS, owner=True),
    "archive.import": Permission("import captures", DIRECTORS),
    "archive.export": Permission("export captures", DIRECTORS),
    "archive.verify": Permission("verify and repair the archive", ADMINISTRATORS),
    "archive.prune": Permission("delete versions from the archive", ADMINISTRATORS),
    "archive.erase": Permission("erase captures for good", ADMINISTRATORS),
    "archive.offload": Permission("move WARC files to another store", ADMINISTRATORS),
    "crawl.read": _reading("see crawls and pages"),
    "crawl.submit": Permission("order a crawl", DIRECTORS),
    "crawl.stop": Permission("stop a crawl", DIRECTORS),
    "crawl.resume": Permission("resume a crawl", DIRECTORS),
    "crawl.exclude": Permission("leave addresses out of a crawl", DIRECTORS),
    "crawl.take": Permission("take what a crawl held back as a possible trap", DIRECTORS),
    "crawl.insist": Permission(
        "ignore robots.txt, accept broken certificates or wait less than `delay` between requests", ADMINISTRATORS
    ),
    "focus.read": _reading("see what focused crawls look for and found"),
    "focus.import": Permission("import a thesaurus", DIRECTORS),
    "site.read": Permission("see the settings of a site", DIRECTORS),
    "site.change": Permission("change how a site is read and compared", DIRECTORS),
    "site.insist": Permission("change how politely and with which secrets a site is visited", ADMINISTRATORS),
    "watch.read": _reading("see what is watched and what changed"),
    "watch.subscriptions": Permission("see subscriptions", READERS),
    "watch.propose": Permission("propose a site to watch", SUBSCRIBERS),
    "watch.subscribe": Permission("subscribe to a site", DIRECTORS),
    "watch.approve": Permission("approve or refuse a proposed site", DIRECTORS),
    "watch.change": Permission("change a subscription", DIRECTORS, owner=True),
    "watch.end": Permission("end a subscription", DIRECTORS, owner=True),
    "watch.collect": Permission("make, change or remove a collection", DIRECTORS),
    "watch.publish": Permission("publish a collection", DIRECTORS),
    "watch.published": _public("read a published collection"),
    "watch.channels": Permission("see where notices go", DIRECTORS),
    "watch.channel": Permission("make, change or remove a channel for notices", DIRECTORS, owner=True),
    "watch.sources": Permission("see who tells that pages changed", READERS),
    "watch.source": Permission("make or remove a source of signals", DIRECTORS, owner=True),
    "watch.learn": Permission("learn what changes from the archive", ADMINISTRATORS),
    "predict.calibrate": Permission("learn from the history how good predictions are", ADMINISTRATORS),
    "watch.signal": _public("tell that pages changed"),  # each sender proves who it is by itself
    "watch.feed": _public("read a feed of changes"),  # its key, or `watch.read`
    "geo.read": _reading("see the catalogue of geographic services"),
    "geo.inspect": Permission("have a document looked at", READERS),
    "geo.add": Permission("add a geographic service", DIRECTORS),
    "geo.harvest": Permission("harvest a catalogue of geographic services", DIRECTORS),
    "geo.check": Permission("check the health of geographic services", DIRECTORS),
    "geo.claim": Permission("claim a geographic service as its owner", DIRECTORS),
    "geo.withdraw": Permission("withdraw a geographic service", ADMINISTRATORS, owner=True),
    "geo.export": Permission("export the catalogue of geographic services", READERS),
    "wiki.read": _reading("read histories of articles"),
    "wiki.query": Permission("run SQL and pipelines over histories", READERS),
    "wiki.extract": Permission("extract or refresh histories of articles", DIRECTORS),
    "wiki.import": Permission("import a dump of a wiki", DIRECTORS),
    "wiki.export": Permission("export histories of articles", DIRECTORS),
    "wiki.upkeep": Permission("compact the lake", ADMINISTRATORS),
    "fleet.status": _reading("see how the fleet stands"),
    "fleet.work": _public("work as a device"),  # each device proves who it is by its own token
    "fleet.bot": _public("see what the fleet did at a host, or close it"),  # proves that the host is theirs
    "fleet.devices": Permission("see devices", ADMINISTRATORS, owner=True),
    "fleet.device": Permission("add, change or remove a device", ADMINISTRATORS, owner=True),
    "fleet.ask": Permission("ask to be a client of the fleet", ADMINISTRATORS, owner=True),
    "fleet.fetch": Permission("have URLs fetched by the fleet", READERS),  # and the operator's approval
    "fleet.fetches": Permission("see what was fetched for somebody", ADMINISTRATORS, owner=True),
    "fleet.vantage": Permission("have URLs compared from many places", READERS),  # and the operator's approval
    "fleet.vantages": Permission("see or end somebody's vantage checks", ADMINISTRATORS, owner=True),
    "fleet.load": Permission("propose a load test of a site of one's own", READERS),  # and the proof
    "fleet.loads": Permission("see, start or stop somebody's load tests", ADMINISTRATORS, owner=True),
    "fleet.credits": Permission("see credits", ADMINISTRATORS, owner=True),
    "fleet.operate": Permission("operate the fleet", ADMINISTRATORS),
    "fleet.simulate": Permission("simulate a fleet", READERS),
    "predict.read": Permission("see how good predictions are", READERS),
    "predict.simulate": Permission("simulate policies", READERS),
    "account.sign_in": _public("sign in"),
    "account.users": Permission("see who may sign in", ADMINISTRATORS),
    "account.user": Permission("add, change or remove people", ADMINISTRATORS),
    "account.invite": Permission("invite people", ADMINISTRATORS),
    "account.audit": Permission("read the audit log", ADMINISTRATORS),
    "account.favourites": Permission("keep favourites of one's own", READERS),
    "account.self": Permission("see one's own account and keep preferences in it", READERS),
    "account.display": _public("choose how pages are shown"),  # a stranger's choice stays in the browser
    "account.password": Permission("set a password", ADMINISTRATORS, owner=True),
    "account.tokens": Permission("see tokens", ADMINISTRATORS, owner=True),
    "account.token": Permission("make or revoke a token", ADMINISTRATORS, owner=True),
    "job.submit": Permission("order a job", READERS),  # and what the job does
    "job.read": Permission("see a job", DIRECTORS, owner=True),
    "job.cancel": Permission("cancel a job", ADMINISTRATORS, owner=True),
    "instance.about": _public("read what this server is"),  # descriptions, robots.txt, pictures
    "instance.status": _reading("see the status"),
    "instance.operate": Permission("operate the instance", ADMINISTRATORS),
    "instance.backup": Permission("make a backup", ADMINISTRATORS),
}
SCOPES = tuple(dict.fromkeys(action.partition(".")[0] for action in ACTIONS))


@dataclass(frozen=True)
class Actor:
    """Whoever asks: a person, a program with a person's token, a part of the system, or a stranger."""

    name: str
    user: User | None = None
    roles: tuple[Role, ...] = ()  # every one of them must allow an action: a token's and its owner's
    scopes: frozenset[str] | None = None  # None: all

    @classmethod
    def of(cls, user: Any) -> Actor:
        """The actor of whoever is signed in (`request.user`)."""
        if not getattr(user, "is_active", False):
            return STRANGER
        return cls(str(user), user, (Role(user.role),))

    @classmethod
    def with_token(cls, token: ApiToken) -> Actor:
        """A program, with the rights of its token within those of the token's owner."""
        if not token.user.is_active:
            return STRANGER
        roles = (Role(token.user.role), Role(token.role))
        return cls(str(token.user), token.user, roles, frozenset(token.scopes) or None)

    @property
    def role(self) -> str:
        """For people to read: the role, or what stands for one."""
        return " limited to ".join(dict.fromkeys(self.roles)) or self.name


SYSTEM = Actor("system")  # the engine, and commands of whoever operates the machine: may do everything
STRANGER = Actor("stranger")


class PermissionDenied(Denied):
    """Names the action, and the roles that may do it."""

    def __init__(self, actor: Actor, action: str) -> None:
        permission = ACTIONS[action]
        self.action = action
        self.roles = tuple(role for role in Role if role in permission.roles)
        self.scope = action.partition(".")[0]
        least = self.roles[0]
        if actor == STRANGER:
            reason, code = "sign in, or send `Authorization: Bearer …` with a token", "sign-in-needed"
        elif actor.scopes is not None and self.scope not in actor.scopes:
            reason, code = f"this token is not for the scope {self.scope}; make one that is", "scope-needed"
        else:
            reason, code = f"it needs the role {least}; yours is {actor.role}", "role-needed"
        super().__init__(f"you may not {permission.words}: {reason}", code)


def can(actor: Actor, action: str, thing: object = None) -> bool:
    """Whether somebody may do something, with this thing. Raises KeyError for an action that is not in the table."""
    permission = ACTIONS[action]
    if actor is SYSTEM or permission.strangers is Strangers.ALWAYS:
        return True
    if permission.strangers is Strangers.OPEN and _is_open():
        return True
    if actor.scopes is not None and action.partition(".")[0] not in actor.scopes:
        return False
    if actor.roles and all(role in permission.roles for role in actor.roles):
        return True
    whole = actor.user is not None and len(set(actor.roles)) == 1  # not a token that may do less than its owner
    return permission.owner and whole and thing is not None and owner_of(thing) == actor.user


def may_try(actor: Actor, action: str) -> bool:
    """Whether somebody may do something at all, be it only with their own things, which services then look at."""
    return can(actor, action, actor.user)


def require(actor: Actor, action: str, thing: object = None) -> None:
    if not can(actor, action, thing):
        raise PermissionDenied(actor, action)


def owner_of(thing: object) -> object:
    """Whom a thing belongs to: its `owner` or `user`; people belong to themselves."""
    return getattr(thing, "owner", None) or getattr(thing, "user", None) or thing


def covers(role: Role, other: Role) -> bool:
    """Whether a role may do everything that another may."""
    return all(role in permission.roles for permission in ACTIONS.values() if other in permission.roles)


def _is_open() -> bool:
    from django.conf import settings

    return bool(settings.CONFIG.open_search)
