"""Compiles the fast path for HTML when the package is built or installed and `rustc` is there; goes on without it."""

import importlib.util
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = Path("hemeroteca") / "extract" / "native"


class Hook(BuildHookInterface):
    """For wheels and for editable installations; a source distribution carries the sources only."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        spec = importlib.util.spec_from_file_location("native_build", Path(self.root) / NATIVE / "build.py")
        assert spec is not None
        assert spec.loader is not None
        native = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(native)
        reason = native.build()
        if reason:
            self.app.display_warning(
                f"HTML will be read without the compiled fast path, several times slower: {reason}"
            )
            native.LIBRARY.unlink(missing_ok=True)
            return
        build_data["artifacts"].append(str(NATIVE / native.LIBRARY.name))
        build_data["pure_python"] = False
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{machine}"  # the library asks nothing of Python, only of the machine
