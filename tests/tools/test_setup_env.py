"""setup_env: locks that can be trusted, environments made once, and refusals in plain words."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

import setup_env

LOCKS = sorted(setup_env.REQUIREMENTS.glob("*.lock"))
INPUTS = sorted(setup_env.REQUIREMENTS.glob("*.in"))


def requirements(lock: Path) -> list[str]:
    """Return each requirement of a lock with its hashes, on one line."""
    text = re.sub(r"^#.*\n", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return text.replace("\\\n", " ").strip().splitlines()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_requirement_of_a_lock_has_one_version_and_its_hashes(lock: Path) -> None:
    for line in requirements(lock):
        assert re.fullmatch(r"[\w.-]+==[\w.+]+( ; [^#]+?)?(\s+--hash=sha256:[0-9a-f]{64})+", line), line


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_names_no_index_and_no_folder(lock: Path) -> None:
    assert not re.search(r"://|--index|--extra|--find|(^|\s)/|@ ", lock.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", INPUTS, ids=lambda path: path.name)
def test_every_line_asked_for_has_its_reason(file: Path) -> None:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith(("#", "-c"))]
    assert all(re.search(r"\s# \S+", line) for line in lines)


def test_the_tests_use_the_worker_s_versions_of_what_both_import() -> None:
    worker, tests = (
        dict(line.split(" ")[0].split("==") for line in requirements(setup_env.REQUIREMENTS / name))
        for name in ("run-cpu.lock", "test.lock")
    )
    shared = {"openai", "aiohttp", "jinja2", "openjd-cli", "openjd-model"}
    assert {name: worker[name] for name in shared} == {name: tests[name] for name in shared}


@pytest.mark.parametrize("package", ["torchvision", "torchaudio", "torchcodec", "triton"])
def test_what_breaks_beside_the_cpu_build_of_torch_is_not_in_its_environment(package: str) -> None:
    assert not [
        line for line in requirements(setup_env.REQUIREMENTS / "run-cpu.lock") if line.startswith(f"{package}==")
    ]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the lock of a kind "tiny", which installs one wheel from a folder and needs no network."""
    wheel = tmp_path / "wheels" / "tiny_thing-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    info = "tiny_thing-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_thing.py", "VALUE = 7\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    lock = tmp_path / "requirements" / "tiny.lock"
    lock.parent.mkdir()
    lock.write_text(f"tiny-thing==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    monkeypatch.setattr(setup_env, "REQUIREMENTS", lock.parent)
    monkeypatch.setitem(setup_env.LOCKS, "tiny", (lock.name,))
    monkeypatch.setitem(setup_env.DISK, "tiny", 0.01)
    monkeypatch.setenv("VLLM_BATCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    return lock


def test_an_environment_is_made_once(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = setup_env.environment("tiny")
    assert subprocess.run([python, "-c", "import tiny_thing; exit(tiny_thing.VALUE)"], check=False).returncode == 7

    monkeypatch.setattr(setup_env, "make_environment", lambda *_: pytest.fail("it was made a second time"))
    assert setup_env.environment("tiny") == python


def test_an_interrupted_set_up_is_made_anew(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def interrupted(_kind: str, folder: Path, _locks: object) -> None:
        made.append(folder)
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        if len(made) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(setup_env, "make_environment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        setup_env.environment("tiny")
    setup_env.environment("tiny")
    setup_env.environment("tiny")
    assert len(made) == 2


def test_a_wheel_with_another_hash_is_refused(tiny: Path) -> None:
    tiny.write_text(f"tiny-thing==1.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    with pytest.raises(setup_env.SetupError, match=r"pip could not install tiny\.lock"):
        setup_env.environment("tiny")


def test_an_environment_s_folder_is_named_after_its_lock_and_its_python(tiny: Path) -> None:
    first = setup_env.digest([tiny])
    tiny.write_text(tiny.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    assert re.fullmatch("[0-9a-f]{12}", first)
    assert setup_env.digest([tiny]) != first


def test_torch_that_is_found_nowhere_is_said_with_what_to_do(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tiny.with_name("torch-cpu.lock")
    lock.write_text(f"torch==2.13.0+cpu --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    monkeypatch.setitem(setup_env.LOCKS, "tiny", (lock.name,))
    with pytest.raises(setup_env.SetupError, match="PIP_FIND_LINKS"):
        setup_env.environment("tiny")


@pytest.mark.parametrize(("system", "said"), [("win32", "this is Windows"), ("darwin", "this is macOS")])
def test_another_system_is_refused_by_name(system: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(setup_env.SetupError, match=said):
        setup_env.check_machine()


def test_an_old_python_is_refused_with_a_command_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    with pytest.raises(setup_env.SetupError, match=r"Python 3\.11 or newer.*: python3\.11 tools/run_local\.py"):
        setup_env.check_machine()


@pytest.mark.parametrize("library", [("glibc", "2.28"), ("", "")], ids=["old", "musl"])
def test_a_c_library_that_no_wheel_is_for_is_refused(library: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "libc_ver", lambda: library)
    with pytest.raises(setup_env.SetupError, match=r"need glibc 2\.31"):
        setup_env.check_machine()


def test_a_processor_without_avx2_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(setup_env, "cpu_flags", lambda: {"sse4_2", "avx"})
    with pytest.raises(setup_env.SetupError, match="AVX2"):
        setup_env.check_machine()


class Usage(NamedTuple):
    free: int


def test_a_full_disk_is_refused_with_what_is_needed_and_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BATCH_CACHE", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free=1_000_000_000))
    with pytest.raises(setup_env.SetupError, match=r"takes 5\.0 GB of free disk.*has 1\.0 GB.*VLLM_BATCH_CACHE"):
        setup_env.check_disk("run-cpu")


def test_a_name_that_is_not_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert setup_env.main(["run-tpu"]) == 2
    assert "unknown: run-tpu" in capsys.readouterr().err


def test_a_user_without_a_home_is_told_which_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("VLLM_BATCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(setup_env.SetupError, match="set VLLM_BATCH_CACHE"):
        setup_env.cache()
    monkeypatch.setenv("VLLM_BATCH_CACHE", "/kept")
    assert setup_env.cache() == Path("/kept")
