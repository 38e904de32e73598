"""The archive: the index of captures, their versions, and exchange with other tools. The bytes are the room `warc`'s.

captures       captures on their way in: records appended, rows that wait for the commit
payloads       which payloads the archive has already;  versions: which captures differ from the one before
importing      archives of other tools taken in;  revisits: what repeats, and its original
uploads        files sent over the network in parts, then imported;  notes: tags and notes of pages
export         captures handed out;  wacz: WACZ written and read, with zipnum;  drafts: files on their way
selection      which captures an export or a pruning is about;  requisites: what their pages need to be shown
queries        the index asked by URL, time, digest;  services: its only writer;  cdx, memento: its protocols
lookup         addresses and versions for people;  content, rendered: what a capture holds, and two compared
verify         files and index checked against each other;  prune: what tells nothing new goes
erasure        what must go, with reason and audit;  offload: closed files brought to a store
capture_rows   captures as the index knows them;  single_file: a page as one document;  job_kinds: long work
learned_noise  what differs at every visit of a site;  stats: numbers;  citation: how to cite a capture
"""
