"""Long work of watching: learning from the archive."""

import msgspec
from django.conf import settings

from hemeroteca.jobs import ActiveJob, kind


class Learn(msgspec.Struct):
    subscription: int


class Learned(msgspec.Struct):
    observations: int


@kind("watch.learn", remote=True)
def learn_from_archive(job: ActiveJob, order: Learn) -> Learned:
    """Observations that are known are not made again."""
    from hemeroteca.watch import observations, services

    count = observations.learn_from_archive(services.find(order.subscription), job.progress)
    if count:
        job.progress(count, count, "planning")
        observations.keep(settings.INSTANCE.data, *observations.rebuild())
    return Learned(count)
