"""Capture → Ingested: the one way in, for crawl, browser, import and rebuild alike. No database here.

    found = ingest(capture, Rules(key=urls.key(url), host=urls.host(url)))

ingestion    `ingest`, and `Ingest` for many captures
rules        `Rules`, what it must know besides the capture: of the crawl, the site, the version before
ingested     `Ingested`, what it finds: records, document, candidates, edges, difference, finds of other rooms
search_document   a page as search sees it;  candidates: where it leads
difference   how it changed
pool         the processes that run it (worker), driven by the engine's selector
"""
