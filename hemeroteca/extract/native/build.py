"""Compiles the fast path: `python -m hemeroteca.extract.native`. Needs `rustc` and nothing else."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

_HERE = Path(__file__).resolve().parent
LIBRARY = _HERE / "_fast.so"
_OPTIONS = (
    *("--edition", "2021", "--crate-type", "cdylib", "--crate-name", "hemeroteca_fast"),
    *(
        "-C",
        "opt-level=3",
        "-C",
        "codegen-units=1",
        "-C",
        "lto=fat",
        "-C",
        "panic=unwind",
        "-C",
        "overflow-checks=on",
        "-C",
        "strip=symbols",
    ),
)
SECONDS = 600


def version() -> str:
    """Of the sources: a library made of others is not used."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(_HERE.rglob("*.rs")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _toolchain(compiler: str) -> dict[str, str]:
    """A `rustc` of rustup has its toolchain beside it; with another home than its owner's it must be told."""
    home = Path(compiler).parents[2] / ".rustup"
    return {"RUSTUP_HOME": str(home)} if home.is_dir() else {}


def build() -> str:
    """Make the library. Returns the reason if it could not be made; pages are then read without it, only slower."""
    compiler = shutil.which("rustc")
    if compiler is None:
        return "there is no rustc on the path"
    made = LIBRARY.with_suffix(f".{os.getpid()}.tmp")
    try:
        subprocess.run(
            [compiler, *_OPTIONS, "-o", str(made), str(_HERE / "lib.rs")],
            env={**_toolchain(compiler), **os.environ, "HEMEROTECA_NATIVE_VERSION": version()},
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )
        made.replace(LIBRARY)
    except subprocess.CalledProcessError as error:
        return f"rustc failed: {error.stderr.decode('utf-8', 'replace').strip()[-2000:]}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"rustc failed: {error}"
    finally:
        made.unlink(missing_ok=True)
    return ""


def built() -> bool:
    """Whether there is a library of these sources."""
    try:
        return version().encode() in LIBRARY.read_bytes()
    except OSError:
        return False


def main() -> None:
    """Build it unless it is built; one line says what became of it."""
    reason = "" if built() else build()
    if reason:
        print(f"Pages will be read without the compiled fast path, several times slower: {reason}")
    else:
        print("Pages are read by the compiled fast path.")
