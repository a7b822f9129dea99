"""A model's size and shape, off its own files: folders, the hub's cache, quantised ones, and what cannot be read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.checkpoint import Checkpoint, read_checkpoint, read_files
from support.checkpoints import AWQ, CONFIGS, LLAMA, known, sizes

SMALL = {**LLAMA, **sizes(9, 3, 30, 576, 1536), "head_dim": 64}


def write_model(folder: Path, config: dict[str, Any], **files: int) -> Path:
    """Write a model's config.json, and files of these sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, size in files.items():
        (folder / name.replace("__", ".")).write_bytes(b"\0" * size)
    return folder


def test_a_folder_tells_the_size_of_its_weights_and_their_cache(tmp_path: Path) -> None:
    folder = write_model(tmp_path, SMALL, model__safetensors=1000, tokenizer__json=70)
    found = read_checkpoint(str(folder), {}, ask_hub=False)
    assert found == Checkpoint(1000, 9, 3, 2 * 2 * 30 * 3 * 64, width=1536, generates=True)


@pytest.mark.parametrize(
    ("files", "weights"),
    [
        ({"model-1.safetensors": 5, "model-2.safetensors": 6, "pytorch_model.bin": 11}, 11),
        ({"model.safetensors": 5, "consolidated.safetensors": 5}, 5),
        ({"consolidated.safetensors": 7}, 7),
        ({"pytorch_model.bin": 9, "original/consolidated.00.pth": 9}, 9),
        ({"model.safetensors": 3, "onnx/model.safetensors": 3}, 3),
    ],
)
def test_weights_that_are_there_twice_count_once(files: dict[str, int], weights: int) -> None:
    found = read_files(SMALL, files)
    assert found
    assert found.weights == weights


def test_weights_of_32_bits_are_loaded_as_16() -> None:
    found = read_files({**SMALL, "torch_dtype": "float32"}, {"model.safetensors": 1000})
    assert found
    assert found.weights == 500


def test_a_quantised_model_is_as_large_as_its_files() -> None:
    found = read_files({**SMALL, "torch_dtype": "float32", "quantization_config": AWQ}, {"model.safetensors": 1000})
    assert found
    assert found.weights == 1000


def test_a_model_of_more_than_text_tells_of_its_text() -> None:
    config = {"architectures": ["Qwen2VLForConditionalGeneration"], "text_config": sizes(28, 4, 28, 3584, 18944)}
    found = read_files(config, {"model.safetensors": 1})
    assert found
    assert (found.heads, found.cache_heads, found.generates) == (28, 4, True)


@pytest.mark.parametrize(
    ("config", "files", "generates"),
    [
        (LLAMA, {}, True),
        ({"architectures": ["BertModel"]}, {}, False),
        ({"architectures": ["Qwen2ForSequenceClassification"]}, {}, False),
        ({**LLAMA}, {"modules.json": 1}, False),
        ({"architectures": ["WhisperForConditionalGeneration"], "is_encoder_decoder": True}, {}, False),
        ({}, {}, False),
    ],
    ids=["decoder", "encoder", "classifier", "sentence transformer", "speech", "says nothing"],
)
def test_a_model_that_answers_with_text_is_told_from_one_that_pools(
    config: dict[str, Any], files: dict[str, int], generates: bool
) -> None:
    found = read_files({**sizes(8, 8, 2, 64, 64), **config}, {"model.safetensors": 1, **files})
    assert found
    assert found.generates == generates


@pytest.mark.parametrize(
    ("name", "ways"),
    [("7B", {1, 2, 4}), ("14B", {1, 2, 4, 8}), ("70B", {1, 2, 4, 8}), ("72B AWQ", {1}), ("V2 Lite", {1, 2, 4, 8})],
)
def test_a_split_divides_heads_and_whole_groups(name: str, ways: set[int]) -> None:
    assert {way for way in range(1, 9) if known(name).may_split(way)} == ways


def test_a_split_over_more_gpus_than_cache_heads_repeats_the_cache() -> None:
    one, four, eight = (known("7B").cache_bytes(1, ways) for ways in (1, 4, 8))
    assert (one, four, eight) == (57344, 57344 / 4, 57344 / 4)
    assert known("V2 Lite").cache_bytes(1, 2) == known("V2 Lite").cache_bytes(1, 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"num_attention_heads": 8}'])
def test_a_config_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    write_model(tmp_path, SMALL, model__safetensors=10)
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    assert read_checkpoint(str(tmp_path), {}, ask_hub=False) is None


class Hub:
    """A hub's library that has some models in its cache, and others to tell of."""

    def __init__(self, cached: Path | None = None, remote: Path | None = None) -> None:
        self.cached, self.remote = cached, remote
        self.asked: list[str] = []
        self.HfApi = lambda: SimpleNamespace(model_info=self.model_info)

    def try_to_load_from_cache(self, model: str, name: str, cache_dir: str | None) -> str | None:
        return str(self.cached / name) if self.cached else None

    def model_info(self, model: str, **_: Any) -> Any:
        self.asked.append(model)
        if self.remote is None:
            raise ConnectionError("no way there")
        files = [SimpleNamespace(rfilename=path.name, size=path.stat().st_size) for path in self.remote.iterdir()]
        return SimpleNamespace(siblings=files)

    def hf_hub_download(self, model: str, name: str, **_: Any) -> str:
        assert self.remote
        return str(self.remote / name)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "snapshot", SMALL, model__safetensors=1000)


def use(monkeypatch: pytest.MonkeyPatch, hub: Hub) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)  # type: ignore[arg-type]


def test_a_model_in_the_cache_is_read_there(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    hub = Hub(cached=model, remote=model)
    use(monkeypatch, hub)
    found = read_checkpoint("a/model", {}, ask_hub=True)
    assert found
    assert (found.weights, hub.asked) == (1000, [])


def test_a_model_that_is_in_the_cache_in_part_is_asked_for(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    hub = Hub(cached=model, remote=model)
    use(monkeypatch, hub)
    read_checkpoint("a/model", {}, ask_hub=True)
    assert hub.asked == ["a/model"]


def test_a_model_that_was_not_downloaded_is_asked_for_where_gpus_are_shared_out(
    monkeypatch: pytest.MonkeyPatch, model: Path
) -> None:
    hub = Hub(remote=model)
    use(monkeypatch, hub)
    assert read_checkpoint("a/model", {}, ask_hub=False) is None
    found = read_checkpoint("a/model", {}, ask_hub=True)
    assert found
    assert (found.weights, hub.asked) == (1000, ["a/model"])


def test_a_hub_that_does_not_answer_leaves_the_model_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Hub())
    assert read_checkpoint("a/model", {}, ask_hub=True) is None


def test_the_models_of_these_tests_are_all_known() -> None:
    assert [name for name in CONFIGS if not known(name).generates] == ["MiniLM"]
