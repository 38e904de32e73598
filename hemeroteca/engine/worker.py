"""An ingest process: reads jobs from one end of a socket pair, writes results to it, ends when the engine does.

Frames are a length (4 bytes, big endian), a kind (1 byte) and a msgpack body. No database, no network.
"""

import gc
import resource
import signal
import socket
import struct
import sys

import msgspec

from hemeroteca.archive import warc
from hemeroteca.engine import usage
from hemeroteca.engine.ingest import Ingest, Job, Rules

HEADER = struct.Struct(">IB")
JOB, RULES, FORGET, RESULT, USAGE, END, PACKING = range(7)
COLLECT_EVERY = 200  # pages between two collections of cyclic garbage
ADDRESS_SPACE = 4 << 30  # a page that makes a reader grow beyond this ends the reader, not the machine


class Usage(msgspec.Struct, array_like=True):
    cpu_seconds: float
    max_rss_bytes: int


def main() -> None:
    """`python -m hemeroteca.engine.worker FD`, started by `pool`."""
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
    jobs = msgspec.msgpack.Decoder(Job)
    rules = msgspec.msgpack.Decoder(Rules)
    encode = msgspec.msgpack.Encoder().encode
    while (frame := _receive(channel)) is not None:
        kind, payload = frame
        if kind == JOB:
            job = jobs.decode(payload)
            try:
                result = ingest(job)
            except MemoryError:
                raise SystemExit(1)  # the engine starts another reader and keeps the capture unread
            _send(channel, RESULT, encode(result))
            done += 1
            if done % COLLECT_EVERY == 0:
                gc.collect()
        elif kind == RULES:
            ingest.learn(rules.decode(payload))
        elif kind == FORGET:
            ingest.forget(msgspec.msgpack.decode(payload, type=int))
        elif kind == PACKING:
            warc.pack_as(payload.decode())
        elif kind == END:
            _send(channel, USAGE, encode(Usage(usage.own_cpu_seconds(), usage.own_peak_bytes())))
            return


def _receive(channel: socket.socket) -> tuple[int, bytearray] | None:
    head = _exactly(channel, HEADER.size)
    if head is None:
        return None
    length, kind = HEADER.unpack(head)
    payload = _exactly(channel, length)
    return None if payload is None else (kind, payload)


def _exactly(channel: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = channel.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return data


def _send(channel: socket.socket, kind: int, payload: bytes) -> None:
    try:
        channel.sendall(HEADER.pack(len(payload), kind) + payload)
    except (BrokenPipeError, ConnectionResetError):
        raise SystemExit(0)


if __name__ == "__main__":
    main()
