"""Answers made of what a row of the database or a value of another room says under the same names."""

from typing import Any, TypeVar

from ninja import Schema

Answer = TypeVar("Answer", bound=Schema)


def filled(answer: type[Answer], source: object, **given: Any) -> Answer:
    """Every field that is not given is the source's attribute of that name."""
    same = {name: getattr(source, name) for name in answer.model_fields if name not in given}
    return answer(**same, **given)
