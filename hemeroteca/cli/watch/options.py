"""Arguments and options of `hemeroteca watch`; those for fields of an order are made of their declarations."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from hemeroteca.cli.common import with_options
from hemeroteca.watch.fields import Field

MAX_NUMBER = (1 << 63) - 1

Number = Annotated[int, typer.Argument(help="Number of the subscription.", min=1, max=MAX_NUMBER)]


Language = Literal["es", "en"]


def with_fields(fields: dict[str, Field], edit: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for every field that can be set; what was given comes in its parameter `given`.

    `edit`: an option that is left out leaves its field as it is.
    """
    settable = {field.option or name: field for name, field in fields.items() if not field.fixed}

    def read(options: dict[str, Any]) -> dict[str, Any]:
        return {
            settable[option].name: None if settable[option].optional and value == -1 else value
            for option, value in options.items()
            if value is not None
        }

    return with_options([_parameter(option, field, edit) for option, field in settable.items()], read)


def _parameter(option: str, field: Field, edit: bool) -> inspect.Parameter:
    kind: Any = list[str] if field.kind is tuple else field.kind
    default = None if edit or field.kind is tuple else field.default
    said, minimum = field.help, field.minimum
    if edit and field.optional:
        said, minimum = f"{said.rstrip('.')}; -1: no limit.", -1
    if field.choices:
        kind = Literal[tuple(choice for choice in field.choices if choice)]
        default = default or None
    limits: dict[str, Any] = {"min": minimum or 0, "max": field.maximum} if field.kind in (int, float) else {}
    info = typer.Option(help=said, **limits)
    annotation: Any = Annotated[kind | None if default is None else kind, info]
    return inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
