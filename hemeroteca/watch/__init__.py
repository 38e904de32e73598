"""Watching: who wants to know about which pages, when each is visited next, and who is told when it changed.

A *subscription* (to a page or a site, in a *collection*) has a standing crawl, so that scope, links and politeness
work as for any crawl. Every answered visit is an *observation*; predict's planner or a policy learns from it; the
*scheduler* inside the engine turns what they say into visits, under budgets. *Signals* are what somebody tells us.

    models, services, queries   tables, what can be done, what can be asked
    values, windows, budgets    small values without a database
    imports                     subscriptions from CSV and OPML
    records                     what the scheduler writes, in batches
    scheduler                   lives in the engine: which pages are visited now, and what their visits taught
    rules, memory               the policies with an interval per page; what the planner learned, kept in a file
    learning                    observations from the archive; the planner learned anew; calibration
    reasons                     why a page is visited when, in Spanish and English
    signals, websub             what comes in from feeds, sitemaps, hubs, IndexNow and webhooks
    notices, feeds              what goes out: mail and messengers (Apprise), webhooks, RSS and Atom
    outgoing                    requests of our own, behind the address guard
    metrics                     what watching brought and what it cost
    worker                      the process that does all this which is not the engine's work

It must never write pages or captures: visits go through the frontier, bytes through ingest.
"""
