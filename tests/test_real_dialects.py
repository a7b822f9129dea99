"""Every dialect and endpoint through the bundle's programs, with real vLLM, a real chat model and a real encoder."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import jsonschema
import pytest
from moto.server import ThreadedMotoServer

from cut_proxy import cut_proxy
from real_jobs import SMALL, TOOLS, RealServer, Result, environment, run

pytestmark = pytest.mark.vllm
MODEL, ENCODER = os.environ["VLLM_BATCH_MODEL"], os.environ["VLLM_BATCH_ENCODER_MODEL"]
LENGTH = 1536  # tokens; more than the 1,000 that OpenAI's example asks for
CHAT, COMPLETIONS, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
GREEDY = {"temperature": 0, "max_tokens": 12}
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no"]}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Give a short path: vLLM keeps sockets below the temporary folder, whose paths have a limit of 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="vb", dir="/tmp"))
    yield path
    shutil.rmtree(path)


def openai(custom_id: Any, url: str, body: Any) -> dict[str, Any]:
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def chat(custom_id: str, *, messages: list[Any] | None = None, **body: Any) -> dict[str, Any]:
    return openai(custom_id, CHAT, {"model": MODEL, "messages": messages or CAPITAL, **body})


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
BOTH = [  # what vLLM's own batch runner answers or refuses line by line
    chat("plain", **GREEDY),
    chat("limit by its newer name", temperature=0, max_completion_tokens=5),
    chat("a system message", messages=[{"role": "system", "content": "Answer in one word."}, *CAPITAL], **GREEDY),
    chat("unicode", messages=[{"role": "user", "content": "Traduis « où est l'été ? » \u2028 🙂"}], **GREEDY),
    chat("log-probabilities", logprobs=True, top_logprobs=2, **GREEDY),
    chat("a choice", structured_outputs={"choice": ["Paris", "Rome"]}, **GREEDY),
    chat("a stop text", stop=["capital"], **GREEDY),
    chat("two choices of one seed", n=2, seed=7, temperature=1, max_tokens=3),
    chat("an unknown model", **GREEDY) | {"body": {"model": "nobody", "messages": CAPITAL}},
    chat("a prompt beyond the context", messages=[{"role": "user", "content": "word " * 2 * LENGTH}], **GREEDY),
    chat("more tokens than the context", temperature=0, max_tokens=2 * LENGTH),
    chat("greedy choices that differ", n=2, **GREEDY),
    chat("a tool", tools=[TOOL], **GREEDY),
    chat("a stream", stream=True, **GREEDY),
    openai("embeddings of a chat model", "/v1/embeddings", {"model": MODEL, "input": "x"}),
    openai("scores of a chat model", "/v1/score", {"model": MODEL, "queries": "x", "documents": ["y"]}),
    openai("no such url", "/v1/nothing", {"model": MODEL, "messages": CAPITAL}),
    openai("OpenAI's own example", CHAT, {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Hello world!"},
        ],
        "max_completion_tokens": 1000,
        "temperature": 0,
        "stop": ["."],
    }),
]  # fmt: skip
ONLY_HERE = [openai("completions", COMPLETIONS, {"model": MODEL, "prompt": "One, two, three,", **GREEDY})]
FATAL = [  # one such line ends the runner's whole job after the model has loaded
    b"{broken",
    b'{"custom_id": "nan", "method": "POST", "url": "/v1/chat/completions", "body": {"temperature": NaN}}',
    openai(5, CHAT, {"model": MODEL, "messages": CAPITAL}),
    chat("a hot temperature", temperature="hot"),
    openai("no messages", CHAT, {"model": MODEL}),
    openai("no body", CHAT, None),
    {"custom_id": "no url", "method": "POST", "body": {"messages": CAPITAL}},
]

READ_BY_VLLM = """
import json, sys
from vllm.entrypoints.launchers.run_batch import BatchRequestInput, BatchRequestOutput
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.completion.protocol import CompletionRequest
def reads(model, line):
    try:
        model.model_validate_json(line)
        return True
    except ValueError:
        return False
inputs, outputs = json.load(sys.stdin)
read = [[reads(BatchRequestInput, line) for line in inputs], [reads(BatchRequestOutput, line) for line in outputs]]
print(json.dumps(read))
"""


@pytest.fixture(scope="module")
def runner_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Answer the lines with vLLM's own batch runner; return its output by custom_id."""
    lines, out = folder / "runner.jsonl", folder / "runner-out.jsonl"
    lines.write_text("".join(json.dumps(line) + "\n" for line in BOTH + ONLY_HERE), encoding="utf-8")
    runner = ["-m", "vllm.entrypoints.launchers.run_batch", "-i", lines, "-o", out, "--model", MODEL]
    run(*runner, *SMALL.split(), *TOOLS.split(), "--max-model-len", str(LENGTH), env=environment())
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
    return server.job("compared", lines, MaxTokens=12)


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
        + ("the same text" if texts(ours[name]) == texts(runner_rows[name]) else "ANOTHER TEXT")
        for name in names
    ]
    with capsys.disabled():
        print(f"\n\n{'line':<32} {'runner':<10} {'bundle':<10}", *table, sep="\n")
    assert [outcome(ours[name]) for name in names] == [outcome(runner_rows[name]) for name in names]
    assert [texts(ours[name]) for name in names] == [texts(runner_rows[name]) for name in names]
    assert sum(outcome(row) == "succeeded" for row in ours.values()) >= 9


def test_the_status_of_an_http_failure_is_the_runners(runner_rows: dict[str, dict[str, Any]], compared: Result) -> None:
    ours = {row["custom_id"]: row for row in compared.rows if "custom_id" in row}
    for name, code in {"an unknown model": 404, "a prompt beyond the context": 400}.items():
        assert (ours[name]["response"]["status_code"], runner_rows[name]["response"]["status_code"]) == (code, code)
        assert ours[name]["response"]["body"]["error"]["message"] == runner_rows[name]["error"]["error"]["message"]


def test_lines_that_end_the_runner_fail_alone_here_and_its_models_read_the_rest(compared: Result) -> None:
    fatal = [line.decode() if isinstance(line, bytes) else json.dumps(line) for line in FATAL]
    good = [json.dumps(line) for line in BOTH]
    rows = [row for row in compared.rows if isinstance(row.get("custom_id"), str) and row["custom_id"] != "completions"]
    read = [row for row in rows if row["error"] or outcome(row) == "succeeded"]
    script = compared.folder / "read.py"
    script.write_text(READ_BY_VLLM, encoding="utf-8")
    given = json.dumps([[*fatal, *good], [json.dumps(row) for row in read]])
    inputs, outputs = json.loads(run(script, stdin=given).splitlines()[-1])
    assert inputs == [False] * len(fatal) + [True] * len(good)
    assert len(read) >= 12
    assert outputs == [True] * len(read)
    names = (None, 5, "nan", "a hot temperature", "no messages", "no body", "no url")
    failed = [row for row in compared.rows if row.get("custom_id") in names]
    assert len(failed) == len(FATAL)
    assert all(row["error"] or row["response"]["status_code"] == 400 for row in failed)
    assert compared.summary["requested"] == len(compared.rows)


def test_the_runner_refuses_completions_and_the_bundle_answers_them(
    runner_rows: dict[str, dict[str, Any]], compared: Result
) -> None:
    (ours,) = [row for row in compared.rows if row.get("custom_id") == "completions"]
    assert (outcome(runner_rows["completions"]), outcome(ours)) == ("failed", "succeeded")
    assert "four" in ours["response"]["body"]["choices"][0]["text"]


# ---- every dialect in one file


def mixed(count: int) -> list[dict[str, Any]]:
    """Return lines of all dialects, shuffled; each carries its number."""
    say = [{"role": "user", "content": "Count to three."}]
    few = {"max_tokens": 2, "temperature": 0}
    kinds: list[Any] = [
        lambda i: {"prompt": f"Say {i}.", "n_th": i, "price": "PRICE", **few},
        lambda i: {"messages": say, "n_th": i, "sampling_params": few},
        lambda i: openai(str(i), CHAT, {"messages": say, **few}),
        lambda i: openai(str(i), "/completions", {"prompt": f"{i},", **few}),
        lambda i: openai(str(i), RESPONSES, {"input": "Hi", "max_output_tokens": 2, "temperature": 0}),
        lambda i: openai(str(i), "/tokenize", {"prompt": "Hi"}),
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


# ---- what prompt rows can ask

ASKS: list[tuple[str, dict[str, Any]]] = [
    ("the tutorial's row", {"prompt": "What is photosynthesis?", "id": "001", "max_tokens": 8}),
    ("its options", {"prompt": "Explain gravity to a 5 year old.", "id": "003", "max_tokens": 8, "temperature": 0.9}),
    ("a text", {"text": "Say hi.", "max_completion_tokens": 3}),
    ("guided_choice", {"prompt": "Red or blue?", "guided_choice": ["red", "blue"]}),
    ("guided_regex", {"prompt": "A number:", "sampling_params": {"guided_regex": "[0-9]{3}"}}),
    ("structured_outputs", {"prompt": "Yes or no?", "structured_outputs": {"choice": ["yes", "no"]}}),
    ("two choices", {"prompt": "Tell a joke.", "n": 2, "temperature": 1.0, "seed": 3, "max_tokens": 3}),
    ("beam search", {"messages": CAPITAL, "use_beam_search": True, "n": 3, "max_tokens": 6}),
    ("log-probabilities", {"prompt": "Hi", "logprobs": 2, "max_tokens": 2}),
    ("a required tool", {"prompt": "Use f.", "tools": [TOOL], "tool_choice": "required", "max_tokens": 40}),
    ("an image for a text model", {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}),
    ("an unknown adapter", {"prompt": "Hi", "model": "no-adapter"}),
    ("a limit beyond the context", {"prompt": "Hi", "max_tokens": 10 * LENGTH}),
]  # fmt: skip


def test_prompt_rows_ask_for_all_that_vllm_can_do(server: RealServer) -> None:
    # MaxTokens is far beyond the context: a row without a limit of its own must not fail for it
    rows = [row | {"case": name} for name, row in ASKS]
    result = server.job("asks", [*rows, {"prompt": "Say yes.", "case": "no limit", "stop": ["e"]}], MaxTokens=100_000)
    made = {row["case"]: row for row in result.rows}
    failures = {name: row["error"]["status"] for name, row in made.items() if "error" in row}
    assert failures == {"an image for a text model": 400, "an unknown adapter": 404, "a limit beyond the context": 400}
    assert made["guided_choice"]["generated_text"] in {"red", "blue"}
    assert made["guided_regex"]["generated_text"].isdigit()
    assert made["structured_outputs"]["generated_text"] in {"yes", "no"}
    two = made["two choices"]
    assert (two["choices"][0]["message"]["content"], len(two["choices"])) == (two["generated_text"], 2)
    assert len(made["beam search"]["choices"]) == 3
    assert len(made["log-probabilities"]["logprobs"]["content"]) == 2
    assert made["a required tool"]["tool_calls"][0]["function"]["name"] == "f"
    assert made["the tutorial's row"].keys() - ASKS[0][1].keys() == {
        *("generated_text", "finish_reason", "prompt_tokens", "completion_tokens", "case"),
    }
    greedy = server.call(CHAT, {"model": MODEL, "messages": CAPITAL, "use_beam_search": True, "n": 3, "temperature": 0,
                                "max_tokens": 6})  # fmt: skip
    assert made["beam search"]["generated_text"] == greedy["choices"][0]["message"]["content"]


@pytest.mark.parametrize("endpoint", ["completions", "responses", "messages"])
def test_every_generating_endpoint_gives_a_row_the_same_fields(endpoint: str, server: RealServer) -> None:
    row = {"prompt": "The capital of France is", "max_tokens": 4, "temperature": 0}
    (made,) = server.job(f"on-{endpoint}", [row], Endpoint=endpoint).rows
    assert made["generated_text"]
    assert (made["finish_reason"], made["completion_tokens"]) == ("length", 4)


def test_every_answer_satisfies_the_jobs_schema(server: RealServer) -> None:
    schema = server.folder / "schema.json"
    schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
    asks = ["Is the sky blue?", "Is water dry?", "Do fish swim?"]
    lines: list[Any] = [{"prompt": ask} for ask in asks]
    lines += [openai("o", CHAT, {"messages": CAPITAL}), {"input": {"prompt": "Is ice cold?"}}]
    lines += [openai("r", RESPONSES, {"input": "Is fire hot?"}), {"custom_id": "a", "params": {"messages": CAPITAL}}]
    result = server.job("schema", lines, ResponseSchemaFile=schema, MaxTokens=200, Temperature=0)
    assert result.summary["succeeded"] == len(lines), result.rows
    rows = result.rows
    answers = [row["generated_text"] for row in rows[:3]]
    answers += [
        rows[3]["response"]["body"]["choices"][0]["message"]["content"],
        rows[4]["output"]["choices"][0]["text"],
    ]
    answers += [rows[5]["response"]["body"]["output"][-1]["content"][0]["text"]]
    answers += [rows[6]["result"]["message"]["content"][-1]["text"]]
    for answer in answers:
        jsonschema.validate(json.loads(answer), SCHEMA)


def test_a_second_job_judges_the_answers_of_a_first(server: RealServer) -> None:
    asks = [{"prompt": "What is 2 + 2?", "id": "001"}, {"prompt": "Name a color.", "id": "002", "topic": "colors"}]
    first = server.job("answers", asks, MaxTokens=8)
    template = Path(__file__).resolve().parent.parent / "examples" / "judge.jinja"
    verdicts = json.dumps({"structured_outputs": {"choice": ["good", "bad"]}})
    judged = {"PromptTemplateFile": template, "OutputField": "verdict", "SamplingParams": verdicts}
    second = server.job_over("judged", 2, InputFile=first.folder / "output.jsonl", **judged)
    for before, after in zip(first.rows, second.rows, strict=True):
        assert after["verdict"] in {"good", "bad"}
        kept = ("prompt", "id", "topic", "generated_text")
        assert {name: after.get(name) for name in kept} == {name: before.get(name) for name in kept}
        assert after["previous"]["completion_tokens"] == before["completion_tokens"]


# ---- an encoder


@pytest.fixture(scope="module")
def encoder(folder: Path, server: RealServer) -> Iterator[RealServer]:
    """Serve the encoder; the chat server is idle by now."""
    (folder / "encoder").mkdir()
    with RealServer(ENCODER, folder / "encoder", 256) as started:
        yield started


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


def test_embeddings_scores_and_ranks_equal_the_same_calls_made_by_hand(encoder: RealServer) -> None:
    lines = [
        openai("request-1", "/v1/embeddings", {"model": ENCODER, "input": "You are a helpful assistant."}),
        openai("request-2", "/v1/embeddings", {"model": ENCODER, "input": "You are an unhelpful assistant."}),
        openai("request-3", "/v1/score", {"model": ENCODER, **PAIR, "documents": DOCUMENTS}),
        openai("request-4", "/score", {"model": ENCODER, "text_1": "Paris", "text_2": DOCUMENTS}),
        *(
            openai(url, url, {"model": ENCODER, "query": "capital of France", "documents": DOCUMENTS})
            for url in ("/rerank", "/v1/rerank", "/v2/rerank")
        ),
        openai("pooling", "/pooling", {"model": ENCODER, "input": "Hi"}),
        openai("tokenize", "/tokenize", {"model": ENCODER, "prompt": "Hi"}),
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
