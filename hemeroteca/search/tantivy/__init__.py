"""The search engine of one machine: Tantivy, behind `search.Index`. No other module knows its types.

`index` (the folder, its readers), `writer`, `schema` (a document as the engine holds it), `translation` (queries),
`analyzers` (words, stems, stop words), `mapped_files` (a bound for the memory of what was read).
"""
