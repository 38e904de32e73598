"""The loop: lease → fetch → ingest → commit, in one process that owns the writes and a few that read pages.

loop             the engine: it holds all parts, and each part gets the engine;  runs: a crawl under way
orders           what people and subscriptions ask: crawls to begin, stop and end, settings of sites, pages due

The way of a visit:
visits           leased, admitted, fetched, then handed to intake, tried later or ended;  reason_codes: why
robots_visits    robots.txt on its way, while the visit that needs it keeps its lease
browser_visits   visits by browser;  rendering: the browser itself
intake           captures on their way through the ingest processes
sinks            what takes the finds of ingest: archive, noise, frontier, search, links, watch, other rooms
ledger           one commit: what all sinks write together

Beside it: rebuild (captures of the archive read again: after an import, a crash, for a new index), search_upkeep (link
ranks, suggestions), job_kinds (long work of several rooms together), overview (what `hemeroteca status`, API and
console show of all this).
"""
