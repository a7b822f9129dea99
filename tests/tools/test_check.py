"""tools/check.py: what it finds in an input."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import check
from checking import inspection
from engine.vllm_args import ArgumentsError
from job.defaults import Defaults
from rows.row import is_blank
from support.checking import FINE, ROOT, file_of, found_in
from support.pages.builder_worker import cases, line_of


def test_every_line_gets_the_worker_s_own_verdict(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    lines = [line_of(case).replace(b"\n", b" ") for case in cases()]
    path.write_bytes(b"\n".join([FINE.encode(), *lines]))
    checked = inspection.check({"InputFile": str(path), "Prompts": "all", "MaxModelLen": "1000000"}, keep=None)
    examples = checked.census.examples
    found = {each.line: each.code for code in examples for each in examples[code] if code != "would_be_refused"}
    expected = {
        line: case["code"] for line, case in enumerate(cases(), 2) if not case["ok"] and not is_blank(lines[line - 2])
    }
    assert found == expected


def test_the_counts_are_by_dialect_and_by_endpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        FINE,
        "",
        '{"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"prompt": "x"}}',
        '{"custom_id": "b", "params": {"max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}}',
        '{"input": {"prompt": "x"}}',
        '{"recordId": "r", "modelInput": {"prompt": "x"}}',
    ]
    status, found = found_in(capsys, file_of(tmp_path, *lines))
    assert status == 0
    assert found["dialects"] == {"prompt": 1, "openai": 1, "anthropic": 1, "runpod": 1, "bedrock": 1}
    assert found["endpoints"] == {"/v1/completions": 3, "/v1/chat/completions": 1, "/v1/messages": 1}
    assert (found["input"]["lines"], found["blank"], found["rows"]) == (6, 1, 5)


def test_models_that_rows_name_and_the_job_does_not_serve_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = '{"prompt": "x", "model": "Qwen/Qwen2.5-7B-Instruct"}'
    named = ['{"prompt": "x", "model": "gpt-4o-mini"}', '{"id": 1, "input": {"prompt": "x", "model": "gpt-4o-mini"}}']
    assert check.main([file_of(tmp_path, FINE, own)]) == 0
    assert "name models of their own" not in capsys.readouterr().out
    assert check.main([file_of(tmp_path, FINE, named[0])]) == 0
    said = capsys.readouterr().out
    assert "1 name 'gpt-4o-mini'" in said
    assert "answers for every name; ModelInRows=error refuses them instead" in said
    assert check.main([file_of(tmp_path, FINE, named[0]), "--model-in-rows", "error"]) == 1
    assert '"gpt-4o-mini" is not served' in capsys.readouterr().out
    assert check.main([file_of(tmp_path, FINE, named[0]), "--vllm-args", "--lora-modules a=/x"]) == 0
    assert "a server with adapters refuses names" in capsys.readouterr().out
    assert check.main([file_of(tmp_path, FINE, own, *[f'{{"prompt": "x", "model": "m{n}"}}' for n in range(99)])]) == 0
    assert "79 name 'other models'" in capsys.readouterr().out


def test_rows_for_two_kinds_of_model_are_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embedding = '{"custom_id": "e", "method": "POST", "url": "/v1/embeddings", "body": {"input": "x"}}'
    assert check.main([file_of(tmp_path, FINE, embedding)]) == 0
    assert "more than one kind of model" in capsys.readouterr().out


@pytest.mark.parametrize("row", ['{"query": "q", "documents": ["d"]}', '{"text_1": "a", "text_2": "b"}'])
def test_rows_of_a_comparing_model_are_no_mistake(row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = found_in(capsys, file_of(tmp_path, row))
    assert (status, found["failing"]) == (0, 0)


def test_a_problem_has_its_line_its_code_and_its_mending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, FINE, "broken", '{"prompt": 3}')
    assert check.main([path]) == 1
    text = capsys.readouterr().out
    assert "prompts.jsonl:2: not JSON" in text
    assert "to mend:" in text
    assert 'prompts.jsonl:3: "prompt" must be a text, got 3' in text


def test_ids_that_appear_again_are_told_and_fail_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ['{"id": "a", "prompt": "x"}', '{"id": 1, "prompt": "x"}', '{"id": "1", "prompt": "x"}']
    lines += ['{"id": "a", "prompt": "y"}', '{"id": null, "prompt": "x"}', '{"id": [2], "prompt": "x"}']
    status, found = found_in(capsys, file_of(tmp_path, *lines))
    assert (status, found["duplicate_ids"]) == (0, {"count": 1, "lines": [[1, 4]]})


def test_several_processes_find_what_one_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [FINE, "broken", '{"id": "again", "prompt": "x"}', "", json.dumps({"prompt": "word " * 9000})] * 7
    given = {"InputFile": file_of(tmp_path, *lines), "Prompts": "1-12,14-34:2"}
    alone = inspection.check(given)
    monkeypatch.setattr(inspection, "SHARED_LINES", 10)
    shared = inspection.check(given)
    assert [shared.asked, shared.duplicates, shared.pairs] == [alone.asked, alone.duplicates, alone.pairs]
    for name in ("lines", "blank", "sound", "codes", "examples", "by_dialect", "by_route", "by_kind", "prompt_tokens"):
        assert getattr(shared.census, name) == getattr(alone.census, name)
    assert shared.census.longest == alone.census.longest


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", 1, 2, True, 1.5, [1], None]), max_size=12))
def test_duplicates_are_those_that_a_plain_search_finds(values: list[Any]) -> None:
    counted = inspection.Census(Defaults(), "m", None)
    for line, value in enumerate(values, 1):
        counted.add(line, json.dumps({"prompt": "x", "id": value}).encode())
    kinds = [(type(value).__name__, repr(value)) for value in values]
    again = [place for place, kind in enumerate(kinds) if values[place] is not None and kind in kinds[:place]]
    assert sorted(later - 1 for _, later in counted.duplicates()) == again


def test_a_prompt_longer_than_the_context_may_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, FINE, json.dumps({"prompt": "word " * 4000}))
    status, found = found_in(capsys, path, "--max-model-len", "2048")
    assert (status, found["problems"], found["examples"][0]["line"]) == (1, {"may_not_fit": 1}, 2)
    assert found["longest_prompt"] == {"line": 2, "tokens": 5004}
    assert found_in(capsys, path, "--server-url", "http://127.0.0.1/v1")[0] == 0


def test_a_row_s_own_limit_of_tokens_must_leave_room_and_the_job_s_gives_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = file_of(tmp_path, FINE, '{"prompt": "x", "max_tokens": 5000}')
    assert found_in(capsys, own)[1]["problems"] == {"too_long": 1}
    assert found_in(capsys, file_of(tmp_path, FINE), "--max-tokens", "100000")[0] == 0


def test_a_data_url_of_an_image_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + base64.b64encode(bytes(99999)).decode()},
    }
    row = {"messages": [{"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]}]}
    status, found = found_in(capsys, file_of(tmp_path, json.dumps(row)))
    assert (status, found["estimate"]["prompt_tokens"]) == (0, 7)


def test_a_prompt_template_is_rendered_and_a_field_that_a_row_lacks_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("Say {{ word }}", encoding="utf-8")
    path = file_of(tmp_path, '{"word": "tea"}', '{"words": "tea"}')
    status, found = found_in(capsys, path, "--prompt-template-file", str(template))
    assert (status, found["problems"], found["examples"][0]["line"]) == (1, {"template_error": 1}, 2)


def test_a_packed_file_is_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "prompts.jsonl.gz"
    path.write_bytes(gzip.compress(f"{FINE}\n{FINE}".encode()))
    assert found_in(capsys, str(path))[1]["sound"] == 2


def test_the_judge_of_the_examples_judges_every_sample(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (ROOT / "sample_prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    answered = [json.dumps({**row, "generated_text": "An answer."}) for row in rows]
    judge = {"PromptTemplateFile": str(ROOT / "examples" / "judge.jinja")}
    checked = inspection.check({"InputFile": file_of(tmp_path, *answered), "Prompts": "all", **judge})
    assert checked.census.sound == len(rows)


@pytest.mark.parametrize(("temperature", "notes"), [("2", 0), ("2.5", 1)])
def test_a_temperature_that_newer_vllm_refuses_is_said(temperature: str, notes: int, tmp_path: Path) -> None:
    checked = inspection.check({"InputFile": file_of(tmp_path, FINE), "Prompts": "all", "Temperature": temperature})
    assert " ".join(inspection.notes(checked)).count("newer vLLM refuses a Temperature above 2") == notes


def test_vllm_args_that_cannot_be_used_are_refused_before_submission(tmp_path: Path) -> None:
    with pytest.raises(ArgumentsError, match="no hyphen"):
        inspection.check({"InputFile": file_of(tmp_path, FINE), "VllmArgs": "–-max-num-seqs 8"})


def test_what_vllm_args_change_and_misspell_is_said(tmp_path: Path) -> None:
    arguments = "--max-model-len 256 --max-num-sequences 8 --no-enable-prefix-caching --lora-modules a=/x"
    rows = [FINE, '{"prompt": "x", "model": "a"}', '{"prompt": "x", "model": "b"}']
    checked = inspection.check({"InputFile": file_of(tmp_path, *rows), "VllmArgs": arguments})
    said = inspection.notes(checked)
    assert said[0] == "VllmArgs says 256 where MaxModelLen is 4096; VllmArgs wins"
    assert said[1] == "VllmArgs: vLLM has no --max-num-sequences; is --max-num-seqs meant?"
    assert checked.census.max_model_len == 256
    assert dict(checked.census.by_model) == {"b": 1}
