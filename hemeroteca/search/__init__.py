"""Search over what was archived: query language, index, ranking, suggestions, spelling and the link graph.

Nothing here but `portal` needs Django or the database, so that `hemeroteca search` starts fast. The archive is the
truth: everything in this room can be rebuilt from it (`hemeroteca search rebuild`).

- `searcher`: answers queries. `query/` (text → plan) → `retrieval` (the plan asked of the index; `ranking`,
  `word_vectors`, `semantic` and `dedup` order what it finds) → `results` (with `snippet`, `facets`);
  `score_explanation` says why. `heavy_queries` keeps long queries from blocking short ones.
- `index/`: the seam. `Index` is what an engine must do; `tantivy/` does it. `analysis` cuts text into words.
- `suggest/`: completion and spelling. `graph`: links and PageRank. `maintenance` refreshes both from time to time.
- `corpus`: documents imported from files, queries run from files; `document_queue`: documents waiting for the engine.
- `preferences`: hosts a person has raised, lowered or blocked. `portal`: search as the API and the console use it.
"""
