"""The engine's side: browser processes, the pages they are given, and what becomes of those that do not come back."""

import contextlib
import importlib.util
import logging
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from time import monotonic

import msgspec

from hemeroteca.fetch.body import Body
from hemeroteca.fetch.browser import wire
from hemeroteca.fetch.browser.chromium import find_chromium
from hemeroteca.fetch.browser.wire import HEADER, MAX_FRAME, BrowserSettings, Rendered, RenderOrder, encode
from hemeroteca.fetch.request import Request, Result

log = logging.getLogger(__name__)

Done = Callable[[Rendered], None]
Answer = Callable[[bool], None]
Allowed = Callable[[str, Answer], None]
"""Asked about an address; tells the answer at once, or later, from the same loop."""

_START_SECONDS = 60.0  # a slow machine needs long to start Chromium
_END_SECONDS = 40.0  # beyond the page's own time: closing, reading, sending
_LOOK_SECONDS = 0.5  # between looks at memory
_LAST_LOOKS = 20
_LAST_SECONDS = 10.0  # at the very end
_MISSING_SECONDS = 60.0  # after which a browser that did not start is tried again


class BrowserFetcher:
    """Renders what is submitted and calls back with a `Rendered`, always from the loop, never from `submit`.

    Driven like a `Fetcher`: its sockets are in the caller's selector, `timeout()` says when `tick()` is due. Processes
    are started when there is work and ended when there has been none for a while.
    """

    def __init__(self, settings: BrowserSettings, selector: selectors.BaseSelector) -> None:
        self._settings = settings
        self._selector = selector
        self._waiting: deque[_Task] = deque()
        self._failed: list[tuple[_Task, Rendered]] = []
        self.processes: list[_Process] = []
        self._ending: list[_Process] = []  # told to end, but something of them is still there
        self._closed = False
        self._broken = ""  # why no browser starts …
        self._broken_until = 0.0  # … and until when none is tried

    @property
    def active(self) -> int:
        """Pages whose callback is still owed."""
        return len(self._waiting) + len(self._failed) + sum(process.task is not None for process in self.processes)

    @property
    def room(self) -> bool:
        """Whether another page would be opened at once."""
        return self.active < self._settings.processes

    def submit(self, request: Request, done: Done, allowed: Allowed | None = None) -> None:
        """Opens a page; `allowed` is asked, from the loop, about every other address the page wants to load."""
        task = _Task(request, done, allowed)
        if not request.url.startswith(("http://", "https://")):
            self._failed.append((task, _failed(request, "url", "only http and https pages are opened", False)))
        elif self._broken and monotonic() < self._broken_until:
            self._failed.append((task, _failed(request, "browser-missing", self._broken, False)))
        else:
            self._waiting.append(task)
            self._feed()

    def timeout(self) -> float | None:
        """Seconds until `tick` must be called; None: only when a descriptor is ready."""
        if self._failed:
            return 0.0
        return _LOOK_SECONDS if self.processes or self._ending else None

    def tick(self) -> None:
        """Does what time asks for: limits of time and memory, processes nobody needs any more."""
        failed, self._failed = self._failed, []
        for task, rendered in failed:
            self._deliver(task, rendered)
        now = monotonic()
        for process in list(self.processes):
            if now < process.look_at:
                continue
            process.look_at = now + _LOOK_SECONDS
            if process.task is None:
                if now - process.since > self._settings.idle_seconds and process in self.processes:
                    self._end(process)
            elif now > process.deadline:
                self._lose(process, "render-timeout", "the page did not end within its time and was ended with force")
            elif (used := tree_bytes(process.pid)) > self._settings.memory_bytes:
                self._lose(process, "browser-memory", f"the page made the browser take {used >> 20} MiB of memory")
        for process in list(self._ending):
            if now >= process.look_at:
                process.look_at = now + _LOOK_SECONDS
                if process.gone():
                    self._ending.remove(process)

    def resident_bytes(self) -> int:
        """Memory of all browsers now."""
        return sum(tree_bytes(process.pid) for process in self.processes)

    def close(self) -> None:
        """Ends the browsers; pages under way are dropped without calling back."""
        self._closed = True
        self._waiting.clear()
        self._failed.clear()
        for process in list(self.processes):
            self._end(process)
        until = monotonic() + _LAST_SECONDS
        while self._ending and monotonic() < until:
            time.sleep(0.01)
            self._ending = [process for process in self._ending if not process.gone()]

    def _feed(self) -> None:
        while self._waiting and not self._closed:
            process = next((process for process in self.processes if process.task is None), None)
            if process is None:
                if len(self.processes) >= self._settings.processes:
                    return
                process = self._start()
            task = self._waiting.popleft()
            process.task = task
            process.since = monotonic()
            starting = 0.0 if process.pages else _START_SECONDS
            limit = task.request.timeout or self._settings.timeout
            process.deadline = process.since + starting + limit + _END_SECONDS
            process.pages += 1
            order = RenderOrder(
                msgspec.structs.replace(task.request, tag=None, cookie_jar=""), task.allowed is not None
            )
            self._send(process, wire.ORDER, encode(order))

    def _start(self) -> "_Process":
        process = _Process(self._settings)
        self.processes.append(process)
        self._selector.register(process.socket, selectors.EVENT_READ, lambda _fd, mask: self._ready(process, mask))
        self._send(process, wire.SETUP, encode(process.settings))
        return process

    def _send(self, process: "_Process", kind: int, payload: bytes) -> None:
        process.outgoing += HEADER.pack(len(payload), kind) + payload
        self._push(process)

    def _push(self, process: "_Process") -> None:
        try:
            while process.outgoing:
                del process.outgoing[: process.socket.send(process.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            return  # its end shows in the next read
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.outgoing else 0)
        key = self._selector.get_key(process.socket)
        if key.events != events:
            self._selector.modify(process.socket, events, key.data)

    def _ready(self, process: "_Process", mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._push(process)
        if not mask & selectors.EVENT_READ:
            return
        frames = process.frames()
        for kind, payload in frames or ():
            if process not in self.processes:
                return
            self._hear(process, kind, payload)
        if frames is None and process in self.processes:
            self._lose(process, "browser-died", "the browser's process ended in the middle of the page")

    def _hear(self, process: "_Process", kind: int, payload: bytes) -> None:
        task = process.task
        if kind == wire.QUESTION:
            number, url = msgspec.msgpack.decode(payload, type=tuple[int, str])
            if task is not None:
                _judge(task, url, lambda allowed: self._answer(process, task, number, allowed))
        elif kind == wire.RENDERED and task is not None:
            rendered = msgspec.msgpack.decode(payload, type=Rendered)
            process.task = None
            process.since = monotonic()
            for body in rendered.bodies():
                _move(body, self._settings.fetch.spool_dir)
            rendered.request = task.request
            rendered.main.request = task.request
            if process.pages >= self._settings.pages_per_process:
                self._end(process)
            self._deliver(task, rendered)
            self._feed()
        elif kind == wire.BROKEN:
            self._broken = f"the browser does not start: {msgspec.msgpack.decode(payload, type=str)}"
            self._broken_until = monotonic() + _MISSING_SECONDS
            self._lose(process, "browser-missing", self._broken)

    def _answer(self, process: "_Process", task: "_Task", number: int, allowed: bool) -> None:
        if process in self.processes and process.task is task:  # else nobody waits any more
            self._send(process, wire.VERDICT, encode((number, allowed)))

    def _lose(self, process: "_Process", code: str, detail: str) -> None:
        """Ends a process; the page it had open has failed."""
        task = process.task
        self._end(process)
        if task is not None:
            transient = code == "browser-died"
            self._failed.append((task, _failed(task.request, code, detail, transient)))
        if code == "browser-missing":
            self._failed += [(task, _failed(task.request, code, detail, False)) for task in self._waiting]
            self._waiting.clear()
        self._feed()

    def _end(self, process: "_Process") -> None:
        if process in self.processes:
            self.processes.remove(process)
            self._selector.unregister(process.socket)
            process.end()
            if not process.gone():
                self._ending.append(process)

    def _deliver(self, task: "_Task", rendered: Rendered) -> None:
        if self._closed:
            rendered.discard()
            return
        try:
            task.done(rendered)
        except Exception:
            # One page's trouble must not stop all others, nor pass unseen.
            log.exception("the rendered page %s could not be handled", task.request.url)


class _Task(msgspec.Struct):
    """A page somebody waits for."""

    request: Request
    done: Done
    allowed: Allowed | None


class _Process:
    """One browser process and the channel to it."""

    def __init__(self, settings: BrowserSettings) -> None:
        spool = settings.fetch.spool_dir
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder = Path(tempfile.mkdtemp(prefix="browser-", dir=spool))
        # Chromium's home is not there: it makes sockets in it, and the path of a socket must be short.
        self.home = tempfile.mkdtemp(prefix="hemeroteca-")
        # Everything of a page waits in memory until the page is done: less of it than in the engine, page after page.
        fetch = replace(
            settings.fetch,
            spool_dir=self.folder,
            spool_bytes=min(settings.fetch.spool_bytes, 256 << 10),
            memory_bytes=min(settings.fetch.memory_bytes, 16 << 20),
        )
        self.settings = msgspec.structs.replace(settings, fetch=fetch)
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "hemeroteca.fetch.browser", str(theirs.fileno())]
        environment = {**os.environ, "TMPDIR": self.home}
        self._process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        theirs.close()
        ours.setblocking(False)
        self.socket = ours
        self.pid = self._process.pid
        self.task: _Task | None = None
        self.pages = 0
        self.since = monotonic()
        self.deadline = 0.0
        self.look_at = 0.0
        self.outgoing = bytearray()
        self._incoming = bytearray()

    def frames(self) -> list[tuple[int, bytes]] | None:
        """Whole frames that have arrived; None when the process has ended or sends nonsense."""
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        self._incoming += data
        frames = []
        start = 0
        while len(self._incoming) - start >= HEADER.size:
            length, kind = HEADER.unpack_from(self._incoming, start)
            if length > MAX_FRAME:
                return None
            end = start + HEADER.size + length
            if len(self._incoming) < end:
                break
            frames.append((kind, bytes(self._incoming[start + HEADER.size : end])))
            start = end
        del self._incoming[:start]
        return frames

    def end(self) -> None:
        """At once, with everything it started; `gone` takes its files away."""
        # Also by their home: when the process died before, what it started belongs to nobody any more.
        family = {self.pid, *descendants(self.pid), *_inhabitants(self.home)}
        self.socket.close()
        _kill(family)
        self._process.wait()
        for _ in range(_LAST_LOOKS):
            if not _inhabitants(self.home):
                break
            time.sleep(0.01)

    def gone(self) -> bool:
        """Whether nothing of it is left, once it was ended; what is left is ended again.

        The killed die only when they get the processor, which can take a while on a busy machine. Until then they may
        write into their folder, and one may have been started while the others were killed.
        """
        left = _inhabitants(self.home)
        _kill(left)
        for folder in (self.folder, self.home):
            shutil.rmtree(folder, ignore_errors=True)
        return not left and not self.folder.exists() and not os.path.exists(self.home)


def missing(settings: BrowserSettings) -> str:
    """Why pages cannot be rendered on this machine and what to do about it; empty when they can."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed; install hemeroteca[browser]"
    if not find_chromium(settings.executable):
        where = f"at {settings.executable}" if settings.executable else "on this machine"
        return f"there is no Chromium {where}; install the chromium package of the system"
    if shutil.which("openssl") is None:
        return "there is no openssl command; install openssl"
    return ""


def descendants(pid: int) -> list[int]:
    """The processes a process started, and those they started."""
    found = []
    queue = [pid]
    while queue:
        parent = queue.pop()
        for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                children = [int(text) for text in tasks.read_text().split()]
                found += children
                queue += children
    return found


def _kill(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _inhabitants(home: str) -> list[int]:
    """The processes that were given this folder as theirs."""
    mark = f"TMPDIR={home}\0".encode()
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in file.read_bytes():
                found.append(int(file.parent.name))
    return found


def tree_bytes(pid: int) -> int:
    """Memory of a process and its descendants; what they share is counted once, as the largest has it."""
    private = shared = 0
    for member in (pid, *descendants(pid)):
        with contextlib.suppress(OSError, ValueError):
            fields = Path(f"/proc/{member}/statm").read_text().split()
            private += int(fields[1]) - int(fields[2])
            shared = max(shared, int(fields[2]))
    return (private + shared) * os.sysconf("SC_PAGE_SIZE")


def _judge(task: _Task, url: str, answer: Answer) -> None:
    try:
        if task.allowed is None:
            answer(True)
        else:
            task.allowed(url, answer)
    except Exception:
        log.exception("whether %s may be fetched could not be said", url[:200])
        answer(False)


def _move(body: Body, folder: Path) -> None:
    """Out of the process's folder, which goes when the process goes."""
    if body.path is not None:
        fd, path = tempfile.mkstemp(prefix="body-", dir=folder)
        os.close(fd)
        os.replace(body.path, path)
        body.path = path


def _failed(request: Request, code: str, detail: str, transient: bool) -> Rendered:
    now = time.time_ns() // 1_000_000
    main = Result(request=request, failure=code, detail=detail, transient=transient, body=Body(), started_ms=now)
    return Rendered(
        request=request,
        main=main,
        screenshot=Body(),
        dom=Body(),
        final_url=request.url,
        failure=code,
        detail=detail,
        transient=transient,
        started_ms=now,
    )
