"""The frontier decides what is fetched next; nobody else does.

The life of a URL: a seed, a link or a sitemap names it; `urls` gives it a canonical form and a 64-bit key; the seen-set
tells whether this crawl has met it; a new one becomes a *page* row, queued under its *host*. When the host may be asked
again (one request at a time, adaptive delay, robots.txt) its best page is leased to a fetcher. What comes back settles
the page: done, failed with a reason, or queued again for later. A lease lives in memory only: a page stays queued on
disk until its outcome is committed, so a crash costs at most one more request per page and needs no repair.

    values      what travels between the frontier and the engine
    seen        which URLs a crawl has met: 8 bytes each
    politeness  how long a host must be left alone (pure)
    traps       shapes of URLs that only lead to the same page again
    store       batched SQL on the hot path, the same on SQLite and PostgreSQL
    queue       hosts in order of their next allowed time; leases
    services    orders from people: submit, stop, resume, settings of a site
"""
