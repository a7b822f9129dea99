"""The worker's GPUs: what nvidia-smi tells of them, and the batch that suits them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import gpus
from engine.gpus import Gpu

L4, H100 = Gpu(23034, "NVIDIA L4"), Gpu(81559, "NVIDIA H100 80GB HBM3")
A100 = Gpu(81920, "NVIDIA A100-SXM4-80GB")


@pytest.mark.parametrize(
    ("found", "limits"),
    [
        pytest.param([], (4096, 256), id="no GPU"),
        pytest.param([L4], (8192, 256), id="L4"),
        pytest.param([H100], (16384, 1024), id="H100"),
        pytest.param([H100, L4], (8192, 256), id="the smallest decides"),
        pytest.param([A100], (8192, 256), id="A100 loses by more"),
    ],
)
def test_the_batch_limits_are_those_of_offline_inference(found: list[Gpu], limits: tuple[int, int]) -> None:
    assert gpus.batch_limits(found) == limits


@pytest.fixture
def _two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\n"
        'test "$*" = "--query-gpu=memory.total,name --format=csv,noheader,nounits" || exit 1\n'
        "echo '81559, NVIDIA H100 80GB HBM3'\n"
        "echo '23034, NVIDIA L4'\n"
        "echo 'Warning: the driver is old, update it'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.mark.usefixtures("_two_gpus")
@pytest.mark.parametrize(
    ("visible", "found"),
    [
        *[(None, [H100, L4]), ("0", [H100]), ("1", [L4]), ("1,0", [L4, H100]), ("0,1", [H100, L4])],
        *[("", []), ("-1", []), ("none", []), ("0,-1,1", [H100]), ("GPU-5ebe9f43", [H100])],
    ],
)
def test_the_gpus_that_the_session_may_use_are_found(
    monkeypatch: pytest.MonkeyPatch, visible: str | None, found: list[Gpu]
) -> None:
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus.here() == found


def test_a_gpu_that_shares_the_machines_memory_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho '[N/A], NVIDIA GB10'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus.here() == [Gpu(0, "NVIDIA GB10")]


def test_a_machine_without_nvidia_smi_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus.here() == []
