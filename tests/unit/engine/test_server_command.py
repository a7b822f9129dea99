"""The server's command: throughput by default, VllmArgs last, and never open to others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import command
from engine.gpus import Gpu
from engine.note import ServerError, Settings

SETTINGS = Settings("a/model", 4096, 0.9, 0, "", 60.0)
L4 = Gpu(23034, "NVIDIA L4")


def value(argv: list[str], flag: str) -> str | None:
    """Return what vLLM's parser would take for a flag: the last one given."""
    places = [place for place, argument in enumerate(argv) if argument == flag]
    return argv[places[-1] + 1] if places else None


def test_the_server_listens_on_loopback_and_serves_the_model() -> None:
    argv = command.build_command(SETTINGS, 5555, [L4])
    assert argv[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]
    assert (value(argv, "--host"), value(argv, "--port"), value(argv, "--model")) == ("127.0.0.1", "5555", "a/model")


def test_a_batch_holds_the_longest_prompt() -> None:
    argv = command.build_command(replace(SETTINGS, max_model_len=32768), 1, [L4])
    assert value(argv, "--max-num-batched-tokens") == "32768"


@pytest.mark.parametrize(("size", "gpus", "parallel"), [(0, 4, "4"), (2, 4, "2"), (0, 1, None), (1, 4, None)])
def test_zero_takes_every_gpu(size: int, gpus: int, parallel: str | None) -> None:
    argv = command.build_command(replace(SETTINGS, tensor_parallel_size=size), 1, [L4] * gpus)
    assert value(argv, "--tensor-parallel-size") == parallel


def test_vllm_args_win() -> None:
    argv = command.build_command(replace(SETTINGS, vllm_args="--max-num-seqs 7 --chat-template 'a b.jinja'"), 1, [L4])
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
        command.build_command(replace(SETTINGS, vllm_args=text), 1, [])


def test_an_open_quote_is_named() -> None:
    with pytest.raises(ServerError, match="VllmArgs"):
        command.build_command(replace(SETTINGS, vllm_args="--a 'b"), 1, [])


def test_compilation_stays_on() -> None:
    assert "--enforce-eager" not in command.build_command(SETTINGS, 1, [])


def test_the_key_is_in_the_environment_only() -> None:
    assert command.build_environment("k3y", 60)["VLLM_API_KEY"] == "k3y"
    assert "k3y" not in " ".join(command.build_command(SETTINGS, 1, []))


@pytest.mark.parametrize(("cores", "reserved"), [(1, "0"), (2, "0"), (4, None)])
def test_the_engine_gets_all_of_few_cores(monkeypatch: pytest.MonkeyPatch, cores: int, reserved: str | None) -> None:
    monkeypatch.delenv("VLLM_CPU_NUM_OF_RESERVED_CPU", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    assert command.build_environment("", 60).get("VLLM_CPU_NUM_OF_RESERVED_CPU") == reserved
    monkeypatch.setenv("VLLM_CPU_NUM_OF_RESERVED_CPU", "3")
    assert command.build_environment("", 60)["VLLM_CPU_NUM_OF_RESERVED_CPU"] == "3"
