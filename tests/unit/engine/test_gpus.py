"""The worker's GPUs: what nvidia-smi tells of them, by identity, and the batch that suits them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import gpus
from engine.gpus import Gpu
from support.scripted_gpus import MIB_OF_SLICE, Card, install

H100 = Card("NVIDIA H100 80GB HBM3", 81559, uuid="GPU-aaaa1111")
L4 = Card("NVIDIA L4", 23034, uuid="GPU-bbbb2222")
A100 = Gpu(81920, "NVIDIA A100-SXM4-80GB")
SLICED = Card("NVIDIA H200", 143771, uuid="GPU-cccc3333", slices={"MIG-1111": 18, "MIG-2222": 71})


def whole(card: Card, key: str) -> Gpu:
    return Gpu(int(card.memory), card.name, key)


def part(key: str, gigabytes: int) -> Gpu:
    return Gpu(gigabytes * MIB_OF_SLICE // 1000, f"a slice of {gigabytes} GB", key, slice=True)


@pytest.mark.parametrize(
    ("found", "limits"),
    [
        pytest.param([], (4096, 256), id="no GPU"),
        pytest.param([whole(L4, "0")], (8192, 256), id="L4"),
        pytest.param([whole(H100, "0")], (16384, 1024), id="H100"),
        pytest.param([whole(H100, "0"), whole(L4, "1")], (8192, 256), id="the smallest decides"),
        pytest.param([A100], (8192, 256), id="A100 loses by more"),
        pytest.param([part("MIG-1", 18)], (8192, 256), id="a slice of a large one"),
    ],
)
def test_the_batch_limits_are_those_of_offline_inference(found: list[Gpu], limits: tuple[int, int]) -> None:
    assert gpus.batch_limits(found) == limits


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, [whole(H100, "0"), whole(L4, "1")]),
        ("0", [whole(H100, "0")]),
        ("1", [whole(L4, "1")]),
        ("1,0", [whole(L4, "1"), whole(H100, "0")]),
        ("0, 1", [whole(H100, "0"), whole(L4, "1")]),
        *[(text, []) for text in ("", "-1", "none", "2")],
        ("0,-1,1", [whole(H100, "0")]),
        ("GPU-bbbb2222", [whole(L4, "GPU-bbbb2222")]),
        ("GPU-bb", [whole(L4, "GPU-bb")]),
        ("GPU-9999", [Gpu(0, "an unknown GPU", "GPU-9999")]),
        ("MIG-9999", [Gpu(0, "an unknown GPU", "MIG-9999", slice=True)]),
    ],
)
def test_the_gpus_that_the_session_may_use_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, found: list[Gpu]
) -> None:
    monkeypatch.setenv("PATH", f"{install(tmp_path, [H100, L4])}:/usr/bin:/bin")
    assert gpus.here({} if visible is None else {gpus.VISIBLE: visible}) == found


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        (None, [whole(L4, "0"), part("MIG-1111", 18), part("MIG-2222", 71)]),
        ("MIG-2222", [part("MIG-2222", 71)]),
        ("MIG-1111,MIG-2222", [part("MIG-1111", 18), part("MIG-2222", 71)]),
        ("1", [Gpu(part("", 18).memory, "a slice of 18 GB", "1", slice=True)]),
    ],
)
def test_a_slice_is_as_large_as_its_name_says_and_not_as_its_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str | None, found: list[Gpu]
) -> None:
    monkeypatch.setenv("PATH", f"{install(tmp_path, [L4, SLICED])}:/usr/bin:/bin")
    assert gpus.here({} if visible is None else {gpus.VISIBLE: visible}) == found


def test_a_gpu_that_shares_the_machines_memory_or_may_not_tell_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = [Card("NVIDIA GB10", "[N/A]"), Card("NVIDIA H200", "[Insufficient Permissions]")]
    monkeypatch.setenv("PATH", f"{install(tmp_path, cards)}:/usr/bin:/bin")
    assert gpus.here({}) == [Gpu(0, "NVIDIA GB10", "0"), Gpu(0, "NVIDIA H200", "1")]


def test_a_gpu_that_was_lost_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = install(tmp_path, [L4, Card("", 0, lost=True), L4])
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert [gpu.key for gpu in gpus.here({})] == ["0", "2"]


def test_a_machine_without_nvidia_smi_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus.here({}) == []
