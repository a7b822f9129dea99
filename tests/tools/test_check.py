"""tools/check.py: what it finds in an input, what it advises, and that it stays small."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import check
from checking import advice, inspection
from engine.vllm_args import ArgumentsError
from job.defaults import Defaults
from rows import ranges
from rows.row import is_blank
from support.pages.builder_worker import cases, line_of

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
FINE = '{"id": 1, "prompt": "What is tea?"}'


def file_of(folder: Path, *lines: str) -> str:
    path = folder / "prompts.jsonl"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return str(path)


def found_in(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = check.main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


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


def test_the_first_problems_of_a_kind_are_shown_and_with_all_every_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, FINE, *["broken"] * 20)
    check.main([path])
    assert "and 15 more" in capsys.readouterr().out
    check.main([path, "--all"])
    every = capsys.readouterr().out
    assert all(f"prompts.jsonl:{line}: " in every for line in range(2, 22))
    assert len(found_in(capsys, path, "--all")[1]["examples"]) == 20


def test_a_row_cannot_colour_the_terminal_or_forge_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check.main([file_of(tmp_path, '{"prompt": "x", "temperature": "\\u001b[31m\\nnote: all is well"}')])
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "\nnote: all is well" not in text


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


@pytest.mark.parametrize("tool", ["check.py", "make_rows.py", "hook.py", "submit.py"])
def test_the_tools_need_nothing_but_python(tool: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, FINE)
    arguments = {"check.py": [path], "make_rows.py": [path], "hook.py": [], "submit.py": ["--help"]}[tool]
    submission = json.dumps({"jobName": "", "jobBundleDir": str(ROOT), "parameters": {"InputFile": path}})
    command = [sys.executable, "-S", "-B", str(ROOT / "tools" / tool), *arguments]  # -S: no installed packages
    done = subprocess.run(command, input=submission, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_packed_file_is_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "prompts.jsonl.gz"
    path.write_bytes(gzip.compress(f"{FINE}\n{FINE}".encode()))
    assert found_in(capsys, str(path))[1]["sound"] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["/nowhere.jsonl"], "does not exist"),
        (["FILE", "--sampling-params", "[]"], "SamplingParams"),
        (["FILE", "--prompts", "5-1"], "5-1"),
        (["FILE", "--max-tokens", "many"], "MaxTokens"),
        (["FILE", "--temperature", "-2"], "Temperature"),
        (["FILE", "--temperature", "nan"], "Temperature"),
        (["FILE", "--block-size", "0"], "BlockSize"),
        (["FILE", "--chunk-size", "151"], "ChunkSize must be at most 150"),
        (["FILE", "--endpoint", "/sleep"], "Endpoint must be one of"),
        (["FILE", "--server-url", "ftp://x"], "ServerUrl must begin with http"),
        (["CSV"], "no line that begins a JSON object"),
        (["FILE", "--prompts", "1-99999999999999999999"], "line numbers end at"),
        (["FILE", "--max-tokens", "9" * 5_000], "at most 9 digits"),
        (["FILE", "--summary", "FILE"], "prompts.jsonl is not JSON (Extra data"),
    ],
)
def test_what_cannot_be_used_at_all_ends_with_2(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("id,text\n1,a\n", encoding="utf-8")
    files = {"FILE": file_of(tmp_path, FINE, FINE), "CSV": str(table)}
    status, found = found_in(capsys, *[files.get(each, each) for each in arguments])
    assert status == 2
    assert told in found["error"]


def test_a_file_of_which_no_row_could_succeed_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found_in(capsys, file_of(tmp_path, "broken", "", "[]"))[0] == 2


@pytest.mark.parametrize("lines", [1, 9, 500, 15_000, 15_001, 1_000_000, 50_000_000])
@pytest.mark.parametrize("workers", [1, 8])
def test_the_suggested_sizes_cover_the_file_and_the_template_takes_them(lines: int, workers: int) -> None:
    sizes = advice.sizes(lines, workers)
    bounds = {each["name"]: (each.get("minValue"), each.get("maxValue")) for each in TEMPLATE["parameterDefinitions"]}
    for name in ("BlockSize", "ChunkSize", "TargetRuntimeSeconds"):
        low, high = bounds[name]
        assert low <= getattr(sizes, name) <= high
    covered = ranges.of_values(sizes.Prompts, sizes.BlockSize)
    assert lines <= len(covered) < lines + sizes.BlockSize
    assert sizes.BlockSize * sizes.ChunkSize <= 2 * advice.LARGEST_TASK
    assert (sizes.BlockSize == 1) == (lines <= advice.PLAIN_LINES)


def test_an_earlier_summary_replaces_every_guess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = tmp_path / "summary.json"
    earlier = {
        "succeeded": 10,
        "seconds": 5,
        "prompt_tokens": 100,
        "completion_tokens": 900,
        "workers": 1,
        "model": "m",
    }
    summary.write_text(json.dumps(earlier), encoding="utf-8")
    path = file_of(tmp_path, *[FINE] * 720)
    guessed = found_in(capsys, path, "--price-per-hour", "2")[1]["estimate"]
    assert "guess" in " ".join(guessed["assumptions"])
    found = found_in(capsys, path, "--price-per-hour", "2", "--summary", str(summary))[1]["estimate"]
    assert (found["prompt_tokens"], found["answer_tokens"]) == (7_200, 64_800)
    assert found["worker_hours"] == round((72_000 / 200 + advice.ASSUMED_LOAD) / 3600, 3)
    assert found["cost"] == round(found["worker_hours"] * 2, 2)
    assert "guess" not in " ".join(found["assumptions"])


FIGURES = {"succeeded": "1", "seconds": "1", "prompt_tokens": "1", "completion_tokens": "1", "workers": "1"}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("value", ["1e400", "NaN", "-1", "1" + "0" * 400], ids=lambda value: value[:9])
def test_a_summary_with_a_figure_that_is_none_is_refused_by_its_name(
    name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.json"
    summary.write_text("{" + ", ".join(f'"{n}": {v}' for n, v in {**FIGURES, name: value}.items()) + "}")
    status, found = found_in(capsys, file_of(tmp_path, FINE), "--summary", str(summary))
    assert (status, found["error"].partition(";")[0]) == (2, f'{summary}: "{name}" is missing or no count')


@pytest.mark.parametrize("name", ["max_tokens", "n"])
def test_a_row_that_asks_for_more_tokens_than_there_are_is_estimated(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, f'{{"prompt": "x", "{name}": {"9" * 400}}}')
    assert found_in(capsys, path, "--server-url", "http://127.0.0.1/v1")[0] == 0


def test_sizes_that_are_given_stay_in_what_suits_the_whole_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--block-size", "100", "--chunk-size", "3", "--prompts", "1")
    suggested = found_in(capsys, file_of(tmp_path, *[FINE] * 250), *given)[1]["suggested"]
    assert [suggested[name] for name in ("Prompts", "BlockSize", "ChunkSize")] == ["1-3", "100", "3"]


def test_the_judge_of_the_examples_judges_every_sample(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (ROOT / "sample_prompts.jsonl").read_text(encoding="utf-8").splitlines()]
    answered = [json.dumps({**row, "generated_text": "An answer."}) for row in rows]
    judge = {"PromptTemplateFile": str(ROOT / "examples" / "judge.jinja")}
    checked = inspection.check({"InputFile": file_of(tmp_path, *answered), "Prompts": "all", **judge})
    assert checked.census.sound == len(rows)


def test_no_cost_is_named_without_a_price(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(tmp_path, FINE)
    assert found_in(capsys, path)[1]["estimate"]["cost"] is None
    check.main([path])
    assert "cost: " not in capsys.readouterr().out


def test_the_trial_s_commands_carry_the_parameters_that_were_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, *[FINE] * 30)
    farm, here = found_in(capsys, path, "--max-tokens", "64", "--system-prompt", "Be brief")[1]["trial"]
    assert "--parameter Prompts=1-10" in farm
    assert "--parameter MaxTokens=64 " in farm
    assert "'SystemPrompt=Be brief'" in here
    assert here.startswith(f"python3 tools/run_local.py --input {path} --prompts 1-10")


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"id": {n}, "prompt": "{"x" * 400}"}}\n' for n in range(40_000))  # 17 MB
    program = "import sys, check; check.main(sys.argv[1:]); print(open('/proc/self/status').read(), file=sys.stderr)"
    command = [sys.executable, "-B", "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "tools")
    peak = int(done.stderr.partition("VmHWM:")[2].split()[0]) * 1024
    assert peak < 60e6  # a start of about 40 MB, and 16 bytes a line


def test_a_value_of_several_lines_is_tried_by_the_command_that_keeps_it_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(tmp_path, FINE)
    farm, _ = found_in(capsys, path, "--system-prompt", "Be brief.\nBe kind.")[1]["trial"]
    assert farm.startswith(f"python3 tools/submit.py {path} --prompts 1-1 --output-dir trial")
    assert "'SystemPrompt=Be brief.\nBe kind.' -p ChunkSize=1" in farm


@pytest.mark.parametrize(("temperature", "notes"), [("2", 0), ("2.5", 1)])
def test_a_temperature_that_newer_vllm_refuses_is_said(temperature: str, notes: int, tmp_path: Path) -> None:
    checked = inspection.check({"InputFile": file_of(tmp_path, FINE), "Prompts": "all", "Temperature": temperature})
    assert " ".join(inspection.notes(checked)).count("newer vLLM refuses a Temperature above 2") == notes


@pytest.mark.parametrize("option", ["--tokens-per-second", "--price-per-hour", "--workers"])
@pytest.mark.parametrize("value", ["0", "-5", "nan", "inf", "x", "9" * 400], ids=lambda value: value[:9])
def test_a_rate_or_price_that_is_none_is_refused(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        check.main([file_of(tmp_path, FINE), f"{option}={value}"])
    kind = "whole number" if option == "--workers" else "number"
    assert f"{value!r} is no {kind} above 0" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-B", str(ROOT / "tools/check.py"), file_of(tmp_path, *["x"] * 9_000), "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as checking:
        assert checking.stdout is not None
        assert checking.stderr is not None
        checking.stdout.readline()
        checking.stdout.close()
        assert checking.stderr.read() == b""


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
