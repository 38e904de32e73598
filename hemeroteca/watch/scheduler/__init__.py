"""Which pages are visited now, and what their visits taught.

Lives in the engine's process and thread: `due` about once a second, `observed` and `failed` for every visit of a
standing crawl, `write` inside the engine's transaction. Predictions come from `predict`; here they meet budgets, time
windows, hosts that are down and signals. A page is visited when its chance of an important change is worth it, or, in a
subscription with a budget of its own, when it is the best use of the next visit; and never later than its maximum.

What keeps it calm: budgets are saved up for minutes only, a host has few pages waiting at a time, one that is down gets
a single probe, and nothing here depends on how long ago the clock or the instance stood still.

    scheduler      what the engine asks and tells; everything begins there
    state          subscriptions and pages as the others share them
    subscriptions  subscriptions that come, change and go
    choosing       the pages that are visited now
    ways           what brings them: listings, policies, signals, the planner
    planning       the planner: its pages, its lessons, its file
    new_pages      pages whose habits nobody knows yet
    announcements  signals, feeds and sitemaps: who announced what, and was it true
    named_pages    pages nobody knows but a signal
    budgets        the budgets in force, and what pays for a visit
    underway       visits that have not ended yet
    failures       visits without an answer
    explaining     why now, and when next
    waits          used-up budgets and shut windows, told to people
"""

from hemeroteca.watch.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
