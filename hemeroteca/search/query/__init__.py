"""What people type, read and planned: from text to a plan that any engine can carry out.

`parser` (text → `clauses`; names and dates in `operators`) → `query_plan` (words that score, what makes a match better;
`conditions` for everything that must hold, `vocabulary` for the forms of words). `query_filters` edits the text of a
query.
"""
