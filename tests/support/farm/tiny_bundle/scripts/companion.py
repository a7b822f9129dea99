"""Enter or exit the step's environment: a process of its own session that outlives the action, as a server would.

`enter-fails` in the switches' folder makes one onEnter fail, and is used up by it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path


def enter(switches: Path) -> int:
    """Start the companion and tell the session its process id."""
    if (broken := switches / "enter-fails").exists():
        broken.unlink()
        print("openjd_fail: the companion would not start", flush=True)
        return 3
    quiet = subprocess.DEVNULL
    companion = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        start_new_session=True,
    )
    (switches / f"companion-{companion.pid}").touch()
    print(f"openjd_env: COMPANION={companion.pid}", flush=True)
    return 0


def leave() -> int:
    """End the companion, if it was ever started."""
    if companion := os.environ.get("COMPANION"):
        os.killpg(int(companion), signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(enter(Path(sys.argv[2])) if sys.argv[1] == "enter" else leave())
