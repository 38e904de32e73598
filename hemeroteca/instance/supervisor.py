"""Keeps the processes of an instance running: starts them, passes their words on, restarts what dies, stops them all.

It tells in `processes.json` what runs, and takes orders (`stop NAME`, `start NAME`, `restart NAME`) through a pipe that
only the owner of the data folder can write to (`Instance.order`).

One thread and one selector; no Django here, so that the process which must never fall stays small. Children live in
process groups of their own: Ctrl-C reaches the supervisor only, which then stops them in order. If the supervisor
itself is killed, the kernel tells the children (PR_SET_PDEATHSIG) and they stop by themselves.
"""

import ctypes
import logging
import os
import selectors
import signal
import stat
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO

import msgspec

log = logging.getLogger("hemeroteca.supervisor")

MINUTE = 60.0
FIRST_DELAY = 0.5
MAX_DELAY = 30.0
LINE_LIMIT = 8192  # a child that writes without line ends must not fill our memory
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Program:
    """A process to keep running."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    inherit: Sequence[int] = ()  # file descriptors it needs, such as the listening socket
    wakers: Sequence[int] = ()  # it is started when one of these can be read, and sleeps again when it has ended well
    wake_seconds: float = 0.0  # a sleeping one is started after so long in any case; 0: never
    may_stop: bool = True  # by order; False: it can only be restarted


@dataclass(frozen=True)
class RestartLimits:
    restarts_a_minute: int = 5
    grace_seconds: float = 20.0  # from the request to stop until the kill


class Supervisor:
    """`run()` returns after a signal asked for the end and every child is gone.

    `say(name, line)` receives each line a child writes, to either of its streams. `ear`: a descriptor that orders can
    be read from; `report_file`: the file that says what runs.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        say: Callable[[str, str], None],
        limits: RestartLimits | None = None,
        ear: int | None = None,
        report_file: Path | None = None,
    ) -> None:
        self._selector = selectors.DefaultSelector()
        limits = limits or RestartLimits()
        self._children = [_Child(program, say, self._selector, limits) for program in programs]
        self._limits = limits
        self._stop_signals = 0
        self._kill_at = float("inf")
        self._ear = ear
        self._report_file = report_file
        self._last_report: list[ProcessFacts] | None = None

    def run(self) -> None:
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_read, False)
        os.set_blocking(wake_write, False)
        self._selector.register(wake_read, selectors.EVENT_READ, lambda: _drain(wake_read))
        if self._ear is not None:
            self._selector.register(self._ear, selectors.EVENT_READ, self._obey)
        old_wake = signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup asked that a lost terminal means nothing
            numbers.append(signal.SIGHUP)
        handlers = {number: signal.signal(number, self._on_stop) for number in numbers}
        handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _nothing)  # its only work is to wake the selector
        try:
            self._loop()
        finally:
            for child in self._children:  # also after an error of our own: never leave an orphan
                child.kill()
                child.wait()
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(old_wake)
            self._selector.close()
            os.close(wake_read)
            os.close(wake_write)

    def _loop(self) -> None:
        asked = False
        while True:
            now = time.monotonic()
            if self._stop_signals and not asked:
                asked = True
                self._kill_at = now + self._limits.grace_seconds
                for child in self._children:
                    child.stop()
            if asked and (now >= self._kill_at or self._stop_signals > 1):
                for child in self._children:
                    child.kill()
            for child in self._children:
                child.maintain(now, may_start=not asked)
            self._tell()
            if asked and not any(child.alive for child in self._children):
                return
            for key, _ in self._selector.select(self._pause(now)):
                key.data()

    def _obey(self) -> None:
        """Orders of whoever may operate the instance."""
        assert self._ear is not None
        try:
            lines = os.read(self._ear, 4096).decode("ascii", "replace").splitlines()
        except BlockingIOError:
            return
        for line in lines:
            verb, _, name = line.partition(" ")
            for child in self._children:
                if child.name == name:
                    child.order(verb, time.monotonic())

    def _tell(self) -> None:
        """Write down what runs, when that has changed."""
        facts = [child.facts() for child in self._children]
        if self._report_file is None or facts == self._last_report:
            return
        self._last_report = facts
        draft = self._report_file.with_suffix(".new")
        try:
            draft.write_bytes(msgspec.json.encode(facts))
            os.replace(draft, self._report_file)
        except OSError as error:  # a full disk must not end what it could not describe
            log.warning("%s cannot be written (%s)", self._report_file, error)

    def _pause(self, now: float) -> float | None:
        moments = (
            [child.start_at for child in self._children if not child.alive]
            + [child.kill_at for child in self._children if child.alive and child.kill_at]
            if not self._stop_signals
            else [self._kill_at]
        )
        return min(max(0.0, min(moments) - now), MINUTE) if moments else None

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop_signals += 1


class ProcessFacts(msgspec.Struct):
    """A process of an instance, for people."""

    name: str
    state: str  # running, asleep (it is started when there is work), stopped (by order), waiting (it died)
    pid: int = 0
    since_ms: int = 0  # of this state
    starts: int = 0
    ending: str = ""  # how it last ended
    may_stop: bool = True


def read_processes(report_file: Path) -> list[ProcessFacts]:
    """What a supervisor wrote; nothing when none did."""
    try:
        return msgspec.json.decode(report_file.read_bytes(), type=list[ProcessFacts])
    except (OSError, msgspec.MsgspecError):
        return []


class _Child:
    """One program: its process when it runs, and when it may start again when it does not."""

    def __init__(
        self, program: Program, say: Callable[[str, str], None], selector: selectors.BaseSelector, limits: RestartLimits
    ) -> None:
        self._program = program
        self._say = say
        self._selector = selector
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: IO[bytes] | None = None
        self._partial = b""
        self._started = 0.0
        self._delay = FIRST_DELAY
        self._deaths: deque[float] = deque(maxlen=limits.restarts_a_minute)
        self._stopping = False
        self._killed = False
        self.start_at = 0.0
        self.kill_at = 0.0  # when a process that was ordered to end is ended; 0: nobody ordered it
        self._held = False  # by order: not started until somebody says so
        self._again = False  # by order: it ends in order to be started again
        self._starts = 0
        self._ending = ""
        self._since_ms = time.time_ns() // 1_000_000
        self._asleep = False
        if program.wakers:
            self._sleep(time.monotonic())

    @property
    def alive(self) -> bool:
        return self._process is not None

    @property
    def name(self) -> str:
        return self._program.name

    def facts(self) -> ProcessFacts:
        state = "running" if self.alive else "stopped" if self._held else "asleep" if self._asleep else "waiting"
        pid = self._process.pid if self._process is not None else 0
        return ProcessFacts(
            name=self.name,
            state=state,
            pid=pid,
            since_ms=self._since_ms,
            starts=self._starts,
            ending=self._ending,
            may_stop=self._program.may_stop,
        )

    def order(self, verb: str, now: float) -> None:
        """What a person wants of it: stop, start or restart."""
        if verb == "start" or (verb == "restart" and self._process is None):
            if self._held:
                log.info("%s is started by order", self.name)
            self._held = False
            if not self._asleep:
                self.start_at = now
        elif verb == "restart" or (verb == "stop" and self._program.may_stop):
            self._held, self._again = verb == "stop", verb == "restart"
            if self._process is not None:
                log.info("%s is asked to %s", self.name, verb)
                self._process.terminate()
                self.kill_at = now + self._limits.grace_seconds
            self._since_ms = time.time_ns() // 1_000_000

    def maintain(self, now: float, may_start: bool) -> None:
        """Notice a death, and start the program when it is time."""
        if self._process is not None and _has_ended(self._process.pid):
            self._bury(now)
        if self._process is not None and self.kill_at and now >= self.kill_at:
            log.warning("%s has not ended as ordered; killing it", self.name)
            self.kill_at = 0.0
            _kill_group(self._process.pid)
        if self._process is None and may_start and not self._held and now >= self.start_at:
            self._wake(now)
            self._start(now)

    def stop(self) -> None:
        self._stopping = True
        if self._process is not None:
            self._process.terminate()

    def kill(self) -> None:
        if self._process is not None and not self._killed:
            self._killed = self._stopping = True
            log.warning("%s has not stopped; killing it", self._program.name)
            _kill_group(self._process.pid)

    def wait(self) -> None:
        if self._process is not None:
            self._process.wait()

    def _sleep(self, now: float) -> None:
        self._asleep = True
        self.start_at = now + (self._program.wake_seconds or float("inf"))
        for waker in self._program.wakers:
            self._selector.register(waker, selectors.EVENT_READ, self._wake)

    def _wake(self, now: float = 0.0) -> None:
        if self._asleep:
            self._asleep = False
            self.start_at = now
            for waker in self._program.wakers:
                self._selector.unregister(waker)
                if stat.S_ISFIFO(os.fstat(waker).st_mode):
                    _drain(waker)

    def _start(self, now: float) -> None:
        self._process = subprocess.Popen(
            self._program.arguments,
            env={**os.environ, **self._program.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            pass_fds=tuple(self._program.inherit),
            start_new_session=True,
            preexec_fn=_die_with_parent(os.getpid()) if sys.platform == "linux" else None,
        )
        assert self._process.stdout is not None
        self._starts += 1
        self._since_ms = time.time_ns() // 1_000_000
        self._started = now
        self._pipe = self._process.stdout
        os.set_blocking(self._pipe.fileno(), False)
        self._selector.register(self._pipe, selectors.EVENT_READ, self._read)
        log.info("%s started (process %d)", self._program.name, self._process.pid)

    def _read(self) -> bool:
        """Pass on what the child wrote; False when there is nothing (more) for now."""
        data = self._pipe.read(65536) if self._pipe is not None else None
        if data == b"":
            self._close_pipe()
        if not data:
            return False
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > LINE_LIMIT:
            lines.append(self._partial)
            self._partial = b""
        for line in lines:
            self._say(self._program.name, line[:LINE_LIMIT].decode("utf-8", "replace").rstrip("\r"))
        return True

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._selector.unregister(self._pipe)
            self._pipe.close()
            self._pipe = None

    def _bury(self, now: float) -> None:
        assert self._process is not None
        _kill_group(self._process.pid)  # its own children, if it left any; before its number can be given away
        self._process.wait()
        while self._read():  # its last words
            pass
        if self._partial:
            self._say(self._program.name, self._partial.decode("utf-8", "replace"))
            self._partial = b""
        self._close_pipe()
        code, self._process = self._process.returncode, None
        self._ending, self._since_ms = _spell(code), time.time_ns() // 1_000_000
        ordered, self.kill_at = self._held or self._again, 0.0
        if self._stopping:
            log.info("%s stopped", self._program.name)
            return
        if ordered:
            self._again = False
            log.info("%s ended as ordered", self._program.name)
            self.start_at = now
            if self._program.wakers:
                self._sleep(now)
            return
        if self._program.wakers and not code:
            self._sleep(now)
            return
        if now - self._started > MINUTE:
            self._delay = FIRST_DELAY
        self.start_at = now + self._delay
        self._delay = min(self._delay * 2, MAX_DELAY)
        full = len(self._deaths) == self._deaths.maxlen
        if full and self.start_at < self._deaths[0] + MINUTE:
            self.start_at = self._deaths[0] + MINUTE
            log.error(
                "%s died %d times within a minute (%s); its own words above say why; next try in %.0f s",
                self._program.name, len(self._deaths) + 1, _spell(code), self.start_at - now,
            )  # fmt: skip
        else:
            log.error(
                "%s died (%s); starting it again in %.1f s", self._program.name, _spell(code), self.start_at - now
            )
        self._deaths.append(now)


def _die_with_parent(parent: int) -> Callable[[], None]:
    # Loaded before the fork: between fork and exec only the call itself may happen.
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def before_exec() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before the kernel knew
            os._exit(1)

    return before_exec


def _has_ended(pid: int) -> bool:
    """True when the process is dead; it stays a zombie, so that its number and its group remain its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _spell(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _drain(pipe: int) -> None:
    try:
        os.read(pipe, 4096)
    except BlockingIOError:
        pass


def _nothing(number: int, frame: FrameType | None) -> None:
    pass
