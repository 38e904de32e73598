"""The line that tells how far a command is."""

import os
from collections.abc import Callable
from contextlib import redirect_stderr

import pytest

from hemeroteca.cli.progress import progress_line


def seen_on_terminal(work: Callable[[], object]) -> str:
    """All that is written while standard error is a terminal."""
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, redirect_stderr(terminal):
        work()
    written = b""
    try:
        while part := os.read(ours, 4096):
            written += part
    except OSError:  # what Linux says at the end of a terminal nobody writes to
        pass
    os.close(ours)
    return written.decode()


def told(text: str, quiet: bool = False) -> None:
    with progress_line(quiet) as show:
        show(1, 2, text)


def failed(text: str) -> None:
    with pytest.raises(ValueError, match="broken"), progress_line(quiet=False) as show:
        show(1, None, text)
        raise ValueError("broken")


CLEARED = "\x1b[2K"  # a line of the terminal emptied


def test_a_terminal_sees_how_far_it_is_and_no_trace_of_it_afterwards() -> None:
    written = seen_on_terminal(lambda: told("a.warc.gz"))
    assert "1/2" in written
    assert "a.warc.gz" in written
    assert CLEARED in written[written.rindex("a.warc.gz") :]


def test_no_trace_of_it_is_left_when_the_work_fails() -> None:
    written = seen_on_terminal(lambda: failed("half done"))
    assert CLEARED in written[written.rindex("half done") :]


def test_names_of_files_cannot_command_the_terminal() -> None:
    written = seen_on_terminal(lambda: told("\x1b]0;owned\x07.warc"))
    assert "\ufffd]0;owned\ufffd.warc" in written
    assert "\x1b]0;" not in written


def test_it_is_quiet_when_facts_are_for_programs() -> None:
    assert seen_on_terminal(lambda: told("1 of 2", quiet=True)) == ""


def test_nothing_is_written_into_a_file_or_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    told("1 of 2")
    assert capsys.readouterr().err == ""
