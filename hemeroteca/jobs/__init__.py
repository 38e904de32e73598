"""Long work that people order: imports, exports, checks, backups, rebuilds, learning, simulations.

A job is a row: kind, arguments, who ordered it, state, progress, message, result, log. It runs in the command that
ordered it or in `hemeroteca serve`, can be cancelled, and is done again from its beginning (or its checkpoint) when the
process that ran it was killed: a row that says "running" counts as queued when its process is gone or its lease ended.

kinds      what can be ordered: a function registered with `@kind("archive.verify")`, in the `jobs` module of its room
services   submit, cancel, resume; the only writer of the table
queries    find and list jobs, read their logs
runner     claim a job, run it, follow one that runs elsewhere
__main__   the process that `hemeroteca serve` starts when something is queued, and that ends when nothing is
models     the tables
"""

from hemeroteca.jobs.kinds import ActiveJob as ActiveJob
from hemeroteca.jobs.kinds import Interrupted as Interrupted
from hemeroteca.jobs.kinds import Kind as Kind
from hemeroteca.jobs.kinds import kind as kind
