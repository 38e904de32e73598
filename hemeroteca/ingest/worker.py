"""An ingest process: reads tasks from one end of a socket pair, writes results to it, ends when the engine does.

Frames are a length (4 bytes, big endian), a kind (1 byte) and a msgpack body. No database, no network.
"""

import gc
import resource
import signal
import socket
import struct
import sys
from collections.abc import Iterator

import msgspec

from hemeroteca import usage, warc
from hemeroteca.ingest.ingestion import Ingest
from hemeroteca.ingest.rules import CrawlRules, Rules
from hemeroteca.warc import Capture

HEADER = struct.Struct(">IB")
TASK, CRAWL, FORGET, RESULT, USAGE, END, PACKING = range(7)
COLLECT_EVERY = 200  # pages between two collections of what they left behind …
COLLECT_ALL_EVERY = 2000  # … and between two that also look at all that stayed longer
ROOM = 1 << 18  # bytes for what arrives; a longer frame gets as much as it needs, for its time
ADDRESS_SPACE = 4 << 30  # a page that makes a reader grow beyond this ends the reader, not the machine

Frame = tuple[int, memoryview]  # kind and body


class Task(msgspec.Struct, array_like=True):
    """A capture on its way to an ingest process."""

    capture: Capture
    rules: Rules


class Usage(msgspec.Struct, array_like=True):
    cpu_seconds: float
    max_rss_bytes: int


class Inbox:
    """What arrives on a channel, in whole frames."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._room = bytearray(ROOM)
        self._start = self._end = 0  # what of it has arrived and is not part of a frame given out
        self._wanted = 0  # length of the frame that has begun to arrive, where that is known

    def frames(self) -> list[Frame] | None:
        """Those that the next look at the channel completes, good until the next call; None at its end."""
        kept = self._end - self._start
        if self._wanted > len(self._room) or (len(self._room) > ROOM >= self._wanted and not kept):
            room = bytearray(max(self._wanted, ROOM))
            room[:kept] = self._room[self._start : self._end]
            self._room = room
        elif self._start and kept:
            self._room[:kept] = self._room[self._start : self._end]
        self._start, self._end = 0, kept
        view = memoryview(self._room)
        count = self._channel.recv_into(view[kept:])
        if not count:
            return None
        self._end += count
        self._wanted = 0
        frames = []
        while self._end - self._start >= HEADER.size:
            length, kind = HEADER.unpack_from(view, self._start)
            end = self._start + HEADER.size + length
            if self._end < end:
                self._wanted = HEADER.size + length
                break
            frames.append((kind, view[self._start + HEADER.size : end]))
            self._start = end
        return frames


def main() -> None:
    """`python -m hemeroteca.ingest.worker FD`, started by `pool`."""
    serve(socket.socket(fileno=int(sys.argv[1])))


def serve(channel: socket.socket) -> None:
    """All a reader does, until it is told to end or the engine is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the engine; it tells us when to stop
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    channel.setblocking(True)
    gc.disable()  # a page makes tens of thousands of objects and hardly a cycle; see COLLECT_EVERY
    gc.freeze()  # modules stay: a collection need not look at them
    done = 0
    ingest = Ingest()
    tasks = msgspec.msgpack.Decoder(Task)
    crawls = msgspec.msgpack.Decoder(CrawlRules)
    encode = msgspec.msgpack.Encoder().encode
    for kind, payload in _arriving(Inbox(channel)):
        if kind == TASK:
            task = tasks.decode(payload)
            try:
                result = ingest(task.capture, task.rules)
            except MemoryError:
                raise SystemExit(1)  # the engine starts another reader and keeps the capture unread
            _send(channel, RESULT, encode(result))
            done += 1
            if done % COLLECT_EVERY == 0:
                gc.collect(1 if done % COLLECT_ALL_EVERY else 2)
        elif kind == CRAWL:
            ingest.learn(crawls.decode(payload))
        elif kind == FORGET:
            ingest.forget(msgspec.msgpack.decode(payload, type=int))
        elif kind == PACKING:
            warc.pack_as(str(payload, "utf-8"))
        elif kind == END:
            _send(channel, USAGE, encode(Usage(usage.own_cpu_seconds(), usage.own_peak_bytes())))
            return


def _arriving(inbox: Inbox) -> Iterator[Frame]:
    while (frames := inbox.frames()) is not None:
        yield from frames


def _send(channel: socket.socket, kind: int, payload: bytes) -> None:
    try:
        channel.sendall(HEADER.pack(len(payload), kind) + payload)
    except (BrokenPipeError, ConnectionResetError):
        raise SystemExit(0)


if __name__ == "__main__":
    main()
