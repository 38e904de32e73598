"""Tables of histories as Parquet files, and the engines that read them. No Django, no database, no network.

A table is a set of immutable files named by a *manifest*, which the caller keeps (the room `wiki` keeps it in the
database, so that a commit is one transaction). Rows that replace earlier ones lie in files marked `updates` until
compaction works them in.

    revisions        what a row is: Revision, Text, Event; their Parquet schemas; buckets
    files            where the files rest: a folder, or an object store with the folder as its cache
    manifest         which files count, and the articles beside them
    parquet          files written from rows, and several files made into one
    query_engine     tables of a manifest in Ibis, over DuckDB or Spark
    pipeline         aggregation pipelines ($match, $group, …) as Ibis expressions
    sandbox          SQL of strangers: one SELECT, in a process that can open nothing
    sandbox_process  that process

Import its modules where they are used: pyarrow, DuckDB and Ibis take a second to load.
"""
