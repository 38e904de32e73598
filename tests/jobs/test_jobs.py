"""A job is ordered, runs, tells how far it is, can be cancelled and resumed, and is never run by two at once."""

import os
import subprocess
import sys
import threading

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from hemeroteca.accounts import STRANGER, SYSTEM, Actor, PermissionDenied, Role, audit
from hemeroteca.errors import Conflict, Invalid, NotFound
from hemeroteca.jobs import queries, services, workers
from hemeroteca.jobs.models import Job
from hemeroteca.jobs.runner import FolderBusy, Runner, follow
from tests.jobs.work import Count, Nothing

pytestmark = [pytest.mark.django_db, pytest.mark.database]
READER = Actor("rita", roles=(Role.READER,))


def count(to: int = 10, here: bool = False) -> Job:
    return services.submit(SYSTEM, "test.count", Count(to), here=here)


def test_a_job_runs_and_keeps_its_result():
    seen = []
    job = Runner().run(count(here=True), lambda *state: seen.append(state))
    assert (job.state, job.result, job.done, job.total) == ("done", {"total": 55}, 10, 10)
    assert seen == [(step, 10, f"at {step}") for step in range(1, 11)]
    assert job.checkpoint is None


def test_what_is_done_was_done_whole():
    job = Runner().run(services.submit(SYSTEM, "test.beginnings", Count(3), here=True))
    assert (job.state, job.done, job.total) == ("done", 3, 3)


def test_a_queued_job_is_run_by_a_worker():
    first, second = count(3), count(4)
    assert Runner().drain(exclusive=False) == 2
    assert [queries.find(SYSTEM, job.pk).result for job in (first, second)] == [{"total": 6}, {"total": 10}]


def test_jobs_that_people_order_stand_in_the_audit_log(django_user_model):
    person = Actor.of(django_user_model.objects.create(name="ana", role=Role.ADMINISTRATOR))
    ordered = services.submit(person, "test.count", Count(1))
    by_command = [count(here=True), count()]  # done there, or left to `hemeroteca serve`
    services.submit(SYSTEM, "test.count", Count(1), by_itself=True)  # by the clock
    noted = {(entry.who, entry.thing, entry.detail) for entry in audit.entries(SYSTEM, act="job ordered")}
    assert noted == {
        ("ana", "test.count", str(ordered.pk)),
        *(("system", "test.count", str(job.pk)) for job in by_command),
    }


def test_an_order_loads_its_own_room_only():
    """Those of all others cost half a second of every order."""
    program = (
        "import django, sys; django.setup(); from hemeroteca.jobs import kinds; kinds.find('wiki.extract'); "
        "print(sorted(name for name in sys.modules if name.endswith('.job_kinds')))"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "hemeroteca.django_settings"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['hemeroteca.wiki.job_kinds']"


def test_wrong_orders_are_refused():
    with pytest.raises(Invalid, match=r"no kind of job 'test.none'"):
        services.submit(SYSTEM, "test.none", Nothing())
    with pytest.raises(Invalid, match=r"arguments of test\.count"):
        services.submit(SYSTEM, "test.count", {"to": "many"})
    with pytest.raises(Invalid, match=r"test\.count has no argument 'too'; there are to, folder"):
        services.submit(SYSTEM, "test.count", {"to": 1, "too": 2})
    for actor in (READER, STRANGER):
        with pytest.raises(PermissionDenied):
            services.submit(actor, "test.count", Count(1))
    with pytest.raises(NotFound, match="there is no job 99"):
        queries.find(SYSTEM, 99)
    assert not Job.objects.exists()


def test_people_see_their_own_jobs(django_user_model):
    user = django_user_model.objects.create(name="ana", role="reader")
    mine = count()
    Job.objects.filter(pk=mine.pk).update(owner=user)
    other = count()
    ana = Actor("ana", user, (Role.READER,))
    assert [job.pk for job in queries.recent(ana)] == [mine.pk]
    assert queries.find(ana, mine.pk).pk == mine.pk
    with pytest.raises(PermissionDenied):
        queries.find(ana, other.pk)
    with pytest.raises(PermissionDenied):
        services.cancel(READER, other.pk)
    with pytest.raises(PermissionDenied):
        queries.recent(STRANGER)
    assert services.cancel(ana, mine.pk).state == "cancelled"


def test_a_failure_is_told_with_its_trace():
    job = Runner().run(services.submit(SYSTEM, "test.broken", Nothing(), here=True))
    assert (job.state, job.message, job.code) == ("failed", "RuntimeError: a part is missing", "internal")
    assert "Traceback" in queries.log(SYSTEM, job.pk)[0].text


def test_where_files_lie_on_the_server_is_told_to_operators_only():
    data = settings.INSTANCE.data
    job = count()
    target, result = f"{data}/exports/a.wacz", {"file": "/srv/elsewhere/b.wacz", "notes": ["/srv/elsewhere/c"]}
    message = f"no room in {data}/warc/1.warc.gz; https://example.org/srv/elsewhere stays"
    Job.objects.filter(pk=job.pk).update(arguments={"order": {"target": target}}, result=result, message=message)
    services.add_line(job, f"wrote {target}")
    services.add_line(job, f'Traceback (most recent call last):\n  File "/opt/x.py"\nOSError: {data}/index is full\n')
    director = Actor("eva", roles=(Role.DIRECTOR,))
    shown = queries.facts(director, queries.find(director, job.pk))
    assert shown.arguments == {"order": {"target": "a.wacz"}}
    assert shown.result == {"file": "b.wacz", "notes": ["c"]}
    assert shown.message == "no room in warc/1.warc.gz; https://example.org/srv/elsewhere stays"
    assert [line.text for line in queries.log(director, job.pk)] == ["wrote a.wacz", "OSError: index is full"]
    whole = queries.facts(SYSTEM, queries.find(SYSTEM, job.pk))
    assert (whole.arguments["order"]["target"], whole.result, whole.message) == (target, result, message)
    assert "Traceback" in queries.log(SYSTEM, job.pk)[1].text


def test_a_queued_job_is_cancelled_at_once_and_resumed():
    job = services.cancel(SYSTEM, count().pk)
    assert job.state == "cancelled"
    assert Runner().drain(exclusive=False) == 0
    with pytest.raises(Conflict, match="has ended"):
        services.cancel(SYSTEM, job.pk)
    services.resume(SYSTEM, job.pk)
    assert Runner().drain(exclusive=False) == 1
    assert queries.find(SYSTEM, job.pk).result == {"total": 55}
    with pytest.raises(Conflict, match="it is done"):
        services.resume(SYSTEM, job.pk)


def test_a_running_job_ends_at_its_next_step_and_goes_on_from_there():
    job = count(here=True)

    def show(done: int, total: int | None, message: str) -> None:
        if done == 4:
            services.cancel(SYSTEM, job.pk)
            active.append(done)

    active: list[int] = []
    runner = Runner()
    Job.objects.filter(pk=job.pk).update(lease_ms=0)  # long ago: the next step writes at once
    ended = runner.run(job, lambda *state: (show(*state), runner.cancel() if state[0] == 4 else None))
    assert (ended.state, ended.checkpoint) == ("cancelled", [3, 6])
    again: list[int] = []
    done = Runner().run(services.resume(SYSTEM, job.pk, here=True), lambda at, *_: again.append(at))
    assert (done.state, done.result) == ("done", {"total": 55})
    assert again == [4, 5, 6, 7, 8, 9, 10]


def test_a_worker_that_is_asked_to_stop_gives_its_job_back():
    job = count(here=True)
    runner = Runner()
    stopped = runner.run(job, lambda at, *_: runner.stop() if at == 2 else None)
    assert (stopped.state, stopped.worker) == ("queued", "")
    assert Runner().drain(exclusive=False) == 1
    assert queries.find(SYSTEM, job.pk).result == {"total": 55}


def test_a_job_of_another_machine_is_taken_when_its_lease_has_ended():
    job = count()
    others = Job.objects.filter(pk=job.pk)
    others.update(state="running", worker="elsewhere:1:1", lease_ms=services.now_ms() + 60_000)
    assert services.claim() is None
    with pytest.raises(Conflict):
        services.resume(SYSTEM, job.pk)
    others.update(lease_ms=services.now_ms() - 1)
    assert queries.facts(SYSTEM, queries.find(SYSTEM, job.pk)).state == "queued"
    claimed = services.claim()
    assert claimed is not None
    assert claimed.worker == workers.name()
    assert services.claim() is None


def test_who_lost_its_lease_writes_nothing_more():
    job = count(here=True)

    def stolen(at: int, *_: object) -> None:
        if at == 2:
            Job.objects.filter(pk=job.pk).update(worker="elsewhere:1:1")
            runner.stop()

    runner = Runner()
    runner.run(job, stolen)
    found = queries.find(SYSTEM, job.pk)
    assert (found.state, found.worker) == ("running", "elsewhere:1:1")


def test_a_job_that_kills_its_workers_fails():
    job = count()
    Job.objects.filter(pk=job.pk).update(state="running", worker="elsewhere:1:1", attempts=services.MAX_ATTEMPTS)
    assert services.claim() is None
    found = queries.find(SYSTEM, job.pk)
    assert found.state == "failed"
    assert "ended 5 times" in found.message


def test_a_forsaken_job_can_be_cancelled():
    job = count()
    Job.objects.filter(pk=job.pk).update(state="running", worker="elsewhere:1:1")
    assert services.cancel(SYSTEM, job.pk).state == "cancelled"


def test_what_needs_the_folder_alone_waits_for_the_engine():
    job = services.submit(SYSTEM, "test.alone", Nothing(), here=True)
    lock = settings.INSTANCE.lock_engine()
    assert lock is not None
    with lock:
        with pytest.raises(FolderBusy):
            Runner().run(job)
        assert queries.find(SYSTEM, job.pk).state == "queued"
        assert Runner().drain(exclusive=False) == 0
        assert Runner().drain(exclusive=True, locked=True) == 1  # the engine itself
    assert [line.text for line in queries.log(SYSTEM, job.pk)] == ["nobody else is here"]


def test_whoever_follows_a_job_that_nobody_will_run_does_it():
    job = count()
    assert follow(job.pk).result == {"total": 55}


def test_a_log_is_bounded(monkeypatch):
    monkeypatch.setattr(services, "MAX_LINES", 20)
    job = count()
    for number in range(250):
        services.add_line(job, str(number))
    lines = [line.text for line in queries.log(SYSTEM, job.pk)]
    assert lines[-1] == "249"
    assert len(lines) <= 120


@pytest.mark.django_db(transaction=True)
def test_of_many_who_try_one_gets_a_job():
    for _ in range(5):
        count()
    taken: list[int] = []
    start = threading.Barrier(4)

    def take() -> None:
        start.wait()
        ended = False
        while not ended:
            try:
                job = services.claim()
            except OperationalError as error:
                if "table is locked" not in str(error):  # a file makes others wait; a database in memory, as here, not
                    raise
                continue
            ended = job is None
            taken.extend([] if job is None else [job.pk])
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(Job.objects.values_list("pk", flat=True))


def test_no_more_jobs_of_a_kind_run_at_once_than_may(monkeypatch):
    import dataclasses

    limited = dataclasses.replace(settings.CONFIG, job_limits=("test.count=1", "nonsense", "x=y"))
    monkeypatch.setattr(settings, "CONFIG", limited)
    assert queries.limits() == {"test.count": 1}
    first, second = count(3), count(4)
    claimed = services.claim(exclusive=False)
    assert claimed is not None
    assert claimed.pk == first.pk
    assert services.claim(exclusive=False) is None, "the second one of the kind waits"
    Runner().run(claimed)
    taken = services.claim(exclusive=False)
    assert taken is not None
    assert taken.pk == second.pk
