"""Every dialect and endpoint through the bundle's programs, with real vLLM and a real chat model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer
from openai.types.chat import ChatCompletion

from engine.command import build_environment
from engine.routes import CHAT, COMPLETIONS, RESPONSES
from job.options import OPTIONS
from job.translation import translate_options
from support.cut_proxy import cut_proxy
from support.real_jobs import SMALL, TOOLS, RealServer, Result, environment, openai_line, run, short_folder
from support.run_batch_lines import BOTH, FATAL, LENGTH, MODEL, ONLY_HERE, READ_BY_VLLM

pytestmark = pytest.mark.vllm
NOT_READ = {  # what only the other endpoint has, and what means encoders
    CHAT: {"suffix", "dimensions", "encoding_format"},
    COMPLETIONS: {
        *("top_logprobs", "dimensions", "encoding_format", "tools", "tool_choice", "parallel_tool_calls"),
        *("reasoning_effort", "include_reasoning", "chat_template_kwargs", "add_generation_prompt"),
        *("continue_final_message", "mm_processor_kwargs"),
    },
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with short_folder() as path:
        yield path


@pytest.fixture(scope="module")
def runner_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Answer the lines with vLLM's own batch runner; return its output by custom_id."""
    lines, out = folder / "runner.jsonl", folder / "runner-out.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in BOTH), encoding="utf-8")
    runner = ["-m", "vllm.entrypoints.launchers.run_batch", "-i", lines, "-o", out, "--model", MODEL]
    alike = build_environment("", 600) | environment()  # as many cores: floats are added up in the same order
    run(*runner, *SMALL.split(), *TOOLS.split(), "--max-model-len", str(LENGTH), env=alike)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return {row["custom_id"]: row for row in rows}


@pytest.fixture(scope="module")
def server(folder: Path, runner_rows: object) -> Iterator[RealServer]:
    """Serve the chat model, after the runner has ended: two engines at once would only share the cores."""
    (folder / "chat").mkdir()
    with RealServer(MODEL, folder / "chat", LENGTH, f"{SMALL} {TOOLS}") as started:
        yield started


@pytest.fixture(scope="module")
def compared(server: RealServer) -> Result:
    """Answer the runner's lines and those that end it, mixed, in one job."""
    lines = [*BOTH, *ONLY_HERE, *FATAL]
    random.Random(1).shuffle(lines)
    return server.job("compared", lines, MaxTokens=12, ModelInRows="error")  # as the runner has it


def texts(row: dict[str, Any]) -> list[str]:
    """Return a line's answers, nothing for a failure."""
    response = row.get("response") or {}
    body = response.get("body") or {} if response.get("status_code") == 200 else {}
    return [choice["message"]["content"] for choice in body.get("choices", [])]


def outcome(row: dict[str, Any]) -> str:
    response = row.get("response") or {}
    return "succeeded" if response.get("status_code") == 200 and row["error"] is None else "failed"


def test_the_same_file_through_vllms_own_runner_has_the_same_outcome(
    runner_rows: dict[str, dict[str, Any]], compared: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = {row["custom_id"]: row for row in compared.rows if "custom_id" in row}
    names = [line["custom_id"] for line in BOTH]
    table = [
        f"{name:<32} {outcome(runner_rows[name]):<10} {outcome(ours[name]):<10} "
        + ("the same" if texts(ours[name]) == texts(runner_rows[name]) else "ANOTHER TEXT")
        for name in names
    ]
    with capsys.disabled():
        print(f"\n\n{'line':<32} {'runner':<10} {'bundle':<10} text", *table, sep="\n")
    assert [outcome(ours[name]) for name in names] == [outcome(runner_rows[name]) for name in names]
    assert [texts(ours[name]) for name in names] == [texts(runner_rows[name]) for name in names]
    assert sum(outcome(row) == "succeeded" for row in ours.values()) >= 9


def test_the_status_of_an_http_failure_is_the_runners(runner_rows: dict[str, dict[str, Any]], compared: Result) -> None:
    ours = {row["custom_id"]: row for row in compared.rows if "custom_id" in row}
    name = "a prompt beyond the context"
    assert (ours[name]["response"]["status_code"], runner_rows[name]["response"]["status_code"]) == (400, 400)
    assert ours[name]["response"]["body"]["error"]["message"] == runner_rows[name]["error"]["error"]["message"]
    assert ours["an unknown model"]["error"]["code"] == "not_found"  # told before it is sent
    assert runner_rows["an unknown model"]["response"]["status_code"] == 404


@pytest.fixture(scope="module")
def read_by_vllm(compared: Result) -> dict[str, list[Any]]:
    """Ask vLLM's own models what they read: the runner's input lines, the bundle's output lines, and request fields."""
    lines = [*FATAL, *ONLY_HERE, *BOTH]
    inputs = [line.decode() if isinstance(line, bytes) else json.dumps(line) for line in lines]
    rows = [row for row in compared.rows if isinstance(row.get("custom_id"), str) and row["custom_id"] != "completions"]
    outputs = [json.dumps(row) for row in rows if row["error"] or outcome(row) == "succeeded"]
    script = compared.folder / "read.py"
    script.write_text(READ_BY_VLLM, encoding="utf-8")
    read: dict[str, list[Any]] = json.loads(run(script, stdin=json.dumps([inputs, outputs])).splitlines()[-1])
    return read


def test_lines_that_end_the_runner_do_not_end_the_job(compared: Result, read_by_vllm: dict[str, list[Any]]) -> None:
    assert read_by_vllm["inputs"] == [False] * len(FATAL + ONLY_HERE) + [True] * len(BOTH)
    names = (None, 5, "nan", "a hot temperature", "no messages", "no body", "no url")
    rows = [row for row in compared.rows if row.get("custom_id") in names]
    assert len(rows) == len(FATAL)
    failed = [row for row in rows if outcome(row) == "failed"]
    assert [row["custom_id"] for row in rows if row not in failed] == ["no url"]  # its messages say its endpoint
    assert all(row["error"] or row["response"]["status_code"] == 400 for row in failed)
    assert compared.summary["requested"] == len(compared.rows)


def test_vllms_own_model_reads_every_success_and_every_error_line(read_by_vllm: dict[str, list[Any]]) -> None:
    assert read_by_vllm["outputs"] == [True] * len(read_by_vllm["outputs"])
    assert len(read_by_vllm["outputs"]) >= 12


def test_the_openai_package_reads_every_answer_as_a_users_program_does(compared: Result) -> None:
    chats = {line["custom_id"] for line in BOTH}
    answered = [row for row in compared.rows if row.get("custom_id") in chats and texts(row)]
    assert len(answered) >= 9
    for row in answered:
        read = ChatCompletion.model_validate(row["response"]["body"])
        assert [choice.message.content for choice in read.choices] == texts(row)
        assert read.usage is not None
        assert read.usage.completion_tokens > 0


@pytest.mark.parametrize(("place", "endpoint"), list(enumerate(NOT_READ)))
def test_every_option_is_one_that_vllm_reads_or_known_to_be_none(
    place: int, endpoint: str, read_by_vllm: dict[str, list[Any]]
) -> None:
    given = [{option: 1, "use_beam_search": option in ("early_stopping", "best_of")} for option in OPTIONS]
    named = {name for options in given for name in translate_options(options, endpoint)}
    assert named - set(read_by_vllm["fields"][place]) == NOT_READ[endpoint]


def test_completions_that_end_the_runner_are_answered_here(compared: Result) -> None:
    (ours,) = [row for row in compared.rows if row.get("custom_id") == "completions"]
    assert outcome(ours) == "succeeded"
    assert "four" in ours["response"]["body"]["choices"][0]["text"]


# ---- every dialect in one file


def mixed(count: int) -> list[dict[str, Any]]:
    """Return lines of all dialects, shuffled; each carries its number."""
    say = [{"role": "user", "content": "Count to three."}]
    few = {"max_tokens": 2, "temperature": 0}
    kinds: list[Any] = [
        lambda i: {"prompt": f"Say {i}.", "n_th": i, "price": "PRICE", **few},
        lambda i: {"messages": say, "n_th": i, "sampling_params": few},
        lambda i: openai_line(str(i), CHAT, {"messages": say, **few}),
        lambda i: openai_line(str(i), "/completions", {"prompt": f"{i},", **few}),
        lambda i: openai_line(str(i), RESPONSES, {"input": "Hi", "max_output_tokens": 2, "temperature": 0}),
        lambda i: openai_line(str(i), "/tokenize", {"prompt": "Hi"}),
        lambda i: {"custom_id": str(i), "params": {"model": MODEL, "max_tokens": 2, "messages": say}},
        lambda i: {"n_th": i, "input": {"prompt": "The capital of France is", "sampling_params": few}},
        lambda i: {"n_th": i, "input": {"messages": say, "sampling_params": few, "stream": True}},
        lambda i: {"n_th": i, "input": {"prompt": "Hi", "apply_chat_template": True, "sampling_params": few}},
        lambda i: {"n_th": i, "input": {"openai_route": CHAT, "openai_input": {"messages": say, **few}}},
        lambda i: {"n_th": i, "input": {"route": COMPLETIONS, "method": "POST", "body": {"prompt": "Hi", **few}}},
        lambda i: {"n_th": i, "recordId": f"R{i}", "modelInput": {"messages": say, "max_tokens": 2}},
        lambda i: {"n_th": i, "recordId": f"R{i}", "modelInput": {"prompt": "Hi", "max_gen_len": 2}},
    ]
    order = [kinds[i % len(kinds)] for i in range(count)]
    random.Random(2).shuffle(order)
    return [kind(i) for i, kind in enumerate(order, 1)]


def number_of(row: dict[str, Any]) -> int:
    return int(row.get("n_th") or row["custom_id"])


def check_shape(given: dict[str, Any], made: dict[str, Any]) -> None:
    """Assert that a line's output has its dialect's shape."""
    if "params" in given:
        assert list(made) == ["custom_id", "result"]
        assert made["result"]["type"] == "succeeded"
        assert made["result"]["message"]["type"] == "message"
    elif "url" in given:
        assert list(made) == ["id", "custom_id", "response", "error"]
        assert made["response"]["status_code"] == 200
    else:
        added = {"input": {"status", "output"}, "modelInput": {"modelOutput"}}
        names = next((added[name] for name in added if name in given), None)
        assert made.keys() - given.keys() == (
            names or {"generated_text", "finish_reason", "prompt_tokens", "completion_tokens"}
        )
        assert {name: made[name] for name in given} == given


def test_two_hundred_lines_of_all_dialects_come_back_in_order_through_presigned_urls(server: RealServer) -> None:
    rows = mixed(200)
    lines = [json.dumps(row, ensure_ascii=False).replace('"PRICE"', "12345678901234567890.10") for row in rows]
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    with cut_proxy(moto.get_host_and_port()[1]) as cuts:
        s3 = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{cuts.port}", region_name="us-east-1",
                          aws_access_key_id="AKIAEXAMPLE", aws_secret_access_key="secret")  # fmt: skip
        s3.create_bucket(Bucket="batch")
        s3.put_object(Bucket="batch", Key="in.jsonl", Body="\n".join(lines).encode())
        urls = [
            s3.generate_presigned_url(f"{verb}_object", Params={"Bucket": "batch", "Key": key}, ExpiresIn=3600)
            for verb, key in (("get", "in.jsonl"), ("put", "out.jsonl"))
        ]
        cuts.down.append(8_000)
        cuts.up += [10**9, 10**9, 20_000]  # the input's two connections, then the output's first
        result = server.job_over("mixed", len(lines), InputUrl=urls[0], OutputUrl=urls[1])
        stored = s3.get_object(Bucket="batch", Key="out.jsonl")["Body"].read()
        s3.close()
    moto.stop()
    assert cuts.made == 2
    assert stored == (result.folder / "output.jsonl").read_bytes()
    assert "Signature" not in result.log
    assert (result.summary["succeeded"], len(result.rows)) == (200, 200), result.summary["errors"]
    assert result.summary["dialects"].keys() == {"prompt", "openai", "anthropic", "runpod", "bedrock"}
    assert [number_of(row) for row in result.rows] == list(range(1, 201))
    for given, raw in zip(lines, result.raw, strict=True):
        check_shape(json.loads(given), json.loads(raw))
        assert ("price" in given) == (b'"price": 12345678901234567890.10' in raw)
