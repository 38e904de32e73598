"""Regular expressions that people write about URLs, matched in linear time.

RE2 instead of `re`: an expression such as `(a+)+$` makes `re` try 2ⁿ ways on a URL an attacker chose; RE2 never
backtracks. The price is no look-around and no back-references (docs/decisions/0004-re2.md).
"""

import re
from functools import lru_cache

import re2

from hemeroteca.urls.whatwg import UrlError

MAX_LENGTH = 1000
MAX_EXPRESSIONS = 200


class Patterns:
    """Several expressions, searched for in one pass."""

    def __init__(self, expressions: tuple[str, ...]) -> None:
        if len(expressions) > MAX_EXPRESSIONS:
            raise UrlError(f"{len(expressions)} expressions are too many, at most {MAX_EXPRESSIONS}: join them with |")
        self._expressions = expressions
        self._set = re2.Set.SearchSet(_options())
        for expression in expressions:
            check(expression)
            self._set.Add(expression)
        self._set.Compile()

    def first(self, text: str) -> str | None:
        """The first of the expressions, in their order, that occurs in `text`."""
        found = self._set.Match(text if text.isascii() else text.encode("utf-8", "replace").decode())
        return self._expressions[min(found)] if found else None


@lru_cache(maxsize=1000)
def check(expression: str) -> None:
    """`UrlError` that names the expression and what is wrong with it."""
    shown = repr(expression if len(expression) <= 80 else expression[:80] + "…")
    if len(expression) > MAX_LENGTH:
        raise UrlError(f"expression {shown} is too long: {len(expression):,} characters, at most {MAX_LENGTH:,}")
    try:
        re2.compile(expression, _options())
    except (re2.error, UnicodeError) as error:
        reason = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else error
        hint = "; look-around is not available" if _LOOK_AROUND(str(reason)) else ""
        raise UrlError(f"expression {shown} cannot be used: {reason}{hint}")


_LOOK_AROUND = re.compile(r"\(\?<?[=!]|\(\?<$").search


def _options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # errors go to the person, not to the terminal
    options.never_capture = True
    return options
