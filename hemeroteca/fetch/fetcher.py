"""The fetcher: many requests at once on one thread, driven by the caller's selector.

libcurl's sockets live in an epoll set of our own, whose single descriptor is registered in the caller's selector:
registering each socket there for each request would cost more than the request.
"""

import logging
import os
import re
import select
import selectors
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from time import monotonic

import pycurl

from hemeroteca.fetch import failures, proxies
from hemeroteca.fetch.body import Body, Spool
from hemeroteca.fetch.failures import Failure
from hemeroteca.fetch.guard import Guard
from hemeroteca.fetch.heads import HeaderBook
from hemeroteca.fetch.origins import Origin, Origins, local_name, pins, refused_address
from hemeroteca.fetch.request import FetchSettings, Request, Result
from hemeroteca.fetch.resolver import Lookup, Resolution, Resolver
from hemeroteca.fetch.transfer import USUAL, CurlTransfer, HandleKind

log = logging.getLogger(__name__)

Done = Callable[[Result], None]

_IDLE_HANDLES = 256  # kept for reuse, of each kind
_KINDS = 64
_SET_COOKIE = re.compile(rb"\nset-cookie[ \t]*:", re.IGNORECASE)
_MOST_COOKIES = 3000  # in a jar, as RFC 6265 advises
_COOKIES_PER_DOMAIN = 50
_LOGINS = 10_000


class Fetcher:
    """Fetches what is submitted and calls back with a `Result`, always from the loop, never from `submit`.

    The caller's loop: `for key, mask in selector.select(fetcher.timeout()): key.data(key.fd, mask)`, then
    `fetcher.tick()`. Redirects are results like others: following one is a new request, guarded like the first.
    """

    def __init__(
        self, settings: FetchSettings, selector: selectors.BaseSelector, *, lookup: Lookup | None = None
    ) -> None:
        self._settings = settings
        self._selector = selector
        self._strict = Guard(networks=settings.allow_networks)
        self._open = Guard(allow_private=True)
        self._origins = Origins(settings.resolve, self._strict)
        self._headers = HeaderBook(settings.user_agent)
        self._spool = Spool(settings.spool_dir, settings.spool_bytes, settings.memory_bytes)
        self._own_proxy = proxies.read(settings.proxy) if settings.proxy else None

        self._pool: dict[HandleKind, list[CurlTransfer]] = {USUAL: []}
        self._jars: dict[str, pycurl.CurlShare] = {}
        self._jar_counts: dict[str, int] = {}  # Set-Cookie headers since the jar was last looked through
        self._basic: set[tuple[str, str]] = set()  # (origin, user) that asked for a basic login
        self._busy: dict[pycurl.Curl, CurlTransfer] = {}
        self._running = 0  # as libcurl counts; fewer than busy: some are finished
        self._active = 0
        self._waiting: dict[str, list[_Waiting]] = {}  # by the name that is being looked up
        self._deadlines: deque[_Waiting] = deque()
        self._failed: list[tuple[Done, Result]] = []  # before anything was sent
        self._at: Counter[str] = Counter()  # requests under way by address
        self._parked: dict[str, deque[partial[None]]] = {}  # those that wait for their address
        self.parked = 0  # how many these are

        self._epoll = select.epoll()
        self._bell = _Bell()
        self._epoll.register(self._bell.fd, select.EPOLLIN)
        self._sockets: set[int] = set()  # those libcurl wants to hear about
        self._due: float | None = None  # when libcurl wants to be called

        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, settings.max_connections)
        self._resolver = Resolver(
            self._bell.ring,
            lookup=lookup,
            threads=settings.dns_threads,
            seconds=settings.dns_seconds,
            failure_seconds=settings.dns_failure_seconds,
            entries=settings.dns_entries,
            guard=self._strict,
        )
        selector.register(self._epoll.fileno(), selectors.EVENT_READ, self._on_ready)

    @property
    def active(self) -> int:
        """Requests whose callback is still owed."""
        return self._active

    @property
    def held(self) -> int:
        """Bytes of bodies in memory that nobody has been given yet."""
        return self._spool.held

    def submit(self, request: Request, done: Done) -> None:
        """Starts a request; `done` gets its result later, from the loop."""
        self._active += 1
        try:
            origin, target = self._origins.split(request.url)
        except ValueError as error:
            self._refuse(request, done, Failure(failures.URL, str(error)))
            return
        if request.proxy or self._own_proxy is not None:
            self._through_proxy(request, done, origin, target)
        else:
            self._direct(request, done, origin, target)

    def timeout(self) -> float | None:
        """Seconds until `tick` must be called; None: only when a descriptor is ready."""
        if self._failed:
            return 0.0
        due = self._due
        if self._deadlines and (due is None or self._deadlines[0].deadline < due):
            due = self._deadlines[0].deadline
        return None if due is None else max(0.0, due - monotonic())

    def tick(self) -> None:
        """Does what time asks for: limits, retries of libcurl, new transfers, results that needed no network."""
        now = monotonic()
        while self._deadlines and (self._deadlines[0].deadline <= now or not self._deadlines[0].owed):
            self._give_up(self._deadlines.popleft())
        failed, self._failed = self._failed, []
        for done, result in failed:
            self._deliver(done, result)
        self._collect()
        self._run_timer()

    def drop(self, wanted: Callable[[Request], bool]) -> list[Request]:
        """Ends requests under way at once, without calling back; gives those it ended."""
        dropped: list[Request] = []
        for waiting in [one for every in self._waiting.values() for one in every if wanted(one.request)]:
            self._waiting[waiting.name].remove(waiting)
            waiting.owed = False
            dropped.append(waiting.request)
        for address, parked in list(self._parked.items()):
            kept = deque(start for start in parked if not wanted(start.args[0]))
            dropped += [start.args[0] for start in parked if start not in kept]
            self._parked[address] = kept
            if not kept:
                del self._parked[address]
            self.parked -= len(parked) - len(kept)
        dropped += [result.request for _, result in self._failed if wanted(result.request)]
        self._failed = [(done, result) for done, result in self._failed if not wanted(result.request)]
        for curl, transfer in [busy for busy in self._busy.items() if wanted(busy[1].request)]:
            dropped.append(transfer.request)
            del self._busy[curl]
            self._multi.remove_handle(curl)
            transfer.forget()
            curl.close()
            self._leave(transfer.address)
            self._next_at(transfer.address)
        self._active -= len(dropped)
        return dropped

    def forget_cookies(self, jar: str) -> None:
        """Throws a jar away; for the end of a crawl."""
        self._jars.pop(jar, None)
        self._jar_counts.pop(jar, None)
        for kind in [kind for kind in self._pool if kind.jar == jar != ""]:
            self._close_idle(kind)

    def close(self) -> None:
        """Drops everything under way, without calling back, and frees all descriptors and spool files."""
        if self._epoll.closed:
            return
        self._selector.unregister(self._epoll.fileno())
        self._resolver.close()
        transfers = [*self._busy.values(), *(transfer for idle in self._pool.values() for transfer in idle)]
        for curl, transfer in self._busy.items():
            self._multi.remove_handle(curl)
            transfer.forget()
        self._multi.close()
        for transfer in transfers:
            transfer.curl.close()
        for held in (self._busy, self._pool, self._jars, self._waiting, self._deadlines, self._failed):
            held.clear()
        self._at.clear()
        self._parked.clear()
        self._active = self._running = self.parked = 0
        self._due = None
        self._epoll.close()
        self._bell.close()

    # on the way to a transfer

    def _direct(
        self, request: Request, done: Done, origin: Origin, target: str, answer: Resolution | None = None
    ) -> None:
        private = request.allow_private or self._settings.allow_private
        if origin.refusal is not None and not private:
            self._refuse(request, done, origin.refusal)
            return
        resolve = None
        if origin.fixed:
            addresses = origin.fixed
        else:
            now = monotonic()
            if answer is None:
                answer = origin.answer
                if answer is None or answer.expires <= now:
                    answer = self._resolver.known(origin.host, now)
                    if answer is None:
                        self._ask(
                            origin.host, request, done, lambda found: self._direct(request, done, origin, target, found)
                        )
                        return
            origin.answer = answer
            addresses = answer.addresses if private else answer.public
            if not addresses:
                self._refuse(request, done, _no_address(origin.host, answer))
                return
            if origin.pinned is not addresses or origin.pinned_until <= now:
                resolve = pins(origin.host, origin.port, addresses)
        guard = self._open if private else self._strict
        kind = USUAL
        if request.insecure or request.cookie_jar or request.username:
            kind = HandleKind(request.insecure, "", request.cookie_jar, bool(request.username))
        self._start(kind, request, done, origin, target, guard, addresses, origin.connect_to, resolve)

    def _through_proxy(
        self, request: Request, done: Done, origin: Origin, target: str, answer: Resolution | None = None
    ) -> None:
        """The proxy resolves the name, so only what can be seen is checked: literal addresses, local names, ports.

        The proxy of the settings may be anywhere, the operator chose it; one named by a request must be public.
        """
        private = request.allow_private or self._settings.allow_private
        if not private and origin.refusal is None and not origin.literal and local_name(origin.host):
            self._refuse(request, done, refused_address(origin.host, [("", "name of a local network")]))
            return
        if not private and origin.refusal is not None:
            self._refuse(request, done, origin.refusal)
            return
        try:
            proxy = proxies.read(request.proxy) if request.proxy else self._own_proxy
        except ValueError as error:
            self._refuse(request, done, Failure(failures.PROXY, str(error)))
            return
        assert proxy is not None
        trusted = private or proxy == self._own_proxy
        if proxy.literal:
            refused = None if trusted else self._strict.check(proxy.host)
            addresses: tuple[str, ...] = () if refused else (proxy.host,)
            problem = refused_address(f"the proxy {proxy.host}", [(proxy.host, refused or "")])
        else:
            answer = answer or self._resolver.known(proxy.host, monotonic())
            if answer is None:
                self._ask(
                    proxy.host, request, done, lambda found: self._through_proxy(request, done, origin, target, found)
                )
                return
            addresses = answer.addresses if trusted else answer.public
            problem = _no_address(f"the proxy {proxy.host}", answer)
        if not addresses:
            self._refuse(request, done, problem)
            return
        kind = HandleKind(request.insecure, proxy.url, request.cookie_jar, bool(request.username))
        resolve = None if proxy.literal else pins(proxy.host, proxy.port, addresses)
        guard = self._open if trusted else self._strict
        self._start(kind, request, done, origin, target, guard, addresses, _NO_DETOUR, resolve)

    def _start(
        self,
        kind: HandleKind,
        request: Request,
        done: Done,
        origin: Origin,
        target: str,
        guard: Guard,
        addresses: tuple[str, ...],
        connect_to: list[str],
        resolve: list[str] | None,
    ) -> None:
        address = "" if kind.proxy or not self._settings.per_address else addresses[0]
        if address and self._at[address] >= self._settings.per_address:
            again = partial(
                self._direct, request, done, origin, target
            )  # what is known of the name may change meanwhile
            self._parked.setdefault(address, deque()).append(again)
            self.parked += 1
            return
        try:
            headers = self._headers.usual
            if request.etag or request.last_modified or request.headers:
                headers = self._headers.build(request.etag, request.last_modified, request.headers)
            transfer = self._transfer(kind)
            timeout = request.timeout or self._settings.timeout
            transfer.prepare(
                request,
                done,
                origin,
                target,
                headers,
                timeout_ms=max(1, int(timeout * 1000)),
                body_limit=request.max_body_bytes if request.max_body_bytes > 0 else self._settings.max_body_bytes,
                guard=guard,
                allowed=addresses,
                connect_to=connect_to,
                resolve=resolve,
                basic=kind.login and (origin.root, request.username) in self._basic,
            )
        except (ValueError, TypeError, OverflowError, pycurl.error) as error:  # a value libcurl cannot be given
            self._refuse(request, done, Failure(failures.REQUEST, str(error)))
            return
        transfer.address = address
        self._at[address] += 1
        self._busy[transfer.curl] = transfer
        self._multi.add_handle(transfer.curl)

    def _leave(self, address: str) -> None:
        self._at[address] -= 1
        if not self._at[address]:
            del self._at[address]

    def _next_at(self, address: str) -> None:
        """An address can take another request: the first that waits for it begins."""
        while address in self._parked and self._at[address] < self._settings.per_address:
            waiting = self._parked[address]
            start = waiting.popleft()
            if not waiting:
                del self._parked[address]
            self.parked -= 1
            start()

    def _transfer(self, kind: HandleKind) -> CurlTransfer:
        idle = self._pool.get(kind)
        if idle:
            return idle.pop()
        return CurlTransfer(self._settings, self._spool, kind, self._jar(kind.jar) if kind.jar else None)

    def _refuse(self, request: Request, done: Done, failure: Failure) -> None:
        self._failed.append((done, _failed(request, failure)))

    # names

    def _ask(self, name: str, request: Request, done: Done, go_on: Callable[[Resolution], None]) -> None:
        waiting = _Waiting(name, request, done, go_on, monotonic() + self._settings.connect_timeout)
        self._waiting.setdefault(name, []).append(waiting)
        self._deadlines.append(waiting)
        self._resolver.ask(name)

    def _hear_names(self) -> None:
        self._bell.quiet()
        for name, answer in self._resolver.collect():
            for waiting in self._waiting.pop(name, ()):
                waiting.owed = False
                waiting.go_on(answer)

    def _give_up(self, waiting: "_Waiting") -> None:
        if waiting.owed:
            self._waiting[waiting.name].remove(waiting)
            seconds = self._settings.connect_timeout
            detail = f"the address of {waiting.name} was not known after {seconds:g} seconds"
            self._refuse(waiting.request, waiting.done, Failure(failures.DNS, detail, True))

    # libcurl's side

    def _watch_socket(self, what: int, fd: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            # It stays in the epoll set: most often the next request on this connection follows at once. Closing it
            # takes it out by itself, and an event nobody waits for does so too.
            self._sockets.discard(fd)
            return
        self._sockets.add(fd)
        try:
            self._epoll.modify(fd, _EVENTS[what])
        except FileNotFoundError:
            self._epoll.register(fd, _EVENTS[what])

    def _set_timer(self, milliseconds: int) -> None:
        self._due = None if milliseconds < 0 else monotonic() + milliseconds / 1000

    def _on_ready(self, _fd: int, _mask: int) -> None:
        for fd, events in self._epoll.poll(0):
            if fd in self._sockets:
                self._running = self._multi.socket_action(fd, _FLAGS[events & 31])[1]
            elif fd == self._bell.fd:
                self._hear_names()
            else:
                try:
                    self._epoll.unregister(fd)
                except OSError:
                    pass
        self._collect()
        self._run_timer()

    def _run_timer(self) -> None:
        """What callbacks submitted starts in the same turn of the loop."""
        if self._due is not None and self._due <= monotonic():
            self._due = None
            self._running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
            self._collect()

    def _collect(self) -> None:
        if self._running >= len(self._busy):
            return
        left = 1
        while left and not self._epoll.closed:  # a callback may close the fetcher
            left, good, bad = self._multi.info_read()
            for curl in good:
                self._finish(curl, 0, "")
            for curl, code, message in bad:
                self._finish(curl, code, message)

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> None:
        transfer = self._busy.pop(curl, None)
        if transfer is None:  # a callback has closed the fetcher
            return
        self._multi.remove_handle(curl)
        done = transfer.done
        result = transfer.result(code, message)
        if transfer.kind is not USUAL:
            self._learn(transfer, result)
        transfer.forget()
        self._release(transfer)
        self._leave(transfer.address)
        self._deliver(done, result)
        self._next_at(transfer.address)

    def _deliver(self, done: Done, result: Result) -> None:
        if self._epoll.closed:
            result.body.discard()
            return
        self._active -= 1
        try:
            done(result)
        except Exception:
            # One page's trouble must not stop all others, nor pass unseen.
            log.exception("the result of %s could not be handled", result.request.url)

    def _release(self, transfer: CurlTransfer) -> None:
        idle = self._pool.setdefault(transfer.kind, [])
        kind = transfer.kind
        stale = kind.login or transfer.share is not self._jars.get(
            kind.jar
        )  # it remembers a login, or a jar thrown away
        if len(idle) < _IDLE_HANDLES and not stale:
            idle.append(transfer)
        else:
            transfer.curl.close()
        if len(self._pool) > _KINDS:
            for other in [other for other in self._pool if other is not USUAL]:
                self._close_idle(other)

    def _close_idle(self, kind: HandleKind) -> None:
        for transfer in self._pool.pop(kind):
            transfer.curl.close()

    def _learn(self, transfer: CurlTransfer, result: Result) -> None:
        """What a transfer with a login or cookies teaches for the next one."""
        kind, request = transfer.kind, transfer.request
        if kind.login and result.status not in (0, 401) and b"\r\nAuthorization: Basic " in result.request_head:
            if len(self._basic) > _LOGINS:
                self._basic.clear()
            self._basic.add((transfer.origin.root, request.username))
        if kind.jar:
            count = self._jar_counts.get(kind.jar, 0) + len(_SET_COOKIE.findall(result.response_head))
            self._jar_counts[kind.jar] = count
            if count > _MOST_COOKIES:
                self._jar_counts[kind.jar] = _thin_out(_jar_handle(self._jar(kind.jar)))

    def _jar(self, name: str) -> pycurl.CurlShare:
        share = self._jars.get(name)
        if share is None:
            share = self._jars[name] = pycurl.CurlShare()
            share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        return share


class _Waiting:
    """A request that waits for the address of a name."""

    __slots__ = ("deadline", "done", "go_on", "name", "owed", "request")

    def __init__(
        self, name: str, request: Request, done: Done, go_on: Callable[[Resolution], None], deadline: float
    ) -> None:
        self.name = name
        self.request = request
        self.done = done
        self.go_on = go_on
        self.deadline = deadline
        self.owed = True


class _Bell:
    """Wakes the loop from another thread."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._lock = threading.Lock()
        self._closed = False

    def ring(self) -> None:
        with self._lock:  # a lookup may end after close, when the number belongs to another file
            if not self._closed:
                os.eventfd_write(self.fd, 1)

    def quiet(self) -> None:
        try:
            os.eventfd_read(self.fd)
        except BlockingIOError:
            pass

    def close(self) -> None:
        with self._lock:
            self._closed = True
            os.close(self.fd)


def _failed(request: Request, failure: Failure) -> Result:
    return Result(
        request=request,
        failure=failure.code,
        detail=failure.detail,
        transient=failure.transient,
        body=Body(),
        started_ms=time.time_ns() // 1_000_000,
    )


def _no_address(host: str, answer: Resolution) -> Failure:
    if answer.error:
        return Failure(failures.DNS, f"{host}: {answer.error}", answer.transient)
    return refused_address(host, answer.refused)


def _jar_handle(share: pycurl.CurlShare) -> pycurl.Curl:
    curl = pycurl.Curl()
    curl.setopt(pycurl.SHARE, share)
    curl.setopt(pycurl.COOKIEFILE, "")
    return curl


def _thin_out(curl: pycurl.Curl) -> int:
    """Keeps a jar within its bounds: a host that invents names and cookies must not fill the memory."""
    kept: dict[str, list[str]] = {}
    for line in curl.getinfo(pycurl.INFO_COOKIELIST):
        domain = kept.setdefault(line.partition("\t")[0], [])
        if len(domain) < _COOKIES_PER_DOMAIN:
            domain.append(line)
    lines = [line for domain in kept.values() for line in domain][: _MOST_COOKIES // 2]
    curl.setopt(pycurl.OPT_COOKIELIST, "ALL")
    for line in lines:
        curl.setopt(pycurl.OPT_COOKIELIST, line)
    return len(lines)


_NO_DETOUR: list[str] = []
_EVENTS = {
    pycurl.POLL_NONE: 0,
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
# epoll's bits to libcurl's; an error or hang-up is also readable, so that libcurl finds out what happened
_FLAGS = [
    (pycurl.CSELECT_IN if events & (select.EPOLLIN | select.EPOLLERR | select.EPOLLHUP) else 0)
    | (pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0)
    | (pycurl.CSELECT_ERR if events & select.EPOLLERR else 0)
    for events in range(32)
]
