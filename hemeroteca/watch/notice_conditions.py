"""Conditions of notices: what a change must be like to be worth telling. No Django here.

appears WORDS     the new version says it and the old one did not     importance N   view + form + content above N
vanishes WORDS    the old version said it and the new one does not
above N, below N  a number that is new in the text is above or below N
"""

import re

import msgspec

from hemeroteca.errors import Invalid

KINDS = ("appears", "vanishes", "above", "below", "importance")
_NUMBER = re.compile(r"(?<![\w.,])[-−]?\d{1,15}(?:[.,]\d{1,9})*")


class Condition(msgspec.Struct, frozen=True):
    kind: str
    words: str = ""
    number: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.words or format(self.number, 'g')}"

    def holds(self, diff: str, total: float) -> bool:
        """Whether a change is so: by its unified diff, of which lines with + are new, and its importance."""
        if self.kind == "importance":
            return total > self.number
        added, removed = (_lines(diff, sign) for sign in "+-")
        if self.kind == "appears":
            return self.words.casefold() in added and self.words.casefold() not in removed
        if self.kind == "vanishes":
            return self.words.casefold() in removed and self.words.casefold() not in added
        new = set(numbers(added)) - set(numbers(removed))
        return any(value > self.number if self.kind == "above" else value < self.number for value in new)


def read(text: str) -> Condition:
    """A condition as people write it. Raises Invalid."""
    kind, _, rest = " ".join(text.split()).partition(" ")
    kind = kind.lower()
    if kind not in KINDS or not rest:
        raise Invalid(f"{text!r} is no condition; write {', '.join(f'`{one} …`' for one in KINDS)}")
    if kind in ("appears", "vanishes"):
        return Condition(kind, words=rest)
    found = numbers(rest)
    if len(found) != 1 or _NUMBER.sub("", rest).strip():
        raise Invalid(f"{text!r} needs a number, as in `{kind} 12.5`")
    if kind == "importance" and not 0 <= found[0] <= 3:
        raise Invalid(f"{text!r}: importance is a sum of three parts; give a number between 0 and 3")
    return Condition(kind, number=found[0])


def numbers(text: str) -> list[float]:
    """Numbers in a text, as people of many countries write them: 1,234.5 and 1.234,5 are the same."""
    return [_number(found) for found in _NUMBER.findall(text)]


def _number(text: str) -> float:
    text = text.replace("−", "-")
    last = max(text.rfind("."), text.rfind(","))
    if last < 0:
        return float(text)
    marks = {mark for mark in text if mark in ".,"}
    grouped = len(marks) == 1 and (text.count(text[last]) > 1 or len(text) - last == 4)  # 1.234.567, or 1.234
    whole = re.sub(r"[.,]", "", text if grouped else text[:last])
    return float(whole if grouped else f"{whole or '0'}.{text[last + 1 :]}")


def _lines(diff: str, sign: str) -> str:
    marks = f"{sign * 3} "
    return "\n".join(
        line[1:] for line in diff.splitlines() if line.startswith(sign) and not line.startswith(marks)
    ).casefold()
