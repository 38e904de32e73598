"""The processes of `hemeroteca serve` for people: what runs, how much memory it takes, what it said."""

import os
import re
from pathlib import Path

import msgspec

from hemeroteca.instance.folder import Instance
from hemeroteca.instance.supervisor import ProcessFacts, read_processes

VERBS = ("stop", "start", "restart")
LOG = "hemeroteca.log"
MAX_READ = 2 << 20  # bytes of the log that are looked through


class Process(msgspec.Struct):
    """A process as people see it."""

    facts: ProcessFacts
    memory_bytes: int  # resident, of it and its children


class LogLine(msgspec.Struct):
    at: str  # UTC
    process: str  # empty: the supervisor itself
    text: str


def processes(instance: Instance) -> list[Process]:
    """Nothing when no `hemeroteca serve` runs."""
    if not instance.listens("supervisor"):
        return []
    return [Process(facts, _memory(facts.pid) if facts.pid else 0) for facts in read_processes(instance.processes_path)]


def log_lines(instance: Instance, limit: int, process: str = "", words: str = "") -> list[LogLine]:
    """The last lines of the log, the newest first; of one process, or with some words."""
    path = instance.log_dir / LOG
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_READ))
            raw = file.read(MAX_READ).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: list[LogLine] = []
    for line in reversed(raw):
        read = _LINE.match(line)
        if read is None:
            continue
        entry = LogLine(read[1], read[2] or "", read[3])
        if process and entry.process != process:
            continue
        if words and words.lower() not in line.lower():
            continue
        found.append(entry)
        if len(found) >= limit:
            break
    return found


_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)Z (?:([a-z]+(?:-\d+)?): )?(.*)")


def _memory(pid: int, depth: int = 0) -> int:
    """Of a process and those it started. 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
        own = re.search(r"VmRSS:\s+(\d+) kB", text)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    except OSError:
        return 0
    below = sum(_memory(int(child), depth + 1) for child in children) if depth < 4 else 0
    return (int(own[1]) << 10 if own else 0) + below
