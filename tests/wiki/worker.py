"""`python -m tests.wiki.worker order|work|dump …`: a worker in a process of its own that can be killed at any step.

With DIE=n it kills itself, as `kill -9` would, at the n-th step: before and after a file is written, inside the
transaction of a commit, and after it.
"""

import os
import signal
import sys

import django

STEPS = {"left": int(os.environ.get("DIE", "0"))}


def step() -> None:
    STEPS["left"] -= 1
    if STEPS["left"] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def mortal(function):
    def wrapped(*args, **kwargs):
        step()
        result = function(*args, **kwargs)
        step()
        return result

    return wrapped


def main() -> None:
    django.setup()
    from hemeroteca.accounts import SYSTEM
    from hemeroteca.instance import schema
    from hemeroteca.jobs import services
    from hemeroteca.jobs.models import Job
    from hemeroteca.jobs.runner import Runner
    from hemeroteca.lake.files import LakeFiles
    from hemeroteca.wiki import all_revisions, commits, extraction
    from hemeroteca.wiki.job_kinds import Extract

    schema.prepare()
    commits.MAX_ROWS, extraction.AT_ONCE, all_revisions.AT_ONCE = 15, "20", "20"
    verb, *words = sys.argv[1:]
    if verb == "order":
        order = Extract(wiki=words[0], titles=words[1:], text=True, whole=not words[1:])
        services.submit(SYSTEM, "wiki.extract", order)
    elif verb == "work":
        LakeFiles.put = mortal(LakeFiles.put)
        commits._go_live = mortal(commits._go_live)
        commits.commit = mortal(commits.commit)
        for job in Job.objects.filter(state="failed"):
            services.resume(SYSTEM, job.pk)
        Runner().drain(exclusive=False)
        sys.exit(0 if not Job.objects.exclude(state="done").exists() else 3)
    else:
        print_store()


def print_store() -> None:
    """Everything that is kept, in an order of its own, without when it was kept."""
    import msgspec

    from hemeroteca.wiki import queries
    from hemeroteca.wiki.models import Article

    with queries.opened() as lake:
        moments = ("extraction_date", "version")
        for name in ("revisions", "texts", "events", "earlier"):
            table = lake.table(name)
            table = table.drop(*[column for column in moments if column in table.columns])
            rows = sorted(msgspec.json.encode(row, order="deterministic") for row in lake.rows(table))
            for row in rows:
                print(name, row.decode())
    fields = ("title", "pageid", "last_revision", "revisions", "complete", "text_complete", "limited", "categories")
    for row in Article.objects.order_by("pageid").values_list(*fields):
        print("article", row)


if __name__ == "__main__":
    main()
