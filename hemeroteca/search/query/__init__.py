"""What people type, read and planned: from text to a plan that any engine can carry out.

`parser` (text → `clauses`; names in `operators`, times in `dates`) → `plan` (words that score, what makes a match
better; `conditions` for everything that must hold, `vocabulary` for the forms of words). `filters` edits the text of a
query; `body_match` checks `inbody:` in the text of a page.
"""
