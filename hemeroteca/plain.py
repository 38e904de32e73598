"""Text of strangers as every database can keep it, and numbers as it can count them."""


def storable(text: str) -> str:
    """Without NUL, which PostgreSQL refuses, and without half characters, which cannot be written at all."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")


def whole_number(text: str) -> int | None:
    """Digits 0 to 9 that 64 bits hold; None for all else. (`²` is a digit to Python too, and 5,000 of them are refused
    by `int` with an error of their own.)"""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
