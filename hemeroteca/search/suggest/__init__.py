"""While a person types: how a query goes on, and what was probably meant.

`language_model` learns words and what follows them from the indexed pages, `query_log` keeps what people asked,
`suggester` completes and corrects from both.
"""
