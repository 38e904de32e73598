"""The loop: lease → fetch → ingest → commit, in one process that owns the writes and a few that read pages.

crawler    the engine: its loop, and the orders it follows;  runs: a crawl under way

The way of a visit, module by module:
visits            leased, fetched, then kept, tried later or given up;  admission: whether it is made at all
robots_fetching   robots.txt on its way;  robots_rules: what it says;  host_waits: how long a host is left alone
browsing          visits by browser, with rendering: the browser itself
reading           to a reader and back, with pool: the readers and the pipes to them; messages: what goes through them
read_results      what is done with a reader's answer, by archiving, following (new pages), page_outcomes (its row)
commits           when all this becomes durable;  ledger: what must reach the disk together

In a reader (worker): ingest does all with a capture, with links, edges (of the link graph), documents (for search) and
version_changes (how it differs from the last version).

Beside it: subscriptions (pages due), collection_membership, refresh (link ranks), uploads, repair (what a start
does after a crash), imports and handed_over (what commands leave for a running engine), reindex (documents from the
archive), overview (what `hemeroteca status`, API and console show of all this).
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that nothing here uses
