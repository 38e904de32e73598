"""Pages for people: search, archived copies, live status, crawls. Spanish and English, without a build step.

    routes      every address, in one list
    views       one function per page; they only ask other rooms and fill a template
    middleware  the Host check and the headers that protect the reader
    web         the process that serves it all

Everything shown was written by strangers: templates escape, the policy forbids scripts that are not ours, and archived
pages only ever appear as text or in a sandbox without scripts and without an origin.
"""
