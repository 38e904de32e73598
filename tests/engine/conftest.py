from collections.abc import Iterator

import pytest

from tests.engine.system import System
from tests.fetch.browser_site import Site


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.server.close()


@pytest.fixture
def system(tmp_path, site) -> System:
    """On a machine without the extra `[browser]`."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['playwright'] = None\n")
    system = System(tmp_path / "data", resolve=f"*.site.test=127.0.0.1:{site.port}", delay=0)
    system.environment["PYTHONPATH"] = f"{tmp_path}:{system.environment.get('PYTHONPATH', '')}"
    return system
