"""The loop: lease → fetch → ingest → commit, in one process that owns the writes and a few that read pages.

crawler   the loop itself, and what becomes of each visit
gate      robots.txt: fetched before the first page of an origin, obeyed for all
pool      ingest processes and the pipes to them;  worker: such a process;  ingest: what it does with a capture
ledger    what must reach the disk together: WARC records, capture rows, page rows, index documents
repair    what a start does after a crash;  reindex: documents from the archive
status    what a person or a program can know about all this from outside
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
