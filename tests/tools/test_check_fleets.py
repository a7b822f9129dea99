"""What check.py says of the job's model: what it needs, and which fleets of the stack hold it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import check
from checking import fleets
from engine import checkpoint
from engine.gpus import Gpu
from engine.placement import Wish, choose
from support.cfn_stack import load
from support.checking import FINE, file_of, found_in
from support.checkpoints import CONFIGS

ONE, FOUR = dict.fromkeys(("a10g", "l4"), 1), dict.fromkeys(("t4", "a10g", "l4"), 4)
LARGE = {"l40s": 1, "rtx-pro-server-6000": 1}


def folder_of(tmp_path: Path, name: str, factor: int = 1) -> str:
    """Return a folder with a model's config.json and weights of its size, of which no byte is on the disk."""
    config, weights = CONFIGS[name]
    folder = tmp_path / name.replace(" ", "-")
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(weights * factor)
    return str(folder)


@pytest.mark.parametrize(
    ("name", "arguments", "holding"),
    [
        ("3B", [], {"t4": 1, **ONE, **LARGE}),
        ("7B", [], {"t4": 4, **ONE, **LARGE}),
        ("14B", [], {**FOUR, **LARGE}),
        ("32B", [], {"a10g": 4, "l4": 4, "l40s": 4, "rtx-pro-server-6000": 1}),
        ("70B", [], {"a10g": 8, "l4": 8, "l40s": 4, "rtx-pro-server-6000": 4}),
        ("7B", ["-p", "GpuMemoryUtilization=0.5"], {**FOUR, **LARGE}),
        ("7B", ["-p", "TensorParallelSize=4"], {**FOUR, "l40s": 4, "rtx-pro-server-6000": 4}),
        ("7B", ["-p", "VllmArgs=--max-model-len 131072"], {**FOUR, **LARGE}),
        ("MiniLM", [], {"t4": 1, **ONE, **LARGE}),
    ],
)
def test_the_fleets_that_hold_a_model_are_named(
    name: str, arguments: list[str], holding: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [file_of(tmp_path, FINE), f"--model-name={folder_of(tmp_path, name)}", *arguments]
    status, found = found_in(capsys, *given)
    assert (status, found["model"]["gpus_per_worker"]) == (0, holding)
    assert check.main(given) == 0
    text = capsys.readouterr().out
    assert f"model: needs {found['model']['gib']:.1f} GiB" in text
    for count in set(holding.values()):
        names = ", ".join(each for each, needed in holding.items() if needed == count)
        assert f"fleets that hold it with GpusPerWorker={count}: {names}\n" in text


def test_a_model_for_no_fleet_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = [file_of(tmp_path, FINE), f"--model-name={folder_of(tmp_path, '70B', factor=8)}"]
    assert check.main(given) == 0
    assert "no fleet of the stack holds it" in (text := capsys.readouterr().out)
    assert "TensorParallelSize" not in text
    assert check.main([*given, "-p", "TensorParallelSize=3"]) == 0
    assert "TensorParallelSize 0 tries all splits" in capsys.readouterr().out
    assert found_in(capsys, *given)[1]["model"]["gpus_per_worker"] == {}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_worker_of_a_named_fleet_loads_the_model(name: str, tmp_path: Path) -> None:
    config, weights = CONFIGS[name]
    model = checkpoint.read_files(config, {"model.safetensors": weights})
    values = check.inspection.read_values({"InputFile": "x", "Prompts": "1", "ModelName": folder_of(tmp_path, name)})
    fit = fleets.find_fit(values, ask_hub=False)
    assert fit
    wish = Wish(0, values["MaxModelLen"], fit.share)
    for accelerator, memory in fleets.MEMORY.items():
        for count in fleets.COUNTS:
            least = fit.holding.get(accelerator, 100)
            choice = choose([Gpu(memory, accelerator, key=str(place)) for place in range(count)], model, wish)
            if count > 1 and (accelerator, count) != fleets.NO_MACHINE:  # on one GPU there is nothing to choose
                assert ("may not fit" not in choice.why) == (count >= least), (accelerator, count)


def test_a_model_that_is_not_here_is_asked_for_only_when_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def ask(model: str, _: Any) -> checkpoint.Checkpoint | None:
        asked.append(model)
        config, weights = CONFIGS["7B"]
        return checkpoint.read_files(config, {"model.safetensors": weights})

    monkeypatch.setattr(checkpoint, "_ask_hub", ask)
    monkeypatch.setattr(checkpoint, "_read_cached", lambda *_: None)
    given = [file_of(tmp_path, FINE), "--model-name=somebody/7B"]
    assert check.main(given) == 0
    assert "--ask-hub asks the Hugging Face hub" in capsys.readouterr().out
    assert not asked
    assert found_in(capsys, *given, "--ask-hub")[1]["model"]["gpus_per_worker"]["l4"] == 1
    assert asked == ["somebody/7B"]
    monkeypatch.setattr(checkpoint, "_ask_hub", lambda *_: None)
    assert check.main([*given, "--ask-hub"]) == 0
    assert "model: its size could not be had" in capsys.readouterr().out


@pytest.mark.parametrize("own", ["--server-url=http://127.0.0.1:1", "--vllm-args=-tp 2", "--vllm-args=-dp=4"])
def test_where_no_worker_chooses_its_gpus_nothing_is_told(
    own: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [file_of(tmp_path, FINE), f"--model-name={folder_of(tmp_path, '7B')}", own]
    assert check.main(given) == 0
    assert "model:" not in capsys.readouterr().out


def test_the_stack_offers_these_accelerators() -> None:
    parameters = load()["Parameters"]
    assert list(fleets.MEMORY) == parameters["Accelerator"]["AllowedValues"]
    assert list(fleets.COUNTS) == parameters["GpusPerWorker"]["AllowedValues"]
