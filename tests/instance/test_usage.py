import os
import subprocess
import sys

from hemeroteca import usage

LARGE = 200 << 20


def test_a_process_does_not_count_the_memory_of_the_one_that_started_it():
    large = bytearray(os.urandom(1)) * LARGE
    command = [sys.executable, "-c", "from hemeroteca import usage; print(usage.own_peak_bytes())"]
    peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 1 << 20 < peak < LARGE < len(large) + 1


def test_a_process_that_is_gone_uses_nothing():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert usage.resident_bytes(child.pid) == usage.peak_bytes(child.pid) == usage.cpu_seconds(child.pid) == 0


def test_what_a_process_uses_grows_with_its_work():
    before = usage.cpu_seconds(os.getpid())
    while usage.own_cpu_seconds() < before + 0.1:
        sum(range(10_000))
    assert usage.cpu_seconds(os.getpid()) > before
    assert usage.peak_bytes(os.getpid()) >= usage.resident_bytes(os.getpid()) > 0
