"""Long work of watching: learning from the archive, simulating policies, calibrating predictions."""

from typing import Any

import msgspec
from django.conf import settings

from hemeroteca.errors import Invalid
from hemeroteca.jobs import ActiveJob, kind
from hemeroteca.predict.experiment import Experiment


class Learn(msgspec.Struct):
    subscription: int


class LearnReport(msgspec.Struct):
    observations: int


@kind("watch.learn", remote=True)
def learn_from_archive(job: ActiveJob, order: Learn) -> LearnReport:
    """Observations that are known are not made again."""
    from hemeroteca.watch import observations, services

    return _learned(job, observations.learn_from_archive(services.find(order.subscription), job.progress))


class LearnCdx(msgspec.Struct):
    subscription: int
    cdx: str  # file of this machine, or address, of another archive's index


@kind("watch.learn_cdx", action="watch.learn")
def learn_from_cdx(job: ActiveJob, order: LearnCdx) -> LearnReport:
    """Dates of another archive: a new subscription begins with what it knows."""
    from hemeroteca.watch import observations, services

    lines = observations.read_cdx(order.cdx)
    return _learned(job, observations.learn_from_cdx(services.find(order.subscription), lines))


def _learned(job: ActiveJob, count: int) -> LearnReport:
    from hemeroteca.watch import observations

    if count:
        job.progress(count, count, "planning")
        observations.keep(settings.INSTANCE.data, *observations.rebuild())
    return LearnReport(count)


class Simulated(msgspec.Struct):
    facts: dict[str, Any]


@kind("predict.simulate")
def simulate(job: ActiveJob, order: Experiment) -> Simulated:
    """What policies would have seen, on files, processes, or the history of a subscription."""
    from hemeroteca.predict import experiment
    from hemeroteca.watch import observations, services

    own = None
    if order.subscription is not None:
        subscription = services.find(order.subscription)
        own, first = observations.trace_of(subscription)
        order = msgspec.structs.replace(
            order, start=order.start or first, country=order.country or subscription.country
        )
    try:
        runs = experiment.run(order, own, progress=lambda name, done, of: job.progress(done, of, name))
    except ValueError as error:
        raise Invalid(str(error))
    return Simulated(experiment.facts(runs))


class Calibrate(msgspec.Struct):
    bins: int = 10
    keep: bool = True  # the engine goes on with what was learned


class Calibrated(msgspec.Struct):
    facts: dict[str, Any]


@kind("predict.calibrate", remote=True)
def calibrate(job: ActiveJob, order: Calibrate) -> Calibrated:
    """Learn from the whole history, and compare what was predicted with what came."""
    from hemeroteca.watch import observations

    if not 2 <= order.bins <= 50:
        raise Invalid(f"bins must lie between 2 and 50, not {order.bins}")
    planner, last, found = observations.calibrated(job.progress, bins=order.bins)
    if not found.visits:
        raise Invalid("there is no history to learn from yet; watch pages or import an archive first")
    if order.keep:
        observations.keep(settings.INSTANCE.data, planner, last)
    return Calibrated(msgspec.to_builtins(found) | {"error": found.error})
