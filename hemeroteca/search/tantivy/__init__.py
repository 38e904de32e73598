"""The search engine of one machine: Tantivy, behind `search.Index`. No other module knows its types.

`tantivy_index` (the folder, its readers), `index_writer` (documents as the engine holds them), `translation` (queries),
`analyzers` (words, stems, stop words), `mapped_files` (a bound for the memory of what was read), `segment_list` (counts
without the engine).
"""
