"""Loaded by pytest before Django: every test process gets a data folder of its own, and nothing of what whoever runs
the tests has set for themselves or their machine."""

import atexit
import os
import shutil
import tempfile

FOREIGN = {
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),  # every test talks to this machine only
    *("columns", "lines", "force_color", "clicolor_force", "py_colors", "no_color", "github_actions"),  # output
    "django_settings_module",
}
THOROUGH = bool(os.environ.get("THOROUGH"))  # more kills, larger sites: before a release, not at every change
OURS = ("HEMEROTECA_DATABASE", "HEMEROTECA_NATIVE")

for name in list(os.environ):
    if name.lower() in FOREIGN or (name.startswith("HEMEROTECA_") and name not in OURS):
        del os.environ[name]
_folder = tempfile.mkdtemp(prefix="hemeroteca-test-")
_owner = os.getpid()
os.environ["HEMEROTECA_DATA"] = os.path.join(_folder, "data")
os.environ["HEMEROTECA_CONFIG"] = os.devnull  # an empty file: not the one of whoever runs the tests
os.environ["HEMEROTECA_ALLOW_PRIVATE"] = "1"


@atexit.register
def _clean() -> None:
    if os.getpid() == _owner:
        shutil.rmtree(_folder, ignore_errors=True)
