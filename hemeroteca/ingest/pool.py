"""Ingest processes and the pipes to them, driven by the engine's selector.

Readers that an engine begins with are copies of its process, made before Django is loaded (`fork_readers`): they need
not import everything again. Those that replace them, when there are threads and connections, are started anew.

A task is never lost: when a reader dies of a page or takes too long over it, another is started and the page is kept
unread, with that as its note.
"""

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice

import msgspec

from hemeroteca import extract, lazy, urls, usage, warc
from hemeroteca.extract.readers import load_all
from hemeroteca.ingest import worker
from hemeroteca.ingest.ingested import Ingested
from hemeroteca.ingest.rules import CrawlRules
from hemeroteca.ingest.worker import HEADER, Frame, Inbox, Task, Usage

AHEAD = 3  # tasks sent to a reader before its answer, so that it never waits
READER_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": str(usage.TRIM_THRESHOLD),
    "MALLOC_MMAP_THRESHOLD_": str(usage.MMAP_THRESHOLD),
}
SENT_AT_ONCE = 16  # pieces given to the system in one call
PATIENCE = 60.0  # seconds a reader may take over one page


def fork_readers(count: int) -> list["ReaderProcess"]:
    """Readers that are copies of this process; none where that is not safe.

    For a process that has nothing open yet. It may use them for a `Pool` or leave them alone: they end with it.
    """
    readers: list[ReaderProcess] = []
    if sys.platform == "linux" and len(os.listdir("/proc/self/task")) == 1:
        lazy.load(urls, extract)  # of warc they build records, which is loaded; the rest is for who reads files
        load_all()
        for _ in range(count):
            readers.append(ReaderProcess(beside=readers))
    return readers


class ReaderProcess:
    """One ingest process: started anew, or, with a list of others, a copy of this one."""

    def __init__(self, beside: "list[ReaderProcess] | None" = None) -> None:
        self.socket, theirs = socket.socketpair()
        for end in (self.socket, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.process: subprocess.Popen[bytes] | _Copy
        if beside is None:
            command = [sys.executable, "-m", "hemeroteca.ingest.worker", str(theirs.fileno())]
            self.process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **READER_ENVIRONMENT},
            )
        else:
            self.process = _Copy(theirs, [self.socket, *(reader.socket for reader in beside)])
        theirs.close()
        self.socket.setblocking(False)
        self.tasks: deque[Task] = deque()  # sent, not answered; the first is being read
        self.since = 0.0
        self.outgoing: deque[memoryview] = deque()
        self.blocked = False  # the pipe takes no more; the selector tells when it does
        self._inbox = Inbox(self.socket)
        self.usage = Usage(0.0, 0)

    def send(self, kind: int, payload: bytes) -> None:
        self.outgoing.append(memoryview(HEADER.pack(len(payload), kind)))
        if payload:
            self.outgoing.append(memoryview(payload))

    def flush(self) -> bool:
        """Write what the pipe takes; True when everything is out."""
        while self.outgoing:
            try:  # a frame's head and body together: the reader need not wake for five bytes
                count = self.socket.sendmsg(islice(self.outgoing, SENT_AT_ONCE))
            except BlockingIOError:
                return False
            while self.outgoing and count >= len(self.outgoing[0]):
                count -= len(self.outgoing.popleft())
            if count:
                self.outgoing[0] = self.outgoing[0][count:]
        return True

    def frames(self) -> list[Frame] | None:
        """Whole frames that have arrived, good until the next call; None when the process has ended."""
        try:
            return self._inbox.frames()
        except BlockingIOError:
            return []
        except ConnectionResetError:
            return None


class _Copy:
    """A forked reader, with the little that is needed of `subprocess.Popen`."""

    def __init__(self, channel: socket.socket, foreign: list[socket.socket]) -> None:
        self.pid = os.fork()
        if self.pid:
            self._ended = False
            return
        code = 1
        try:
            for end in foreign:
                end.close()  # or nobody would notice that the engine is gone
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            usage.return_memory(arenas=1)
            worker.serve(channel)
            code = 0
        except SystemExit as ending:
            code = int(ending.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)  # nothing of what the engine registered for its own end

    def kill(self) -> None:
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> None:
        until = None if timeout is None else time.monotonic() + timeout
        while not self._ended:
            self._ended = os.waitpid(self.pid, os.WNOHANG if until else 0)[0] == self.pid
            if not self._ended and until is not None:
                if time.monotonic() >= until:
                    raise subprocess.TimeoutExpired("reader", timeout or 0.0)
                time.sleep(0.005)


class Pool:
    """`begun`: readers that run already; so many are added that there are `readers`."""

    def __init__(
        self,
        readers: int,
        selector: selectors.BaseSelector,
        done: Callable[[list[tuple[Task, Ingested]]], None],
        begun: Sequence[ReaderProcess] = (),
    ) -> None:
        self.usage = Usage(0.0, 0)  # of readers that have ended
        self.backlog = 0  # tasks not answered yet
        self._selector = selector
        self._done = done
        self._crawls: dict[int, CrawlRules] = {}
        self._waiting: deque[Task] = deque()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(Ingested).decode
        self.readers: list[ReaderProcess] = []
        for reader in begun:
            self._add(reader)
        for _ in range(readers - len(begun)):
            self._add(ReaderProcess())

    def submit(self, task: Task) -> None:
        self.backlog += 1
        self._waiting.append(task)
        self._feed()

    def learn(self, crawl: CrawlRules) -> None:
        self._crawls[crawl.crawl] = crawl
        self._tell(worker.CRAWL, self._encode(crawl))

    def forget(self, crawl: int) -> None:
        self._crawls.pop(crawl, None)
        self._tell(worker.FORGET, self._encode(crawl))

    def check(self, now: float) -> None:
        """End readers that take too long; called about once a second."""
        for reader in list(self.readers):
            if reader.tasks and now - reader.since > PATIENCE:
                self._replace(reader, "reader-too-slow")

    def resident_bytes(self) -> int:
        """Memory of the readers now."""
        return sum(usage.resident_bytes(reader.process.pid) for reader in self.readers)

    def cpu_seconds(self) -> float:
        """Processor time of all readers so far."""
        return self.usage.cpu_seconds + sum(usage.cpu_seconds(reader.process.pid) for reader in self.readers)

    def peak_bytes(self) -> int:
        """Largest memory the readers have had, added up."""
        return max(self.usage.max_rss_bytes, sum(usage.peak_bytes(reader.process.pid) for reader in self.readers))

    def close(self) -> None:
        """Let the readers end; what they still hold is not answered."""
        for reader in self.readers:
            self._selector.unregister(reader.socket)
            reader.socket.setblocking(True)
            reader.socket.settimeout(5.0)
            try:
                reader.send(worker.END, b"")
                while not reader.flush():
                    pass
                while (frames := reader.frames()) is not None:
                    for kind, payload in frames:
                        if kind == worker.USAGE:
                            used = msgspec.msgpack.decode(payload, type=Usage)
                            self.usage.cpu_seconds += used.cpu_seconds
                            self.usage.max_rss_bytes += used.max_rss_bytes
            except OSError:
                reader.process.kill()
            reader.socket.close()
            try:
                reader.process.wait(5.0)
            except subprocess.TimeoutExpired:
                reader.process.kill()
                reader.process.wait()
        self.readers.clear()

    # inside

    def _add(self, reader: ReaderProcess) -> None:
        reader.send(worker.PACKING, warc.packing().encode())
        for crawl in self._crawls.values():
            reader.send(worker.CRAWL, self._encode(crawl))
        self.readers.append(reader)
        self._selector.register(reader.socket, selectors.EVENT_READ, lambda fd, mask: self._ready(reader, mask))
        self._push(reader)

    def _tell(self, kind: int, payload: bytes) -> None:
        for reader in self.readers:
            reader.send(kind, payload)
            self._push(reader)

    def _feed(self) -> None:
        while self._waiting:
            reader = min(self.readers, key=lambda reader: len(reader.tasks))
            if len(reader.tasks) >= AHEAD:
                return
            task = self._waiting.popleft()
            if not reader.tasks:
                reader.since = time.monotonic()
            reader.tasks.append(task)
            reader.send(worker.TASK, self._encode(task))
            self._push(reader)

    def _push(self, reader: ReaderProcess) -> None:
        try:
            out = reader.flush()
        except OSError:
            return  # its end shows in the next read
        if reader.blocked == out:
            reader.blocked = not out
            events = selectors.EVENT_READ if out else selectors.EVENT_READ | selectors.EVENT_WRITE
            self._selector.modify(reader.socket, events, self._selector.get_key(reader.socket).data)

    def _ready(self, reader: ReaderProcess, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._push(reader)
        if mask & selectors.EVENT_READ:
            frames = reader.frames()
            if frames is None:
                self._replace(reader, "reader-died")
                return
            answers = []
            for kind, payload in frames:
                if kind == worker.RESULT:
                    task = reader.tasks.popleft()
                    answers.append((task, self._decode(payload)))
                    self.backlog -= 1
                    reader.since = time.monotonic()
            self._feed()
            if answers:
                self._done(answers)

    def _replace(self, reader: ReaderProcess, note: str) -> None:
        """Start another reader; the page it was reading is kept unread, the ones behind it are read by others."""
        self._selector.unregister(reader.socket)
        self.readers.remove(reader)
        self.usage.cpu_seconds += usage.cpu_seconds(reader.process.pid)
        reader.process.kill()
        reader.process.wait()
        reader.socket.close()
        self._add(ReaderProcess())
        tasks = list(reader.tasks)
        if tasks:
            first = tasks[0]
            if not first.rules.read:
                self.backlog -= 1
                self._done([(first, Ingested(notes=["ingest-failed"]))])
                tasks = tasks[1:]
            else:
                first.rules.read = False
                first.rules.notes = [*first.rules.notes, note]
        self._waiting.extendleft(reversed(tasks))
        self._feed()
