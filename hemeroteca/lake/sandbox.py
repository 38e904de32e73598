"""SQL of strangers: one SELECT over the lake, in a process of its own that can open nothing and is ended in time.

Walls, each enough for what it stands against:

1. DuckDB's own parser (`json_serialize_sql`) must call the text one SELECT, which names only tables of the lake and
   functions that make rows of their arguments.
2. DuckDB runs without access to files and with its settings locked; the lake reaches it as open, read-only files.
3. The process (`sandbox_process`) has no environment, gave up its user where it is root, and a seccomp filter refuses
   to open, connect, write elsewhere or start anything.
4. Time, memory, rows and bytes of the answer are bounded; the parent ends it by its process id.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

MAX_SECONDS = 20.0
MAX_MEMORY = 512 << 20  # of DuckDB
MAX_ROWS = 10_000
MAX_ANSWER_BYTES = 16 << 20
MAX_SQL_CHARACTERS = 20_000


class QueryLimits(msgspec.Struct, frozen=True):
    seconds: float = MAX_SECONDS
    memory: int = MAX_MEMORY
    rows: int = MAX_ROWS
    bytes: int = MAX_ANSWER_BYTES


class TableSource(msgspec.Struct, frozen=True):
    """A table of the lake for the confined process: files, or Arrow bytes (an IPC stream) for what is small."""

    name: str
    files: tuple[str, ...] = ()
    stream: bytes = b""


class SqlQuestion(msgspec.Struct, frozen=True):
    sql: str
    sources: tuple[TableSource, ...]
    views: tuple[tuple[str, str], ...]  # name and SELECT, ours; in order
    visible: tuple[str, ...]  # tables and views that the SQL may name
    limits: QueryLimits


class SqlAnswer(msgspec.Struct, frozen=True):
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    truncated: bool = False  # there were more rows than the limit
    refused: str = ""  # why there is no answer: for whoever wrote the SQL


class QueryRefused(ValueError):  # noqa: N818 - what happened
    """The SQL is not run, or was ended; the message says why."""


def ask(
    sql: str,
    sources: Sequence[TableSource],
    views: Sequence[tuple[str, str]],
    visible: Sequence[str],
    limits: QueryLimits | None = None,
) -> SqlAnswer:
    """Run one SELECT. Raises QueryRefused."""
    limits = limits or QueryLimits()
    if len(sql) > MAX_SQL_CHARACTERS:
        raise QueryRefused(f"the query has {len(sql):,} characters; at most {MAX_SQL_CHARACTERS:,} are read")
    if not sql.isprintable() and any("\ud800" <= sign <= "\udfff" for sign in sql):
        raise QueryRefused("the query holds half a character (a lone surrogate); send it as UTF-8")
    question = SqlQuestion(sql, tuple(sources), tuple(views), tuple(visible), limits)
    package = Path(__file__).parents[2]  # the one thing it needs to know of this machine
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={"LC_ALL": "C.UTF-8"},
            cwd="/",
            close_fds=True,
            start_new_session=True,
        )
        try:
            out, _ = child.communicate(msgspec.msgpack.encode(question), timeout=limits.seconds + START_SECONDS)
        except subprocess.TimeoutExpired:
            raise QueryRefused(f"the query took longer than {limits.seconds:g} s; narrow it, or aggregate less")
        finally:
            child.kill()
            child.communicate()
        try:
            answer = msgspec.msgpack.decode(out, type=SqlAnswer)
        except msgspec.DecodeError:
            complaints.seek(0)
            raise QueryRefused(_obituary(child.returncode, complaints.read(20_000).decode("utf-8", "replace"), limits))
    if answer.refused:
        raise QueryRefused(answer.refused)
    return answer


START_SECONDS = 20.0  # to load DuckDB on a machine that is busy; not counted against the query, which has its own alarm
_START = "import sys; sys.path.insert(0, sys.argv[1]); from hemeroteca.lake.sandbox_process import main; main()"


def _obituary(code: int, complaints: str, limits: QueryLimits) -> str:
    """What to tell about a process that ended without an answer."""
    if code in (-14, -24):  # SIGALRM, SIGXCPU
        return f"the query took longer than {limits.seconds:g} s; narrow it, or aggregate less"
    if code == -9 or "MemoryError" in complaints or "bad_alloc" in complaints:
        return f"the query needed more than {limits.memory >> 20} MB of memory; narrow it, or aggregate less"
    if os.environ.get("HEMEROTECA_SANDBOX_TRACE"):
        sys.stderr.write(complaints)
    return f"the query ended its process (code {code}); nothing was changed, write it differently"
