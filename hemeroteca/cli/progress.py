"""How far something is: a line on a terminal that is gone when it is done; and Ctrl-C, once in order, twice at once."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[int, int | None, str], None]  # done, in all, what is done now


@contextmanager
def progress_line(quiet: bool) -> Iterator[Show]:
    if quiet or not sys.stderr.isatty():
        yield lambda done, total, message: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from hemeroteca.cli.common import unmarked

    columns = (
        SpinnerColumn(),
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task("", total=None)

        def show(done: int, total: int | None, message: str) -> None:
            line.update(task, completed=done, total=total, description=unmarked(message))

        yield show


@contextmanager
def on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C (or request to end) calls `stop`; the second ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)

    def interrupted(*_: object) -> None:
        stop()
        for number in numbers:
            signal.signal(number, signal.default_int_handler)

    before = {number: signal.signal(number, interrupted) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
