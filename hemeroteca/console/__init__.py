"""Pages for people: search, archived copies, live status, crawls. Spanish and English, without a build step.

    routes       every page with its permission, in one list
    search (results), archive, operations, account      one module per area; they ask other rooms and fill a template
    site_figures the figures of a watched site;  charts: how they are drawn
    error_pages  errors as pages
    reasons      why a page was not captured, in the reader's language
    refusals     what a service refused, in the reader's language
    context, templatetags      what templates may use
    middleware   the Host check and the headers that protect the reader
    web, wsgi    the process that serves it all

Everything shown was written by strangers: templates escape, the policy forbids scripts that are not ours, and archived
pages only ever appear as text or in a sandbox without scripts and without an origin.
"""
