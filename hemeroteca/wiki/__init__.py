"""Histories of MediaWiki articles: every revision extracted, kept in the lake, kept up to date, counted and measured.

    models, services, queries   tables, what can be done, what can be asked
    wiki_address                which wiki is meant: article URL, API URL or language; which farm it belongs to
    budget                      one budget of requests per farm, shared by all workers through the database
    mediawiki                   the API of a wiki, on the fetch room
    answers                     what MediaWiki answers, in any of its versions, as revisions, pages and events
    scraping                    where the API is closed: Special:Export, then the pages of histories; obeys robots.txt
    dumps                       XML dumps, and Wikimedia's history dumps in TSV
    titles                      which articles an order is about: titles looked up, categories, searches
    extraction                  articles read from a wiki into the lake; resumable, nothing twice
    kept_history                what the lake holds of an article already
    all_revisions               all articles of a wiki, 500 revisions in a request
    commits                     files into the lake: one transaction, several writers; compaction
    free_queries                SQL and pipelines of whoever may;  answer_cache: answers kept until the next commit
    query_process               questions of the web process, which must stay small, in a process of their own
    filters                     what revisions a question is about
    metrics                     numbers about articles, in Ibis
    reverts, authorship         who undid whom, whose words stayed; pure
    countries                   where editors without an account were, by a file of the operator
    schedule, streams           when an article is looked at again; what the wiki itself announces
    upkeep                      the process of `serve` that keeps articles up to date
    history_export              XML, Parquet, CSV
    job_kinds                   all of this as long work

It must never fetch but through `mediawiki`, which knows the budget, nor write a file of the lake but through `commits`.
"""
