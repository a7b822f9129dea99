"""Where engines run: as many copies as GPUs hold, split only where one GPU is too small, and as vLLM can split."""

from __future__ import annotations

import pytest

from engine.gpus import Gpu
from engine.placement import Choice, Placement, Wish, add_fronts, choose
from support.checkpoints import known

T4, L4, L40S = (15360, "Tesla T4"), (23034, "NVIDIA L4"), (46068, "NVIDIA L40S")
H100, RTX = (81559, "NVIDIA H100 80GB HBM3"), (97887, "NVIDIA RTX PRO 6000")
WISH = Wish(0, 4096, 0.9)


def worker(*kinds: tuple[int, str]) -> list[Gpu]:
    return [Gpu(memory, name, str(number)) for number, (memory, name) in enumerate(kinds)]


def slices(*gigabytes: int) -> list[Gpu]:
    return [
        Gpu(size * 953, f"a slice of {size} GB", f"MIG-{number}", slice=True) for number, size in enumerate(gigabytes)
    ]


def shape(choice: Choice) -> list[tuple[str, int]]:
    """Return each engine's GPUs, "" where it has them all, and its split."""
    return [(place.devices, place.split) for place in choice.placements]


@pytest.mark.parametrize(
    ("model", "gpus", "split", "copies"),
    [
        ("7B", worker(L4), 1, 1),
        ("7B", worker(L4) * 2, 1, 2),
        ("7B", worker(*[L4] * 4), 1, 4),
        ("7B", worker(*[L4] * 7), 1, 7),
        ("7B", worker(*[L4] * 8), 1, 8),
        ("7B", worker(*[T4] * 4), 2, 2),
        ("7B", worker(*[H100] * 8), 1, 8),
        ("14B", worker(*[T4] * 8), 4, 2),
        ("14B", worker(*[L4] * 2), 2, 1),
        ("14B", worker(*[L4] * 4), 2, 2),
        ("14B", worker(*[L4] * 7), 2, 3),
        ("14B", worker(*[L40S] * 4), 1, 4),
        ("32B", worker(*[L4] * 8), 4, 2),
        ("32B", worker(*[H100] * 8), 2, 4),
        ("32B", worker(*[RTX] * 4), 1, 4),
        ("70B", worker(*[H100] * 4), 4, 1),
        ("70B", worker(*[H100] * 7), 4, 1),
        ("70B", worker(*[H100] * 8), 4, 2),
        ("70B", worker(*[L4] * 8), 8, 1),
        ("8x7B", worker(*[H100] * 8), 2, 4),
        ("72B AWQ", worker(*[H100] * 8), 1, 8),
        ("V2 Lite", worker(*[L4] * 4), 2, 2),
    ],
    ids=lambda value: f"{len(value)} {value[0].name}" if isinstance(value, list) else str(value),
)
def test_the_fewest_gpus_that_hold_the_model_and_copies_on_the_others(
    model: str, gpus: list[Gpu], split: int, copies: int
) -> None:
    choice = choose(gpus, known(model), WISH)
    assert [place.split for place in choice.placements] == [split] * copies
    used = ",".join(place.devices for place in choice.placements)
    assert used == (",".join(gpu.key for gpu in gpus[: split * copies]) if len(gpus) > 1 else "")


def test_nothing_is_chosen_on_one_gpu_or_none() -> None:
    for gpus in ([], worker(T4)):
        assert choose(gpus, known("7B"), WISH) == Choice((Placement(gpus=len(gpus), tokens=8192 if gpus else 4096),))


def test_a_model_that_fits_nowhere_is_split_as_far_as_it_can_be() -> None:
    choice = choose(worker(H100, H100, H100), known("70B"), WISH)
    assert shape(choice) == [("", 2)]
    assert "split over 2 of 3 GPUs; it may not fit, since each needs 79" in choice.why


def test_a_split_that_breaks_a_quantised_matrix_is_not_made() -> None:
    assert shape(choose(worker(*[L40S] * 4), known("72B AWQ"), WISH)) == [("", 1)]


def test_each_kind_of_gpu_has_its_copies_and_its_batch() -> None:
    choice = choose(worker(RTX, L4, L4), known("7B"), WISH)
    assert shape(choice) == [("0", 1), ("1", 1), ("2", 1)]
    assert [(place.tokens, place.sequences) for place in choice.placements] == [(16384, 1024), (8192, 256), (8192, 256)]


def test_gpus_too_small_for_the_model_are_left_over_beside_one_that_holds_it() -> None:
    choice = choose(worker(L4, RTX, L4), known("32B"), WISH)
    assert shape(choice) == [("1", 1)]
    assert "GPUs left over: 2 of 3" in choice.why


def test_slices_have_a_copy_each_and_are_never_split_over() -> None:
    assert shape(choose(slices(20, 20), known("3B"), WISH)) == [("MIG-0", 1), ("MIG-1", 1)]
    assert shape(choose(slices(20, 20), None, WISH)) == [("MIG-0", 1), ("MIG-1", 1)]
    assert shape(choose(slices(10, 40), known("7B"), WISH)) == [("MIG-1", 1)]
    too_small = choose(slices(10, 20), known("14B"), WISH)
    assert shape(too_small) == [("MIG-1", 1)]
    assert "may not fit" in too_small.why


@pytest.mark.parametrize(
    ("gpus", "model", "what"),
    [
        (worker(*[L4] * 4), None, "the size of the model"),
        ([Gpu(0, "NVIDIA GB10", str(n)) for n in range(4)], "7B", "the memory"),
    ],
    ids=["model", "memory"],
)
def test_where_too_little_is_known_all_gpus_have_one_server(gpus: list[Gpu], model: str | None, what: str) -> None:
    choice = choose(gpus, known(model) if model else None, WISH)
    assert shape(choice) == [("", 4)]
    assert what in choice.why


@pytest.mark.parametrize(
    ("split", "shapes"),
    [
        (1, [("0", 1), ("1", 1), ("2", 1), ("3", 1)]),
        (2, [("0,1", 2), ("2,3", 2)]),
        (3, [("0,1,2", 3)]),
        (4, [("0,1,2,3", 4)]),
        (8, [("", 8)]),
    ],
)
def test_tensor_parallel_size_is_the_gpus_of_each_copy(split: int, shapes: list[tuple[str, int]]) -> None:
    for model in (known("7B"), None):
        choice = choose(worker(*[L4] * 4), model, Wish(split, 4096, 0.9))
        assert shape(choice) == shapes
        assert "TensorParallelSize" in choice.why


@pytest.mark.parametrize(
    "argument", ["--data-parallel-size", "--tensor-parallel-size", "-tp", "--pipeline_parallel_size"]
)
def test_a_parallel_size_of_vllm_args_says_all_of_it(argument: str) -> None:
    choice = choose(worker(*[L4] * 4), known("7B"), Wish(0, 4096, 0.9, [argument, "2"]))
    assert shape(choice) == [("", 0)]
    assert "as VllmArgs says" in choice.why


@pytest.mark.parametrize(
    ("model", "arguments", "tokens"),
    [
        ("7B", [], 8192),
        (None, [], 131072),
        ("7B", ["--runner", "pooling"], 131072),
        ("7B", ["--runner=generate"], 8192),
        ("7B", ["--convert", "embed"], 131072),
        ("7B", ["--no-enable-chunked-prefill"], 131072),
    ],
    ids=["decoder", "unknown", "pools", "generates", "converted", "whole prompts"],
)
def test_a_batch_holds_the_longest_prompt_of_a_model_that_takes_it_whole(
    model: str | None, arguments: list[str], tokens: int
) -> None:
    choice = choose(worker(L4), known(model) if model else None, Wish(0, 131072, 0.9, arguments))
    assert choice.placements[0].tokens == tokens


def test_a_longer_context_takes_more_gpus() -> None:
    long = choose(worker(*[L4] * 4), known("7B"), Wish(0, 131072, 0.9))
    assert [place.split for place in long.placements] == [2, 2]
    large = choose(worker(*[L4] * 4), known("14B"), Wish(0, 4096, 0.5))
    assert [place.split for place in large.placements] == [4]


@pytest.mark.parametrize(
    ("arguments", "rows"), [([], 320), (["--max-num-seqs", "10"], 13), (["--max-num-seqs=10"], 13)]
)
def test_an_engine_is_offered_a_quarter_more_than_it_takes(arguments: list[str], rows: int) -> None:
    assert choose(worker(L4), known("7B"), Wish(0, 4096, 0.9, arguments)).placements[0].rows == rows


def test_what_was_chosen_is_said_with_its_reason() -> None:
    assert choose(worker(*[L4] * 4), known("7B"), WISH).why == (
        "4 copies of the model, each on 1 GPU: it needs 17.2 GiB and a server takes 20.2 GiB of a GPU"
    )
    assert choose(worker(*[L4] * 7), known("14B"), WISH).why == (
        "3 copies of the model, each on 2 GPUs: it needs 16.9 GiB and a server takes 20.2 GiB of a GPU; "
        "GPUs left over: 1 of 7"
    )


@pytest.mark.parametrize(
    ("model", "gpus", "cores", "fronts"),
    [
        ("7B", [], 64, 1),
        ("7B", worker(L4), 64, 1),
        ("7B", worker(H100), 4, 1),
        ("7B", worker(H100), 8, 3),
        ("7B", worker(H100), 192, 4),
        ("7B", worker(*[H100] * 8), 32, 1),
        ("7B", worker(*[H100] * 8), 192, 4),
        ("MiniLM", worker(L4), 4, 1),
        ("MiniLM", worker(L4), 8, 3),
    ],
    ids=lambda value: f"{len(value)} {value[0].name}" if isinstance(value, list) and value else str(value),
)
def test_more_fronts_speak_http_where_rows_come_and_go_by_the_thousand_and_cores_are_there(
    model: str, gpus: list[Gpu], cores: int, fronts: int
) -> None:
    choice = add_fronts(choose(gpus, known(model), WISH), known(model), WISH, cores)
    assert {place.fronts for place in choice.placements} == {fronts}


def test_a_server_that_vllm_args_make_parallel_has_the_fronts_that_vllm_gives_it() -> None:
    wish = Wish(0, 4096, 0.9, ("--data-parallel-size", "8"))
    choice = choose(worker(*[H100] * 8), known("7B"), wish)
    assert add_fronts(choice, known("7B"), wish, 192) == choice
