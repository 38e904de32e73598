"""The frontier decides what is fetched next; nobody else does.

The life of a URL: a seed, a link, a sitemap or a signal names it as a *candidate*; the seen-set tells whether this
crawl has met it; a new one becomes a *page* (a URL we know, and what its last visit brought) and a *visit* (this
crawl's wish to see it, with a score of the crawl's prioritiser), queued under its *host*. When the host may be asked
again (one request at a time, adaptive delay, robots.txt) its best visit is *leased* to a fetcher; among hosts that
may be asked, the one with the best visit goes first. The lease ends the visit exactly once: done, retried later,
failed, excluded, held back, given back, or its deadline
does it. A lease lives in memory only: a visit stays queued on disk
until its ending is committed, so a crash costs at most one more request per page and needs no repair.

    visit         a visit on its way, what it brought, how it ended
    lease         visits in somebody's hands until a deadline, and all that is counted about them
    hosts         which host is next, by time and by its best visit
    queue         the frontier itself: what comes in, what goes out, what is written
    focused_links links of crawls with a focus: what they promised, and what they brought
    thesauri      thesauri of the data folder, for people and for the focus of a crawl
    prioritisers  how much a crawl wants a candidate: breadth-first, freshness, those of other rooms
    seen_urls     which URLs a crawl has met: 8 bytes each
    politeness    how long a host must be left alone (pure)
    robots        robots.txt per origin, in memory and on disk
    traps         pages that say nothing new and lead on for ever: their links are held back
    crawl_orders  orders that are kept, given again by hand or by the clock
    reasons       why a page was not captured, in words for people
    takedowns     addresses that nothing captures any more, with reason
    statements    batched SQL on the hot path, the same on SQLite and PostgreSQL
    site_settings what people set for a site;  crawl_counts: what a run of a crawl came to
    services      orders from people: submit, stop, resume, settings of a site;  queries: reads for people
"""
