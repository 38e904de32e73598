"""Makes the environment that replay runs in: pywb's pinned packages would break ours.

Why: docs/decisions/0063-replay.md.

python -m hemeroteca.replay.install              beside the environment of this Python: .venv -> .venv-replay
python -m hemeroteca.replay.install FOLDER       elsewhere; then set `replay_python` to FOLDER/bin/python
"""

import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else beside()
    python = folder / "bin" / "python"
    done = folder / "installed.txt"
    wanted = REQUIREMENTS.read_text("utf-8")
    if done.exists() and done.read_text("utf-8") == wanted:
        return 0
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        if subprocess.run([str(python), "-m", "pip", "--version"], capture_output=True).returncode:
            subprocess.run([str(python), "-m", "ensurepip"], check=True)  # the making of it was interrupted
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        subprocess.run([str(python), "-c", "import pywb.apps.rewriterapp"], check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        print(
            f"Replay could not be installed in {folder} ({error}). Everything else works; archived pages are shown "
            "without scripts. The same command tries again.",
            file=sys.stderr,
        )
        return 1
    done.write_text(wanted, "utf-8")
    return 0


def beside() -> Path:
    """The folder next to the environment of this Python."""
    prefix = Path(sys.prefix)
    return prefix.with_name(prefix.name + "-replay")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
