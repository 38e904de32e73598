"""Ranges of whole numbers as regular expressions, by which the words of an index are chosen."""


def pattern(low: int, high: int) -> str:
    """Matches the numbers from `low` to `high`, written without zeros before them."""
    return "|".join(
        _same_length(max(low, _least(n)), min(high, 10**n - 1)) for n in range(_digits(low), _digits(high) + 1)
    )


def _digits(number: int) -> int:
    return len(str(number))


def _least(digits: int) -> int:
    return 10 ** (digits - 1) if digits > 1 else 0


def _same_length(low: int, high: int) -> str:
    """Both ends have as many digits."""
    digits = _digits(high)
    if digits == 1:
        return _one(low, high)
    tens_low, last_low = divmod(low, 10)
    tens_high, last_high = divmod(high, 10)
    if tens_low == tens_high:
        return f"{tens_low}{_one(last_low, last_high)}"
    parts = []
    if last_low:
        parts.append(f"{tens_low}{_one(last_low, 9)}")
        tens_low += 1
    if last_high < 9:
        parts.append(f"{tens_high}{_one(0, last_high)}")
        tens_high -= 1
    if tens_low <= tens_high:
        parts.append(f"(?:{_same_length(tens_low, tens_high)})[0-9]")
    return "|".join(parts)


def _one(low: int, high: int) -> str:
    return str(low) if low == high else f"[{low}-{high}]"
