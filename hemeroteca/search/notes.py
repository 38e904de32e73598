"""What a reader is told about a query: an English sentence that remembers what it was made of, to be translated."""


class Note(str):
    """`Note("only the first {number} words were read", number=100)`; the console translates `template`."""

    template: str
    values: dict[str, object]

    def __new__(cls, template: str, **values: object) -> "Note":
        note = super().__new__(cls, template.format(**values) if values else template)
        note.template = template
        note.values = values
        return note

    def said(self, template: str) -> str:
        """The same in other words, which have the same places for values."""
        return template.format(**self.values) if self.values else template
