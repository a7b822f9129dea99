"""Embeddings, scores and ranks through the bundle's programs, with real vLLM and a real encoder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.note import load_note
from engine.routes import ROUTES
from host.processes import find_family
from support.real_jobs import SMALL, RealServer, openai_line, short_folder

pytestmark = pytest.mark.vllm
ENCODER = os.environ["VLLM_BATCH_ENCODER_MODEL"]


@pytest.fixture(scope="module")
def encoder() -> Iterator[RealServer]:
    """Serve the encoder by two processes that speak HTTP, as on a worker with many cores.

    `vllm serve` wants to find its package under its own name, which the CPU build's is not.
    """
    with short_folder() as folder:
        metadata = folder / "packages" / "vllm-0.32.0.dist-info" / "METADATA"
        metadata.parent.mkdir(parents=True)
        metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0+cpu\n", encoding="utf-8")
        path = {"PYTHONPATH": str(folder / "packages")}
        with RealServer(ENCODER, folder, 256, f"{SMALL} --api-server-count 2", variables=path) as started:
            yield started


def test_several_processes_speak_http_and_are_one_engine(encoder: RealServer) -> None:
    (engine,) = load_note(encoder.folder / "server").engines
    assert "Started 2 API server processes" in Path(engine.log).read_text(encoding="utf-8")
    assert engine.process
    family = find_family(engine.process, f"TMPDIR={engine.scratch}")
    assert len(list(family)) >= 4  # who watches them, the two, the engine's core


PAIR = {"queries": "What is the capital of France?"}
DOCUMENTS = ["The capital of Brazil is Brasilia.", "The capital of France is Paris."]


def same(ours: Any, by_hand: Any) -> bool:
    """Compare the content of two answers, numbers to what single precision can tell."""
    if isinstance(ours, dict):
        own = ("id", "created")
        return ours.keys() == by_hand.keys() and all(same(ours[n], by_hand[n]) for n in ours if n not in own)
    if isinstance(ours, list):
        return len(ours) == len(by_hand) and all(map(same, ours, by_hand))
    if isinstance(ours, float):
        return bool(ours == pytest.approx(by_hand, abs=1e-5))
    return bool(ours == by_hand)


def test_the_routes_that_are_found_one_by_one_are_those_that_vllm_lists(encoder: RealServer) -> None:
    encoder.job("listed", [{"text": "Hi"}])  # to which it is a given server, whose list is asked for
    found, listed = (load_note(encoder.folder / session).served.routes for session in ("server", "listed-session"))
    assert {"/v1/embeddings", "/v1/rerank", "/pooling"} <= found == listed & frozenset().union(*ROUTES.values())


def test_embeddings_scores_and_ranks_equal_the_same_calls_made_by_hand(encoder: RealServer) -> None:
    lines = [
        openai_line("request-1", "/v1/embeddings", {"model": ENCODER, "input": "You are a helpful assistant."}),
        openai_line("request-2", "/v1/embeddings", {"model": ENCODER, "input": "You are an unhelpful assistant."}),
        openai_line("request-3", "/v1/score", {"model": ENCODER, **PAIR, "documents": DOCUMENTS}),
        openai_line("request-4", "/score", {"model": ENCODER, "text_1": "Paris", "text_2": DOCUMENTS}),
        *(
            openai_line(url, url, {"model": ENCODER, "query": "capital of France", "documents": DOCUMENTS})
            for url in ("/rerank", "/v1/rerank", "/v2/rerank")
        ),
        openai_line("pooling", "/pooling", {"model": ENCODER, "input": "Hi"}),
        openai_line("tokenize", "/tokenize", {"model": ENCODER, "prompt": "Hi"}),
    ]
    result = encoder.job("encoded", lines)
    assert result.summary["succeeded"] == len(lines), result.rows
    for line, made in zip(lines, result.rows, strict=True):
        assert same(made["response"]["body"], encoder.call(line["url"], line["body"])), line["custom_id"]
    best = result.rows[4]["response"]["body"]["results"][0]
    assert best["document"]["text"] == DOCUMENTS[1]


def test_prompt_rows_of_an_encoder_take_what_suits_them(encoder: RealServer) -> None:
    rows = [
        {"text": "You are a helpful assistant.", "id": 1},
        {"text_1": "What is the capital of France?", "text_2": DOCUMENTS[1], "id": 2},
        {**PAIR, "documents": DOCUMENTS, "id": 3},
        {"query": "capital of France", "documents": DOCUMENTS, "id": 4},
        {"text": "word " * 400, "id": 5},
        {"text": "word " * 400, "id": 6, "truncate_prompt_tokens": -1},
    ]
    result = encoder.job("encoded-rows", rows)
    made = result.rows
    by_hand = encoder.call("/v1/embeddings", {"model": ENCODER, "input": rows[0]["text"]})
    assert same(made[0]["embedding"], by_hand["data"][0]["embedding"])
    scores = encoder.call("/v1/score", {"model": ENCODER, **PAIR, "documents": DOCUMENTS})["data"]
    assert same([made[1]["score"], made[2]["scores"]], [scores[1]["score"], [item["score"] for item in scores]])
    assert [item["index"] for item in made[3]["results"]] == [1, 0]
    assert (made[4]["error"]["status"], len(made[5]["embedding"])) == (400, len(made[0]["embedding"]))
