"""Hemeroteca as its user runs it: the command in a process of its own, on a data folder of its own."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.waiting import PATIENCE

PROGRAM = [sys.executable, "-m", "hemeroteca"]


class System:
    def __init__(self, data: Path, **settings: object) -> None:
        self.data = data
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("HEMEROTECA_")},
            "HEMEROTECA_DATA": str(data),
            "HEMEROTECA_ALLOW_PRIVATE": "1",
            "HEMEROTECA_INGEST_PROCESSES": "1",
            "HEMEROTECA_RETRY_SECONDS": "0.2",
        }
        for name, value in settings.items():
            self.environment[f"HEMEROTECA_{name.upper()}"] = str(value)

    def start(self, *arguments: str, stdin: int | None = subprocess.DEVNULL) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *arguments: str, stdin: str | None = None, timeout: float = PATIENCE
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *arguments],
            env=self.environment,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def crawl(self, *arguments: str, timeout: float = PATIENCE) -> dict[str, Any]:
        """Run a crawl to its end; the summary it prints."""
        done = self.run("crawl", *arguments, "--json", timeout=timeout)
        assert done.returncode in (0, 1), done.stderr
        assert done.stdout.strip(), f"no summary was printed: {done.stderr}"
        return json.loads(done.stdout.strip().splitlines()[-1])

    def kill(self, process: subprocess.Popen[str]) -> None:
        """SIGKILL, as a power cut would; its readers see their pipe close and end by themselves."""
        process.send_signal(signal.SIGKILL)
        process.communicate()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.data / "hemeroteca.sqlite3", timeout=PATIENCE) as database:
            return database.execute(query, values).fetchall()

    def pages(self, state: int = 1) -> set[str]:
        return {
            url for (url,) in self.rows("SELECT url FROM visit JOIN page ON page.id = page_id WHERE state = ?", state)
        }
