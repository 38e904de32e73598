"""Files handed to people: others may read them, as far as whoever called the program lets them.

The program itself keeps everything to its owner (`main` sets a strict umask), and its children do so too: what the
caller's umask was, they find in the environment.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.http import HttpResponse

VARIABLE = "HEMEROTECA_CALLERS_UMASK"
USUAL = 0o022


def keep_to_owner() -> None:
    """From now on new files belong to the owner only: secrets, sessions and captures of private pages."""
    before = os.umask(0o077)
    os.environ.setdefault(VARIABLE, f"{before:o}")


def hand_over(file: Path) -> None:
    """Let others read a file that was written for people."""
    try:
        umask = int(os.environ.get(VARIABLE, ""), 8)
    except ValueError:
        umask = USUAL
    file.chmod(0o666 & ~umask)


def download(text: str, name: str, kind: str = "text/csv; charset=utf-8") -> "HttpResponse":
    """An answer that a browser saves as a file."""
    from django.http import HttpResponse

    return HttpResponse(text, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
