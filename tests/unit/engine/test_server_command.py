"""The server's command: throughput by default, VllmArgs last, and never open to others."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engine import command
from engine.note import ServerError, Settings
from engine.placement import Placement

SETTINGS = Settings("a/model", 4096, 0.9, 0, "", 60.0)
ONE = Placement(gpus=1, tokens=8192)


def value(argv: list[str], flag: str) -> str | None:
    """Return what vLLM's parser would take for a flag: the last one given."""
    places = [place for place, argument in enumerate(argv) if argument == flag]
    return argv[places[-1] + 1] if places else None


def install_vllm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Python find a package named vllm."""
    metadata = folder / "vllm-0.32.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0\n")
    monkeypatch.syspath_prepend(folder)


def test_the_server_listens_on_loopback_and_serves_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_vllm(tmp_path, monkeypatch)
    argv = command.build_command(SETTINGS, 5555, ONE)
    assert argv[1:5] == ["-m", "vllm.entrypoints.cli.main", "serve", "a/model"]
    assert (value(argv, "--host"), value(argv, "--port")) == ("127.0.0.1", "5555")


def test_a_build_that_has_another_package_s_name_is_served_by_its_module() -> None:
    argv = command.build_command(SETTINGS, 5555, ONE)
    assert argv[1:5] == ["-m", "vllm.entrypoints.openai.api_server", "--model", "a/model"]


def test_a_model_in_s3_is_vllm_s_own_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_vllm(tmp_path, monkeypatch)
    argv = command.build_command(replace(SETTINGS, model="s3://bucket/models/7b"), 1, ONE)
    assert argv[3:5] == ["serve", "s3://bucket/models/7b"]
    assert value(argv, "--load-format") is None  # vLLM chooses the loader by the address


@pytest.mark.parametrize(("fronts", "told"), [(1, None), (4, "4")])
def test_the_place_says_how_many_processes_speak_http(fronts: int, told: str | None) -> None:
    assert value(command.build_command(SETTINGS, 1, replace(ONE, fronts=fronts)), "--api-server-count") == told


def test_the_place_says_the_batch_and_the_split() -> None:
    argv = command.build_command(SETTINGS, 1, Placement("0,1", gpus=2, split=2, tokens=16384, sequences=1024))
    assert value(argv, "--max-num-batched-tokens") == "16384"
    assert value(argv, "--max-num-seqs") == "1024"
    assert value(argv, "--tensor-parallel-size") == "2"
    assert value(argv, "--gpu-memory-utilization") == "0.9"


@pytest.mark.parametrize("place", [ONE, Placement(gpus=4, split=0), Placement()], ids=["one", "VllmArgs", "CPU"])
def test_a_model_that_is_not_split_says_nothing_of_it(place: Placement) -> None:
    argv = command.build_command(SETTINGS, 1, place)
    assert value(argv, "--tensor-parallel-size") is None
    assert (value(argv, "--gpu-memory-utilization") is None) == (place.gpus == 0)


def test_a_copy_sees_its_own_gpus_and_keeps_its_own_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1,MIG-2")
    monkeypatch.setenv("VLLM_CACHE_ROOT", "/kept/vllm")
    first, second = (
        command.build_environment("", 60, Placement(f"MIG-{number + 1}", gpus=1), number) for number in range(2)
    )
    assert (first["CUDA_VISIBLE_DEVICES"], second["CUDA_VISIBLE_DEVICES"]) == ("MIG-1", "MIG-2")
    assert (first["VLLM_CACHE_ROOT"], second["VLLM_CACHE_ROOT"]) == ("/kept/vllm", "/kept/vllm-copy-1")


def test_a_server_with_no_gpus_of_its_own_sees_what_the_session_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert command.build_environment("", 60)["CUDA_VISIBLE_DEVICES"] == "1"


def test_a_server_that_has_all_gpus_sees_what_the_session_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-1")
    assert command.build_environment("", 60, Placement(gpus=2, split=2))["CUDA_VISIBLE_DEVICES"] == "3,GPU-1"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert "CUDA_VISIBLE_DEVICES" not in command.build_environment("", 60, ONE)


def test_the_number_of_a_gpu_is_the_one_that_nvidia_smi_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    assert command.build_environment("", 60, ONE)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_vllm_args_win() -> None:
    argv = command.build_command(replace(SETTINGS, vllm_args="--max-num-seqs 7 --chat-template 'a b.jinja'"), 1, ONE)
    assert value(argv, "--max-num-seqs") == "7"
    assert argv[-1] == "a b.jinja"


@pytest.mark.parametrize(
    "text",
    [
        "--host 0.0.0.0",
        "--hos=0.0.0.0",
        "--port 80",
        "--api-key x",
        "--api_key x",
        "--uds /s",
        "--ssl-k f",
        "--config f",
    ],
)
def test_nothing_opens_the_server_to_others(text: str) -> None:
    with pytest.raises(ServerError, match="must not hold"):
        command.build_command(replace(SETTINGS, vllm_args=text), 1, ONE)


def test_an_open_quote_is_named() -> None:
    with pytest.raises(ServerError, match="VllmArgs"):
        command.build_command(replace(SETTINGS, vllm_args="--a 'b"), 1, ONE)


def test_compilation_stays_on() -> None:
    assert "--enforce-eager" not in command.build_command(SETTINGS, 1, ONE)


def test_the_server_reads_its_files_as_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "POSIX")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONCOERCECLOCALE", "0")
    read = "import locale; print(locale.getpreferredencoding())"
    environment = command.build_environment("", 60, ONE)
    done = subprocess.run([sys.executable, "-c", read], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.lower().strip() == "utf-8"


def test_the_key_is_in_the_environment_only() -> None:
    assert command.build_environment("k3y", 60, ONE)["VLLM_API_KEY"] == "k3y"
    assert "k3y" not in " ".join(command.build_command(SETTINGS, 1, ONE))


@pytest.mark.parametrize(("cores", "reserved"), [(1, "0"), (2, "0"), (4, None)])
def test_the_engine_gets_all_of_few_cores(monkeypatch: pytest.MonkeyPatch, cores: int, reserved: str | None) -> None:
    monkeypatch.delenv("VLLM_CPU_NUM_OF_RESERVED_CPU", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    assert command.build_environment("", 60, ONE).get("VLLM_CPU_NUM_OF_RESERVED_CPU") == reserved
    monkeypatch.setenv("VLLM_CPU_NUM_OF_RESERVED_CPU", "3")
    assert command.build_environment("", 60, ONE)["VLLM_CPU_NUM_OF_RESERVED_CPU"] == "3"
