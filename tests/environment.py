"""Loaded by pytest before Django: every test process gets a data folder of its own and no settings of the person's, nor
proxies of the machine's."""

import atexit
import os
import shutil
import tempfile

for name in list(os.environ):
    if name.startswith("HEMEROTECA_") and name not in ("HEMEROTECA_DATABASE", "HEMEROTECA_NATIVE"):
        del os.environ[name]
for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):  # every test talks to this machine only
    os.environ.pop(name, None)
    os.environ.pop(name.upper(), None)
_folder = tempfile.mkdtemp(prefix="hemeroteca-test-")
_owner = os.getpid()
os.environ["HEMEROTECA_DATA"] = os.path.join(_folder, "data")
os.environ["HEMEROTECA_CONFIG"] = os.devnull  # an empty file: not the one of whoever runs the tests
os.environ["HEMEROTECA_ALLOW_PRIVATE"] = "1"


@atexit.register
def _clean() -> None:
    if os.getpid() == _owner:
        shutil.rmtree(_folder, ignore_errors=True)
