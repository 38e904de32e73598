"""Kinds of job: a name, a function, and what it needs. Rooms register theirs; `settings.JOB_MODULES` says where."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, TypeVar

import msgspec

from hemeroteca.errors import Invalid, in_words


class ActiveJob(Protocol):
    """A job while its function runs."""

    checkpoint: Any  # what `keep` kept before an interruption; None at a first start

    @property
    def cancelled(self) -> bool:
        """Somebody wants it to end for good; else an interruption is its process that stops, and it goes on later."""

    def progress(self, done: int, total: int | None = None, message: str = "") -> None:
        """Tell how far it is; cheap enough to be called for each step. Raises Interrupted when it shall end now."""

    def log(self, text: str) -> None:
        """Add a line to its log."""

    def keep(self, checkpoint: Any) -> None:
        """Note where to go on after an interruption, as something JSON can hold."""


class Interrupted(BaseException):
    """Somebody cancelled the job, or its process is asked to stop. It may carry the result of what was done."""

    def __init__(self, result: Any = None) -> None:
        super().__init__(result)
        self.result = result


Function = TypeVar("Function", bound=Callable[..., Any])


class Kind(msgspec.Struct, frozen=True):
    name: str
    run: Callable[[ActiveJob, Any], Any]  # its job and its arguments → its result, both msgspec structs
    arguments: type
    action: str  # in accounts' table of permissions
    exclusive: bool  # it runs while no engine does: it writes what the engine writes
    remote: bool  # may be ordered over the network: no argument names a file of this machine

    def convert(self, arguments: Any) -> Any:
        """Arguments as the function takes them. Raises Invalid."""
        given = msgspec.to_builtins(arguments)
        known = [field.encode_name for field in msgspec.structs.fields(self.arguments)]
        if unknown := sorted(set(given) - set(known)) if isinstance(given, dict) else ():
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise Invalid(f"{self.name} has no argument {unknown[0][:40]!r}; {there}")
        try:
            return msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as error:
            raise Invalid(f"these are not the arguments of {self.name}: {in_words(error)}")


def kind(
    name: str, *, action: str = "", exclusive: bool = False, remote: bool = False
) -> Callable[[Function], Function]:
    """Register a function as a kind of job. It takes the job and a struct of arguments, and returns a struct."""

    def register(function: Function) -> Function:
        _, arguments, *_ = function.__annotations__.values()
        _kinds[name] = Kind(
            name=name,
            run=function,
            arguments=arguments,
            action=action or name,
            exclusive=exclusive,
            remote=remote,
        )
        return function

    return register


def find(name: str) -> Kind:
    """A kind by its name. Raises Invalid."""
    if name not in _kinds:
        _load_room(name.partition(".")[0])
    if name not in _kinds and name not in every():
        raise Invalid(f"there is no kind of job {name!r}; there are {', '.join(sorted(_kinds))}")
    return _kinds[name]


def every() -> dict[str, Kind]:
    from django.conf import settings

    for module in settings.JOB_MODULES:
        import_module(module)
    return _kinds


def _load_room(room: str) -> None:
    """The kinds of one room: those of all others cost half a second to load."""
    from django.conf import settings

    module = f"hemeroteca.{room}.job_kinds"
    if module in settings.JOB_MODULES:
        import_module(module)


_kinds: dict[str, Kind] = {}
