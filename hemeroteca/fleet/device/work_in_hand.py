"""What a device has in hand: blocks, the URLs of each, and their hosts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from hemeroteca.fleet.device.result_file import ResultFile


@dataclass
class HeldBlock:
    number: int
    nonce: str
    deadline: float  # monotonic
    seconds: float
    signed: float  # monotonic: until then its signatures are good
    timeout: float
    left: int  # tasks that have not ended
    results: ResultFile
    dropped: bool = False


@dataclass
class UrlInHand:
    url: str
    block: HeldBlock
    method: str
    headers: list[tuple[str, str]]
    signature: list[tuple[str, str]]
    certificate: bool = False


@dataclass
class DeviceHost:
    name: str
    jobs: deque[UrlInHand] = field(default_factory=deque)
    at: float = 0.0  # monotonic: not before
    busy: bool = False
    delay: float = 1.0
    factor: float = 0.0
    max_delay: float = 30.0
    network: str = ""  # where it answered from last time, when that is public
