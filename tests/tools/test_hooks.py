"""The submission hook alone: what it tells, what it refuses, and what it changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from openjd.model import DecodeValidationError, create_job, decode_job_template, preprocess_job_parameters

from rows.ranges import of_values
from support.hooks import BAD, GOOD, ROOT, SUITED, file_of, run_hook


@pytest.fixture
def five_hundred(tmp_path: Path) -> Path:
    return file_of(tmp_path, *map(json.dumps, GOOD))


def test_lines_that_would_be_left_out_are_told_and_let_through(five_hundred: Path) -> None:
    done = run_hook({"InputFile": str(five_hundred), "Prompts": None, "OutputDir": "out", "ChunkSize": 5})
    assert (done.returncode, done.stdout) == (0, "")
    assert "prompts.jsonl has 500 lines, 1-10 will run" in done.stderr


def test_all_becomes_the_file_s_own_range_in_the_parameter_and_in_the_template(five_hundred: Path) -> None:
    done = run_hook({"InputFile": str(five_hundred), "Prompts": "all", "BlockSize": 1, "ChunkSize": 5})
    changed = json.loads(done.stdout)
    assert changed["parameters"] == {"Prompts": "1-500"}
    template = yaml.safe_load(changed["template"])
    [parameter] = template["steps"][0]["parameterSpace"]["taskParameterDefinitions"]
    assert parameter["range"] == "1-500"
    assert "Param.Prompts" not in changed["template"]
    before = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
    assert template["parameterDefinitions"] == before["parameterDefinitions"]


def test_all_counts_blocks_where_a_range_value_is_a_block_of_lines(five_hundred: Path) -> None:
    done = run_hook({"InputFile": str(five_hundred), "Prompts": " ALL ", "BlockSize": 200, "ChunkSize": 5})
    assert json.loads(done.stdout)["parameters"] == {"Prompts": "1-3"}


@pytest.fixture
def many(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Give a file of so many lines."""
    return file_of(tmp_path, *(json.dumps(GOOD[n % 500]) for n in range(request.param)))


@pytest.mark.parametrize(("many", "prompts", "block", "chunk", "seconds", "tasks"), SUITED, indirect=["many"])
def test_sizes_that_nobody_chose_suit_the_file(
    many: Path, prompts: str, block: int, chunk: int, seconds: int, tasks: int
) -> None:
    changed = json.loads(run_hook({"InputFile": str(many), "Prompts": "all", "OutputDir": "out"}).stdout)
    wanted = {"Prompts": prompts, "BlockSize": block, "ChunkSize": chunk, "TargetRuntimeSeconds": seconds}
    same = {"TargetRuntimeSeconds"} if seconds == 120 else set()
    assert changed["parameters"] == {name: str(value) for name, value in wanted.items() if name not in same}
    infer = yaml.safe_load(changed["template"])["steps"][0]
    [values] = infer["parameterSpace"]["taskParameterDefinitions"]
    assert (values["range"], values["chunks"]["defaultTaskCount"]) == (prompts, chunk)
    assert f"--block-size={block}" in changed["template"]
    assert -(-len(of_values(prompts, 1)) // chunk) == tasks


@pytest.mark.parametrize(
    ("prompts", "changed"),
    [
        ("1-400", {"Prompts": "1-100", "BlockSize": "4", "ChunkSize": "100"}),
        ("1-499", {"Prompts": "1-1", "BlockSize": "499", "ChunkSize": "1"}),
        ("2-400", {"ChunkSize": "150"}),
        ("1-100", {"ChunkSize": "100"}),
        ("1-4,9", None),
    ],
    ids=["in whole blocks", "a prime number", "not from the first", "few", "five"],
)
def test_a_range_stays_the_lines_that_it_names(
    five_hundred: Path, prompts: str, changed: dict[str, str] | None
) -> None:
    printed = run_hook({"InputFile": str(five_hundred), "Prompts": prompts}).stdout
    assert (json.loads(printed)["parameters"] if printed else None) == changed
    if changed:
        lines = of_values(changed.get("Prompts", prompts), int(changed.get("BlockSize", "1")))
        assert lines.ranges == of_values(prompts, 1).ranges


def test_a_chunk_size_that_a_person_typed_counts_lines(five_hundred: Path) -> None:
    changed = json.loads(run_hook({"InputFile": str(five_hundred), "Prompts": "all", "ChunkSize": 5}).stdout)
    assert changed["parameters"] == {"Prompts": "1-500"}


def test_an_input_that_is_fetched_is_sized_by_the_lines_that_are_named() -> None:
    changed = json.loads(run_hook({"InputUrl": "http://127.0.0.1/x", "Prompts": "1-5000"}).stdout)["parameters"]
    assert (changed["Prompts"], changed["BlockSize"], changed["ChunkSize"]) == ("1-125", "40", "125")


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"InputFile": "/nowhere.jsonl"}, "does not exist"),
        ({}, "set InputFile"),
        ({"InputUrl": "http://127.0.0.1/x", "Prompts": "all"}, "needs InputFile"),
        ({"InputFile": "FILE", "SamplingParams": "{top_p: 1}"}, "SamplingParams must be a JSON object"),
        ({"InputFile": "FILE", "Prompts": "9-1"}, "9-1"),
        ({"InputFile": "FILE", "OutputField": "error"}, "OutputField"),
        ({"InputFile": "FILE", "PromptTemplateFile": "/nowhere.jinja"}, "PromptTemplateFile"),
        ({"InputFile": "FILE", "MaxAttempts": 0}, "MaxAttempts must be at least 1, got 0"),
        ({"InputUrl": "http://127.0.0.1/x", "GpuMemoryUtilization": 1.5}, "GpuMemoryUtilization must be at most 1"),
    ],
    ids=["no file", "no input", "all of a URL", "sampling", "range", "output field", "template", "bounds", "URL"],
)
def test_what_cannot_work_is_refused_with_the_reason(five_hundred: Path, parameters: dict[str, Any], told: str) -> None:
    given = {name: str(five_hundred) if value == "FILE" else value for name, value in parameters.items()}
    done = run_hook(given)
    assert (done.returncode, done.stdout) == (1, "")
    assert "NOT SUBMITTED" in done.stderr
    assert told in done.stderr


def test_some_bad_rows_are_named_and_do_not_stop_the_submission(tmp_path: Path) -> None:
    done = run_hook({"InputFile": str(file_of(tmp_path, '{"prompt": "fine"}', *BAD)), "Prompts": "1-4"})
    assert done.returncode == 0
    assert all(f"prompts.jsonl:{line}:" in done.stderr for line in (2, 3, 4))
    assert "prompts.jsonl:1:" not in done.stderr


def test_without_jinja2_a_prompt_template_goes_unchecked_and_is_said_so(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ text }}", encoding="utf-8")
    rows = file_of(tmp_path, '{"text": "x"}', '{"other": "x"}')
    program = (
        "import importlib.util as u, runpy, sys\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
        f"sys.path.insert(0, {str(ROOT / 'tools')!r})\n"
        f"runpy.run_path({str(ROOT / 'tools' / 'hook.py')!r}, run_name='__main__')\n"
    )
    given = {"InputFile": str(rows), "Prompts": "1-2", "PromptTemplateFile": str(template)}
    submission = json.dumps({"jobName": "LLM batch", "jobBundleDir": str(ROOT), "parameters": given})
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], input=submission, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "not checked: PromptTemplateFile" in done.stderr


def test_without_the_hook_all_is_refused_when_the_job_is_made() -> None:
    template = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
    decoded = decode_job_template(template=template, supported_extensions=template["extensions"])
    values = preprocess_job_parameters(
        job_template=decoded,
        job_parameter_values={"InputFile": "a.jsonl", "OutputDir": "out", "Prompts": "all"},
        job_template_dir=ROOT,
        current_working_dir=ROOT,
    )
    with pytest.raises(DecodeValidationError, match="all"):
        create_job(job_template=decoded, job_parameter_values=values)


def test_nothing_is_left_behind_in_the_folder_that_travels_with_jobs() -> None:
    run_hook({"InputFile": str(ROOT / "sample_prompts.jsonl")})
    assert not list((ROOT / "scripts").rglob("__pycache__"))
