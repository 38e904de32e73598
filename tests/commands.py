"""Commands as a person runs them: each in a process of its own, on a data folder of its own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]


def run(program: str, data: Path, *arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """What Python's `program` printed. It ended with `code`, and not by falling over."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "HEMEROTECA_DATA": str(data), "HEMEROTECA_DATABASE": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr, done.stderr
    return done
