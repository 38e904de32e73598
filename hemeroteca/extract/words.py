"""Lists of names, written as one would read them."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
