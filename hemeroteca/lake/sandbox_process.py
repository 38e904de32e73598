"""The process that runs the SQL of strangers: reads a Question from its standard input, writes an Answer, ends.

Everything it needs is opened and imported before `confine`; afterwards the kernel refuses to open, connect or start
anything, whatever DuckDB or Python are talked into.
"""

from __future__ import annotations

import ctypes
import datetime
import decimal
import json
import math
import os
import platform
import re
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from hemeroteca.lake.sandbox import SqlAnswer, SqlQuestion

NOBODY = 65_534
ROWS_AT_ONCE = 1_000
MAX_DEPTH = 100  # of a query's tree
_WORD = re.compile(r"\w{1,200}")

# Functions that make rows and touch nothing but their arguments.
ROW_FUNCTIONS = frozenset({"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"})
# Functions that read what is not in the lake, or run a text as SQL.
CLOSED_FUNCTIONS = frozenset(
    {
        *("getenv", "current_setting", "query", "query_table", "getvariable", "current_database", "current_schemas"),
        *("pg_read_file", "nextval", "currval", "write_log", "parse_duckdb_log_message", "json_execute_serialized_sql"),
    }
)


def main() -> None:
    question = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=SqlQuestion)
    answer = _answer(question)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer, enc_hook=str))
    sys.stdout.buffer.flush()
    os._exit(0)  # no clean-up that would want to open something


def _answer(question: SqlQuestion) -> SqlAnswer:
    import duckdb

    limits = question.limits
    connection = duckdb.connect(
        ":memory:",
        config={
            "enable_external_access": "false",
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "memory_limit": f"{limits.memory >> 20}MB",
            "threads": "2",
            "temp_directory": "",
        },
    )
    connection.execute("SET TimeZone='UTC'")
    connection.execute("SET python_enable_replacements=false")
    held = [_register(connection, source.name, source.files, source.stream) for source in question.sources]
    for name, select in question.views:
        connection.execute(f'CREATE VIEW "{name}" AS {select}')  # our own SQL
    connection.execute("SET lock_configuration=true")
    warm: Any = connection.execute("SELECT now(), TIMESTAMP '2026-01-01', 1.5::DECIMAL(9, 2)").to_arrow_reader(1)
    for batch in warm:  # whatever is loaded at a first use is loaded now
        [_plain(value) for place in range(batch.num_columns) for value in _column(batch.column(place))]
    confine(limits.seconds, limits.memory)
    try:
        problem = objection(connection, question.sql, question.visible)
        if problem:
            return SqlAnswer(refused=problem)
        return _run(connection, question)
    except duckdb.OutOfMemoryException:
        return SqlAnswer(refused=_too_much(limits.memory))
    except MemoryError:
        return SqlAnswer(refused=_too_much(limits.memory))
    except duckdb.Error as error:
        return SqlAnswer(refused=f"the query cannot be run: {str(error)[:1000]}")
    except (ArithmeticError, ValueError, TypeError) as error:  # a value that Python or JSON has no word for
        return SqlAnswer(
            refused=f"the answer cannot be told ({type(error).__name__}: {str(error)[:300]}); cast it to text"
        )
    finally:
        del held


def _run(connection: Any, question: SqlQuestion) -> SqlAnswer:
    limits = question.limits
    reader = connection.execute(question.sql).to_arrow_reader(ROWS_AT_ONCE)
    columns = tuple(reader.schema.names)
    rows: list[tuple[Any, ...]] = []
    size = 0
    for batch in reader:
        if batch.nbytes > limits.bytes:
            return SqlAnswer(refused=_too_long(limits.bytes))
        values = [_column(batch.column(place)) for place in range(batch.num_columns)]
        plain = [tuple(_plain(value) for value in row) for row in zip(*values, strict=True)]
        size += len(msgspec.msgpack.encode(plain))
        if size > limits.bytes:
            return SqlAnswer(refused=_too_long(limits.bytes))
        rows += plain
        if len(rows) > limits.rows:
            break
    return SqlAnswer(columns, tuple(rows[: limits.rows]), truncated=len(rows) > limits.rows)


def _too_long(size: int) -> str:
    return f"the answer has more than {size >> 20} MB; ask for fewer columns or rows"


def _column(values: Any) -> list[Any]:
    """Values of Python. A time with a zone loses it: the list of zones is a file, and no file is open here."""
    import pyarrow as pa

    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us"), safe=False)
    return values.to_pylist()


def _plain(value: Any) -> Any:
    """What JSON can hold; times as RFC 3339 in UTC."""
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, decimal.Decimal) and value.is_finite():
        value = int(value) if int(value) == value else float(value)
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    return value.hex() if isinstance(value, bytes) else str(value)


def _register(connection: Any, name: str, files: tuple[str, ...], stream: bytes) -> Any:
    """The table as Arrow over files that are open already."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    if stream:
        data: Any = pa.ipc.open_stream(stream).read_all()
    else:
        format_ = ds.ParquetFileFormat()
        fragments = [format_.make_fragment(pa.OSFile(path, "rb")) for path in files]
        data = ds.FileSystemDataset(fragments, fragments[0].physical_schema, format_)
    connection.register(name, data)
    return data


def objection(connection: Any, sql: str, visible: tuple[str, ...]) -> str:
    """Why this text is not run; empty when it is one SELECT over the tables that may be seen."""
    parsed = json.loads(connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()[0])
    if parsed.get("error"):
        if "Only SELECT" in parsed.get("error_message", ""):
            return "only one SELECT is run here; nothing can be changed, attached, copied or set"
        return f"this is not SQL that DuckDB reads: {parsed.get('error_message', '')[:500]}"
    if len(parsed["statements"]) != 1:
        return f"one SELECT at a time is run, not {len(parsed['statements'])} statements"
    known = {name.lower() for name in visible}
    try:
        nodes = list(_nodes(parsed["statements"], 0))
    except RecursionError:
        return f"the query is nested deeper than {MAX_DEPTH * 4} levels"
    ours = {entry["key"].lower() for node in nodes if "cte_map" in node for entry in node["cte_map"].get("map", ())}
    ours |= {node["cte_name"].lower() for node in nodes if isinstance(node.get("cte_name"), str)}
    ours |= {node["ctename"].lower() for node in nodes if isinstance(node.get("ctename"), str)}
    # A name given with WITH is known in a part of the query only. Elsewhere it must not mean a file, nor a table or
    # view of the system: so it is a plain word that nothing else is called.
    taken = ours & _catalogue(connection) - known
    for name in sorted(taken | {name for name in ours if not _WORD.fullmatch(name)}):
        return f"{name!r} cannot be named by WITH here; choose another word"
    for node in nodes:
        kind = node.get("type")
        if kind == "BASE_TABLE":
            name = node.get("table_name", "")
            path = (node.get("qualified_name") or {}).get("path") or [name]
            if node.get("schema_name") or node.get("catalog_name") or len(path) != 1:
                return f"there is no table {'.'.join(map(str, path))!r} here; there are {', '.join(visible)}"
            if name.lower() not in known | ours:
                return f"there is no table {name!r} here; there are {', '.join(visible)}"
        elif kind in ("SHOW_REF", "COPY", "DELIM_GET"):
            return f"only SELECT is run here; the tables are {', '.join(visible)}"
        elif kind == "TABLE_FUNCTION":
            name = str((node.get("function") or {}).get("function_name", "")).lower()
            if name not in ROW_FUNCTIONS:
                return f"the function {name}() is closed here; select from {', '.join(visible)}"
        name = str(node.get("function_name", "")).lower()
        if name in CLOSED_FUNCTIONS or name.startswith(("duckdb_", "pragma_", "read_", "pg_", "parquet_", "sniff_")):
            return f"the function {name}() is closed here"
    return ""


def _catalogue(connection: Any) -> set[str]:
    """Names of all tables and views there are, those of the system too."""
    found = connection.execute("SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views()")
    return {str(name).lower() for (name,) in found.fetchall()}


def _nodes(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    """Every object of a tree."""
    if depth > MAX_DEPTH * 8:
        raise RecursionError
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _nodes(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _nodes(part, depth + 1)


def _too_much(memory: int) -> str:
    return f"the query needed more than {memory >> 20} MB of memory; narrow it, or aggregate less"


# The kernel's part


def confine(seconds: float, memory: int) -> None:
    """From here on: a bounded time and memory, no files, no network, no other process. Raises when it cannot be had."""
    used = int(_status_bytes("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * memory + (512 << 20),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds * 2) + 2,) * 2)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    os.environ.clear()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    if sys.platform == "linux":
        _filter_calls()


def _status_bytes(name: str) -> int:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
    except (OSError, StopIteration):
        return 4 << 30


# Calls that are refused, by machine: everything that opens, names or changes a file, reaches the network or another
# process, or makes one. Threads of this process (clone with CLONE_VM, clone3) go on: DuckDB works with them.
_REFUSED = {
    "x86_64": (
        0xC000003E,
        (
            *(2, 85, 257, 437, 304),  # open, creat, openat, openat2, open_by_handle_at
            *(41, 42, 43, 44, 46, 49, 50, 53, 288, 299, 307),  # socket, connect, accept, send…, bind, listen, pair
            *(57, 58, 59, 322),  # fork, vfork, execve, execveat
            *(62, 200, 234, 101, 310, 311, 424, 438),  # kill, tkill, tgkill, ptrace, process_vm_*, pidfd_*
            *(82, 83, 84, 86, 87, 88, 90, 91, 92, 94, 76, 77),  # rename, mkdir, rmdir, link, unlink, chmod, chown, …
            *(258, 259, 260, 263, 264, 265, 266, 268, 316, 133),  # the same with *at; mknod
            *(155, 161, 165, 166, 272, 308, 425, 426, 427, 321, 323, 298, 246, 175, 313),
        ),
    ),
    "aarch64": (
        0xC00000B7,
        (
            *(56, 437, 265),  # openat, openat2, open_by_handle_at
            *(198, 199, 200, 201, 202, 203, 206, 211, 242, 243, 269),
            *(221, 281),  # execve, execveat
            *(129, 130, 131, 117, 270, 271, 424, 438),
            *(33, 34, 35, 36, 37, 38, 45, 46, 52, 53, 54, 276),
            *(39, 40, 41, 51, 97, 268, 280, 282, 241, 104, 105, 273, 425, 426, 427),
        ),
    ),
}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_VM = 0x100
_X32 = 0x40000000  # the other ABI of x86-64, which would go round the numbers
_ALLOW, _EPERM, _KILL = 0x7FFF0000, 0x00050001, 0x80000000


def _filter_calls() -> None:
    """A seccomp filter: no right is needed for it, and nothing can take it off again."""
    machine = platform.machine()
    if machine not in _REFUSED:
        raise RuntimeError(f"SQL of others is not run on {machine}: no filter of system calls is known for it")
    architecture, refused = _REFUSED[machine]
    load, equal, larger, bits, give = 0x20, 0x15, 0x35, 0x45, 0x06
    program = [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (give, 0, 0, _KILL),
        (load, 0, 0, 0),
    ]
    if machine == "x86_64":
        program += [(larger, 0, 1, _X32), (give, 0, 0, _EPERM)]
    for number in sorted(set(refused)):
        program += [(equal, 0, 1, number), (give, 0, 0, _EPERM)]
    # clone: only for threads, which share our memory
    program += [(equal, 0, 3, _CLONE[machine]), (load, 0, 0, 16), (bits, 1, 0, _CLONE_VM), (give, 0, 0, _EPERM)]
    program += [(give, 0, 0, _ALLOW)]
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(code)

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    libc = ctypes.CDLL(None, use_errno=True)
    no_new_rights, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_rights, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the process cannot give up new rights")
    found = Program(len(program), ctypes.cast(buffer, ctypes.c_void_p))
    # every thread of the process, those of DuckDB and Arrow too: seccomp(SECCOMP_SET_MODE_FILTER, TSYNC)
    seccomp = {"x86_64": 317, "aarch64": 277}[machine]
    if libc.syscall(seccomp, 1, 1, ctypes.byref(found)) != 0 and libc.prctl(
        set_seccomp, filter_mode, ctypes.byref(found)
    ):
        raise OSError(ctypes.get_errno(), "the filter of system calls cannot be set")
