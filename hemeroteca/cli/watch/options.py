"""Arguments and options that several commands of `hemeroteca watch` take."""

from enum import StrEnum
from typing import Annotated

import typer

MOST_NUMBER = (1 << 63) - 1

Number = Annotated[int, typer.Argument(help="Number of the subscription.", min=1, max=MOST_NUMBER)]
Include = Annotated[list[str] | None, typer.Option(help="A URL must match one of these expressions.")]
Exclude = Annotated[list[str] | None, typer.Option(help="A URL may match none of these expressions.")]
Ignore = Annotated[list[str] | None, typer.Option(help="CSS or XPath of parts that do not count.")]
Keep = Annotated[list[str] | None, typer.Option(help="CSS or XPath of the only parts that count.")]
IgnoreText = Annotated[list[str] | None, typer.Option(help="Expressions for text that does not count.")]
Windows = Annotated[list[str] | None, typer.Option(help="When, like `mon-fri 08:00-18:00 Europe/Madrid`.")]


class ScopeName(StrEnum):
    page = "page"
    prefix = "prefix"
    host = "host"
    domain = "domain"


class Language(StrEnum):
    es = "es"
    en = "en"
