"""Watching: who wants to know about which pages, when each is visited next, and who is told when it changed.

A *subscription* (to a page or a site, in a *collection*) has a standing crawl, so that scope, links and politeness
work as for any crawl. Every answered visit is an *observation*; predict's planner or a policy learns from it; the
*scheduler* inside the engine turns what they say into visits, under budgets. *Signals* are what somebody tells us.

What people order:
    models, services, queries   tables, what can be done, what can be asked
    fields                      the fields of an order, declared once for commands, API and CSV
    subscription_files          subscriptions as CSV and OPML
    membership                  which collections an address belongs to
    time_windows                times of the week at which a subscription may be visited

In the engine:
    scheduler                   what the engine asks and tells; subscriptions that come, change and go
    scheduler_state             what its parts share, and what they have to write
    plan                        which pages are visited now, and the planner
    policy_pages                pages that follow a policy instead of the planner
    next_visit                  why a page is visited when, in Spanish and English
    budgets                     what pays for a visit
    announcements               who announced what, and how often that was true
    outages                     visits without an answer, hosts that are down
    answered_visit              what the engine tells of a visit; units of time

Besides:
    signals                     what comes in from hubs, IndexNow and webhooks
    notices, change_feeds       what goes out: mail and messengers (Apprise), webhooks, RSS and Atom
    saved_searches              queries whose new results are told
    observations                lessons from the archive; the planner learned anew; its file; calibration
    requisite_checks            styles and pictures of watched pages, looked at again
    site_reports                rounds, admission, storage, weekdays, exceptional days …
    site_metrics                what watching brought and what it cost
    chores                      the process that does all this which is not the engine's work

It must never write pages or captures: visits go through the frontier, bytes through ingest.
"""
