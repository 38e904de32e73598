"""The complete list of monsters; importing it puts them all in their cages."""

from simweb.zoo import content, transport, traps  # noqa: F401  (each module registers its monsters)
from simweb.zoo.cage import ALL, ZOO_HOST, Monster

MONSTERS: tuple[Monster, ...] = tuple(ALL)

_FORBIDDEN = {
    ZOO_HOST: "/prohibido/",
    "zoo-robots.sim.test": "/secreto/",
    "zoo-million.sim.test": "/l/",
    "zoo-robots-silent.sim.test": "/",
}


def forbids(host: str, target: str) -> bool:
    """Whether the host's robots.txt (as far as a robot must read it) forbids the path."""
    prefix = _FORBIDDEN.get(host)
    return bool(prefix) and target != "/robots.txt" and target.startswith(str(prefix))
