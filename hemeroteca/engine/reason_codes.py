"""Why a page failed or was left out: in words for people, and as the code they are counted by."""

from hemeroteca.fetch import Result

PASSING = {429, 500, 502, 503, 504}  # statuses worth another try
BUSY = {429, 503}  # statuses that ask us to go away for a while


def failure_text(result: Result) -> str:
    if result.failure:
        return f"{result.failure}: {result.detail}" if result.detail else result.failure
    return f"http-{result.status}"


def code(reason: str) -> str:
    if reason.startswith("robots.txt of "):
        return "robots"
    return reason.partition(":")[0].partition(";")[0].partition(" after ")[0].strip()[:60]
