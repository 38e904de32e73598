"""Questions to the lake that the web process has, in a process of their own, which ends when nobody asked for a while.

Ibis, Arrow and DuckDB take more memory than all the rest of the console. Commands and jobs, which end when they have
their answer, ask in their own process.
"""

from __future__ import annotations

import functools
import os
import resource
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hemeroteca.ingest import heavy_reads

P = ParamSpec("P")
R = TypeVar("R")

SECONDS = 60.0
TOGETHER = 5  # at work or waiting; the console has eight threads

_reads: heavy_reads.Reads | None = None


def begin() -> None:
    """From now on this process asks another."""
    global _reads
    _reads = heavy_reads.Reads(1, __name__, TOGETHER, "ask about fewer revisions, or ask on the command line")


def of_the_lake(function: Callable[P, R]) -> Callable[P, R]:
    """Of functions that take and return plain values; an answer counts until something is committed."""

    @functools.wraps(function)
    def asked(*arguments: P.args, **named: P.kwargs) -> R:
        if _reads is None:
            return function(*arguments, **named)
        from hemeroteca.wiki.commits import current_version

        assert not named
        return _reads.run(function, arguments, SECONDS, str(current_version()).encode())

    return asked


def main(descriptor: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hemeroteca.django_settings")
    import django

    django.setup()
    from django.db import connections

    heavy_reads.serve(descriptor, resource.RLIM_INFINITY, connections.close_all)  # DuckDB has bounds of its own


if __name__ == "__main__":
    main(int(sys.argv[1]))
