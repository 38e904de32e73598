"""One instance: its data folder, and what keeps it whole. Knows no other room that has tables.

public_url   where others find it: in mail, notices, feeds and what commands print
folder       where each thing lies, the secret key, and the locks (one engine, one server, one import)
schema       which apps a process loads; their tables: made from the models in SQLite, else by the migrations
backup       a whole copy of the folder while the engine writes to it
spool        large bodies on their way
status       what the engine tells about itself while it runs
supervisor   the processes of `hemeroteca serve`: started, restarted, stopped
"""

from hemeroteca.instance.folder import Instance as Instance
