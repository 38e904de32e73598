"""What was typed wrongly, said in words: what it is, what it may be, where to read more."""

import re
from functools import partial
from typing import Any

import typer

UsageError: type[Exception] = typer.BadParameter.__mro__[
    1
]  # the base of all errors of usage, which typer does not name
COMMON = ("--data", "--json")  # options of nearly every command, which people write before it
_VALUE = re.compile(r"^(.*?) is not ")


def sentence(error: Any) -> str:
    """One line for a person."""
    command = error.ctx.command_path if error.ctx is not None else "hemeroteca"
    return f"{_what(error)} (`{command} --help` tells more)"


def _what(error: Any) -> str:
    param = getattr(error, "param", None)
    name = _name(param) if param is not None else ""
    kind = getattr(getattr(param, "type", None), "name", "")
    if type(error).__name__ == "MissingParameter":
        return f"{name or 'an argument'} is missing"
    if type(error).__name__ == "NoSuchOption":
        if error.option_name in COMMON and hasattr(getattr(error.ctx, "command", None), "list_commands"):
            return f"{error.option_name} comes after the command, as in `hemeroteca status {error.option_name}`"
        near = " or ".join(error.possibilities or ())
        return f"there is no option {error.option_name}" + (f"; did you mean {near}?" if near else "")
    value = _VALUE.match(str(error.message))
    if param is not None and value and (wanted := _wanted(param.type, kind)):
        return f"{name} is {value[1]}; write {wanted}"
    said = str(error.message).rstrip(".")
    return f"{name}: {said[:1].lower()}{said[1:]}" if name else f"{said[:1].lower()}{said[1:]}"


def _name(param: Any) -> str:
    """`--limit`, or an argument as the help shows it."""
    return max(param.opts, key=len) if param.param_type_name == "option" else (param.metavar or param.name).strip("[]…")


def _wanted(kind: Any, name: str) -> str:
    if name.startswith(("int", "float")):
        low, high = getattr(kind, "min", None), getattr(kind, "max", None)
        high = None if high == 2**63 - 1 else high  # what a table can number, not what a person would write
        noun = "a whole number" if name.startswith("int") else "a number, like 0.5"
        if low is not None and high is not None:
            return f"{noun} from {low} to {high}"
        if low is not None:
            return f"{noun}, {low} or more"
        return noun if high is None else f"{noun}, {high} or less"
    if name == "choice":
        *others, last = [str(getattr(choice, "value", choice)) for choice in kind.choices]
        return f"{', '.join(others)} or {last}" if others else last
    return {"boolean": "yes or no"}.get(name, "")


_METAVARS = {
    "int": "N",
    "int range": "N",
    "float": "X",
    "float range": "X",
    "path": "FILE",
    "str": "TEXT",
    "text": "TEXT",
}


def explain(command: Any, examples: dict[str, tuple[str, ...]], words: str = "") -> None:
    """Let the help of a command, and of those below it, name values by what they are, and end with examples."""
    for param in command.params:
        kind = getattr(param.type, "name", "")
        if hasattr(param.type, "_describe_range"):
            limits = _wanted(param.type, kind).partition("number")[2].removeprefix(", like 0.5").lstrip(", ")
            param.type._describe_range = lambda limits=limits: limits
        if param.param_type_name == "argument":
            param.metavar = param.metavar or param.name.upper() + ("…" if param.nargs == -1 else "")
            param.make_metavar = partial(_shown, param)
        elif param.metavar is None and not getattr(param, "is_flag", False):
            param.metavar = "FOLDER" if param.name == "data" else _METAVARS.get(kind)
    if shown := examples.get(words):
        command.epilog = "\b\nFor example:\n" + "\n".join(f"  {line}" for line in shown)
    for name, below in getattr(command, "commands", {}).items():
        explain(below, examples, f"{words} {name}".strip())


def _shown(argument: Any, ctx: Any, *, usage: bool = False) -> str:
    """`URL`; in the line of usage `[URL]` when it may be left out. Typer's braces for others look like a choice."""
    name = str(argument.metavar)
    return name if argument.required or not usage or name.startswith("[") else f"[{name}]"
