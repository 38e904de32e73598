"""Reads that may take long or much memory (texts, comparisons, trials of rules), done in processes of their own.

Whoever asks waits for a turn: a few at a time, each address in its turn, each read with a limit of time and memory, and
what came of it is kept for a while. The processes are started by the first read and end when there is none.

What crosses between them is msgpack of known types: a process that a hostile page took over can send lies, but no code.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import ipaddress
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from multiprocessing.connection import Connection
from socket import socketpair
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_type_hints

import msgspec

from hemeroteca.errors import Busy, Invalid, NotFound, Unavailable
from hemeroteca.warc import DOM_TYPE, MAX_CONTENT, Location, WarcReadError

if TYPE_CHECKING:  # what it takes to read and compare is loaded by the processes, not by whoever asks
    from hemeroteca import change, extract
    from hemeroteca.change import picture

T = TypeVar("T")

AT_ONCE = max(1, (os.cpu_count() or 2) - 1)
WAITING = 4  # each holds a thread of the console, which has eight
FOR_ONE_ADDRESS = 3  # at work or waiting
SECONDS = 15.0  # for one read, and for waiting
START_SECONDS = 30.0  # for a process to be ready: it is not the fault of what is read
MEMORY = 1536 << 20  # address space of a process; a PDF gets one of its own, with less
IDLE_SECONDS = 30.0
KEPT_BYTES = 16 << 20
KEPT_SECONDS = 300.0
STEEP = 7  # four times the page may cost four times as much, not sixteen times
STEEP_SECONDS = 0.15  # of the processor, as below; less than this nobody minds
RULES_SECONDS = 4.0

asker: ContextVar[str] = ContextVar("asker", default="")  # address of who asks


# what is done


class Stored(msgspec.Struct, frozen=True):
    """Where a capture lies that is to be read: as it was received, and as a browser showed it."""

    url: str
    status: int
    body: Location
    mime: str = ""
    dom: Location | None = None
    picture: Location | None = None

    def snapshot(self) -> change.Snapshot:
        """As it is compared: what a browser made of it, where one opened it, else the bytes received."""
        from hemeroteca import change

        if self.dom is not None:
            picture = self.picture.read().payload(64 << 20) if self.picture is not None else b""
            shown = self.dom.read()
            at_ms = shown.captured_ms or 0
            return change.Snapshot(
                body=shown.payload(MAX_CONTENT),
                content_type=DOM_TYPE,
                url=self.url,
                status=self.status,
                screenshot=picture,
                at_ms=at_ms,
            )
        record = self.body.read()
        kind = record.header("content-type") or self.mime
        return change.Snapshot(record.content()[0], kind, self.url, self.status, at_ms=record.captured_ms or 0)


class ComparedVersions(NamedTuple):
    change: change.Judgement
    rows: list[change.Row] = []
    marked: str = ""
    facts: dict[str, Any] = {}


def compare(old: Stored, new: Stored, rules: change.ChangeRules, noisy: list[str], view: str) -> ComparedVersions:
    """`view`: rows (side by side), page (marked in it) or facts."""
    from hemeroteca import change

    before, after = old.snapshot(), new.snapshot()
    found = change.compare(before, after, rules, frozenset(noisy) or None)
    if view == "page":
        return ComparedVersions(found, marked=change.highlighted_page(before, after, rules))
    if view == "facts":
        return ComparedVersions(found, facts=change.as_json(before, after, rules, found))
    return ComparedVersions(found, change.side_by_side(before, after, rules))


def text(stored: Stored, limit: int) -> extract.Document:
    """Title, text and language, read anew; links are left out."""
    from hemeroteca import extract

    if stored.dom is not None:
        found = extract.read(stored.dom.read().payload(limit), DOM_TYPE, stored.url)
    else:
        record = stored.body.read()
        found = extract.read(record.content(limit)[0], record.header("content-type"), stored.url)
    found.links = []
    return found


class DecodedBody(NamedTuple):
    """A body without the coding it travelled in."""

    data: bytes
    note: str  # why it is not whole; empty when it is
    header: str  # the Content-Type as received
    size: int  # as received


def body(location: Location, limit: int) -> DecodedBody:
    record = location.read()
    data, note = record.content(limit)
    return DecodedBody(data, note, record.header("content-type"), record.size)


def marked_picture(old: Location, new: Location) -> picture.MarkedPicture:
    """Two screenshots, the places marked that differ."""
    from hemeroteca.change import picture

    return _drawn(picture.marked, *(place.read().payload(64 << 20) for place in (old, new)))


def thumbnail(place: Location) -> bytes:
    """A screenshot in small."""
    from hemeroteca.change import picture

    return _drawn(picture.thumbnail, place.read().payload(64 << 20))


def cover(data: bytes) -> bytes:
    """A picture that somebody sent, drawn anew as a PNG of at most 1200 × 400: nothing of the file itself is kept."""
    from hemeroteca.change import picture

    return _drawn(picture.cover, data)


def _drawn(draw: Callable[..., T], *pictures: bytes) -> T:
    try:
        return draw(*pictures)
    except ImportError:
        raise Invalid("pictures need Pillow: pip install 'hemeroteca[browser]'", "pictures-need-pillow")
    except ValueError as error:
        raise Invalid(str(error), "picture-unreadable")


def try_rules(rules: change.ChangeRules) -> None:
    """Select in a page as long as the longest they are used on: what is too slow there would hold up crawls."""
    from hemeroteca import change, lazy

    lazy.load(change)  # before the clock runs
    part = b"<div class=a><p id=b>x <a href=/>y</a></p><p>z</p></div>"
    signal.setitimer(signal.ITIMER_PROF, RULES_SECONDS)  # ends the process, whatever it is doing

    def cost(parts: int) -> float:
        page = change.Snapshot(part * parts, "text/html")
        began = time.process_time()
        change.compare(change.Snapshot(b"<p>", "text/html"), page, rules)
        return time.process_time() - began

    def steep() -> bool:  # the least of three: a neighbour at work makes a processor slower, never quicker
        longer = cost(2400)  # XPath is only used on pages as long as this
        return longer > STEEP_SECONDS and longer > STEEP * min(cost(600) for _ in range(3))

    try:
        if steep() and steep():
            raise change.RulesError(
                "these rules look at the whole page again for each part of it; write selectors and XPath that look once"
            )
        cost(6000)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


# how


def run(function: Callable[..., T], *arguments: Any, seconds: float = SECONDS) -> T:
    """What a function of this module returns, or raises. Raises Busy, and Invalid for what cannot be done in time."""
    return _READS.run(function, arguments, seconds)


def check_rules(rules: change.ChangeRules) -> None:
    """Raise `change.RulesError` for rules that cannot be used, or are too slow to be."""
    from hemeroteca import change

    change.check(rules)
    if rules.ignore or rules.keep:
        try:
            run(try_rules, rules, seconds=4 * SECONDS)
        except change.RulesError:
            raise
        except (Invalid, MemoryError):
            raise change.RulesError("these rules take too long on a large page; write selectors that look for less")


class _Ticket(NamedTuple):
    who: str
    key: bytes


class _Outcome(NamedTuple):
    good: bool
    packed: bytes  # the result, or the name of an error and its message
    until: float
    kind: Any = None  # of the result


class Reads:
    """Who waits, who is at work, and what is known already."""

    def __init__(
        self,
        at_once: int = AT_ONCE,
        module: str = __name__,  # that the processes run
        each: int = FOR_ONE_ADDRESS,
        otherwise: str = "download the original instead",  # what to do when it took too long
    ) -> None:
        self._changed = threading.Condition()
        self._free = at_once
        self._module, self._each, self._otherwise = module, each, otherwise
        self._idle: list[_Process] = []
        self._line: list[_Ticket] = []
        self._at_work: list[_Ticket] = []
        self._turns: dict[str, float] = {}  # when addresses that wait had their last
        self._known: OrderedDict[bytes, _Outcome] = OrderedDict()

    def close(self) -> None:
        """End the processes that wait for work."""
        with self._changed:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()

    def run(self, function: Callable[..., T], arguments: tuple[Any, ...], seconds: float, mark: bytes = b"") -> T:
        """`mark`: another one means that what is known already does not count."""
        order = msgspec.msgpack.encode(_Order(function.__module__, function.__name__, list(arguments)))
        kind = _types(function).get("return", Any)
        ticket = _Ticket(network(asker.get()), hashlib.blake2b(order + mark, digest_size=16).digest())
        with self._changed:
            if (known := self._recall(ticket.key)) is not None:
                return _result_of(known)
            here = Counter(one.who for one in (*self._line, *self._at_work))
            if here[ticket.who] >= self._each or len(self._line) >= WAITING:
                raise Busy("many long reads are being done; ask for this one again in a moment")
            self._line.append(ticket)
            try:
                turned = self._changed.wait_for(lambda: self._recall(ticket.key) or self._may_go(ticket), SECONDS)
            finally:
                self._line.remove(ticket)
            if (known := self._recall(ticket.key)) is not None:
                return _result_of(known)
            if not turned:
                raise Busy("many long reads are being done; ask for this one again in a moment")
            self._at_work.append(ticket)
            self._turns = {one.who: self._turns.get(one.who, 0.0) for one in self._line} | {
                ticket.who: time.monotonic()
            }
            process = self._idle.pop() if self._idle else None
        try:
            outcome = self._do(process, order, seconds)._replace(kind=kind)
        finally:
            with self._changed:
                self._at_work.remove(ticket)
                self._changed.notify_all()
        with self._changed:
            self._keep(ticket.key, outcome)
        return _result_of(outcome)

    def _may_go(self, ticket: _Ticket) -> bool:
        """The address whose last turn was longest ago goes first; among its own, who came first."""
        if len(self._at_work) >= self._free:
            return False
        keys = {one.key for one in self._at_work}
        ready = [one for one in self._line if one.key not in keys]
        return bool(ready) and min(ready, key=lambda one: self._turns.get(one.who, 0.0)) is ticket

    def _do(self, process: _Process | None, order: bytes, seconds: float) -> _Outcome:
        process = process or _Process(self._module)
        if not process.ready():
            process.end()
            raise Busy("this machine is very busy; ask again in a moment")  # which says nothing about this read
        outcome = process.ask(order, seconds, self._otherwise)
        if process.alive:
            with self._changed:
                self._idle.append(process)
            timer = threading.Timer(IDLE_SECONDS, self._end_idle, [process])
            timer.daemon = True
            timer.start()
        return outcome

    def _end_idle(self, process: _Process) -> None:
        with self._changed:
            if process in self._idle and process.idle_since <= time.monotonic() - IDLE_SECONDS:
                self._idle.remove(process)
                process.end()

    def _recall(self, key: bytes) -> _Outcome | None:
        found = self._known.get(key)
        if found is None or found.until < time.monotonic():
            return None
        self._known.move_to_end(key)
        return found

    def _keep(self, key: bytes, outcome: _Outcome) -> None:
        if len(outcome.packed) <= KEPT_BYTES // 4:
            self._known[key] = outcome
            while sum(len(one.packed) for one in self._known.values()) > KEPT_BYTES:
                self._known.popitem(last=False)
        self._changed.notify_all()


class _Process:
    def __init__(self, module: str = __name__) -> None:
        ours, theirs = socketpair()
        command = [sys.executable, "-m", module, str(theirs.fileno())]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        self._wire: Connection[Any, Any] = Connection(ours.detach())
        self.alive = True
        self.idle_since = 0.0

    def ready(self) -> bool:
        """It says so after its start and after each read."""
        with contextlib.suppress(EOFError, OSError):
            return self._wire.poll(START_SECONDS) and bool(self._wire.recv_bytes())
        return False

    def ask(self, order: bytes, seconds: float, otherwise: str) -> _Outcome:
        until = time.monotonic() + KEPT_SECONDS
        try:
            self._wire.send_bytes(order)
            if not self._wire.poll(seconds):
                raise TimeoutError
            good, packed = msgspec.msgpack.decode(self._wire.recv_bytes(), type=tuple[bool, bytes])
        except (EOFError, OSError, msgspec.DecodeError):
            self.end()
            why = f"this cannot be read within {seconds:g} s and the memory there is for it; {otherwise}"
            return _Outcome(False, msgspec.msgpack.encode(("too-costly", why)), until)
        self.idle_since = time.monotonic()
        return _Outcome(good, packed, until)

    def end(self) -> None:
        self.alive = False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # with the process that reads a PDF for it
        self._process.wait()
        self._wire.close()


class _Order(msgspec.Struct, array_like=True):
    module: str
    function: str
    arguments: list[Any]


def _types(function: Callable[..., Any]) -> dict[str, Any]:
    """Of what a function takes and returns."""
    if function.__module__ != __name__:  # plain values only
        return {}
    from hemeroteca import change, extract
    from hemeroteca.change import picture

    names = {"change": change, "extract": extract, "picture": picture}
    globals().update(names)  # msgspec looks up here what the fields of `ComparedVersions` are
    return get_type_hints(function, localns=names)


def _result_of(outcome: _Outcome) -> Any:
    if outcome.good:
        try:
            return msgspec.msgpack.decode(outcome.packed, type=outcome.kind)
        except msgspec.DecodeError:
            raise Invalid("this could not be read; download the original instead", "too-costly")
    name, message = msgspec.msgpack.decode(outcome.packed, type=tuple[str, str])
    if name == "too-costly":
        raise Invalid(message, name)
    raise _errors().get(name, Invalid)(message)


def _errors() -> dict[str, type[Exception]]:
    """What a read may raise; anything else is told as Invalid."""
    from hemeroteca import change

    known = (change.RulesError, Busy, Invalid, MemoryError, NotFound, Unavailable, WarcReadError)
    return {one.__name__: one for one in known}


def network(address: str) -> str:
    """An IPv6 user commands a whole /64; one of IPv4 that comes in by IPv6 has its own address all the same."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network(f"{ip}/64", strict=False))
    return str(getattr(ip, "ipv4_mapped", ip))


def serve(descriptor: int, memory: int = MEMORY, after: Callable[[], None] = lambda: None) -> None:
    """The process: one order after the other, until whoever asks is gone; `after` each, something is put away."""
    wire: Connection[Any, Any] = Connection(descriptor)
    resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)
    # who left without reading that this one is ready again has reset the connection
    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            wire.send_bytes(b"ready")
            order = msgspec.msgpack.decode(wire.recv_bytes(), type=_Order)
            wire.send_bytes(msgspec.msgpack.encode(_answer(order)))
            after()


def _answer(order: _Order) -> tuple[bool, bytes]:
    try:
        return True, msgspec.msgpack.encode(_done(order))
    except Exception as error:
        name = type(error).__name__
        told = str(error) if name in _errors() else f"{name}: {error}"
        return False, msgspec.msgpack.encode((name, told))


def _done(order: _Order) -> Any:
    function = getattr(importlib.import_module(order.module), order.function)
    types = [kind for name, kind in _types(function).items() if name != "return"]
    pairs = zip(order.arguments, types or [Any] * len(order.arguments), strict=True)
    return function(*(msgspec.convert(argument, kind) for argument, kind in pairs))


_READS = Reads()

if __name__ == "__main__":
    from hemeroteca.ingest import heavy_reads  # the functions are of that name, not of `__main__`

    heavy_reads.serve(int(sys.argv[1]))
