"""Focused crawling: which links lead to what a crawl looks for. No Django, no database, no network.

A *focus* says what a crawl looks for: terms, a thesaurus, hints in addresses, and targets. While a page is read
(`ingest`), the focus gives its relevance and the cues of its links; a *strategy* makes a score of the cues, by which
the frontier orders its visits; what a visited page was worth goes back to the strategy.

definition      the focus as a person writes it: `Definition`, a TOML file; `geo` is built in
thesaurus       SKOS files, read once and kept compiled
matcher         which terms occur in a text, in one pass
relevance       how much a page, a link and an address have to do with the focus, from 0 to 1
targets         which captures are what the crawl looks for
strategies      which link goes first: Shark-Search, Fish-Search, keywords, best-first, learned, focused
learned_scores  the classifier that learns during the crawl which links lead to targets
"""
