"""The submission hook: alone, and in real submissions to a farm on loopback with real agents and attachments."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from openjd.model import DecodeValidationError, create_job, decode_job_template, preprocess_job_parameters

from job.parameters import TABLE
from rows.ranges import of_values
from submission.template import CLIENT_PACKAGES, drop_engine
from support.fake_server import MODEL, FakeServer
from support.farm import Farm, Job

ROOT = Path(__file__).resolve().parents[2]
GOOD = [{"id": n, "prompt": f"Number {n}?"} for n in range(1, 501)]
BAD = ['{"prompt": 7}', "not JSON at all", '{"prompt": "x", "temperature": "hot"}']


def file_of(folder: Path, *lines: str, name: str = "prompts.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def five_hundred(tmp_path: Path) -> Path:
    return file_of(tmp_path, *map(json.dumps, GOOD))


def run_hook(parameters: dict[str, Any], *, name: str = "LLM batch", python: str = sys.executable) -> Any:
    """Run hooks.yaml's command as deadline does: JSON on stdin, JSON or nothing on stdout."""
    [hook] = yaml.safe_load((ROOT / "hooks.yaml").read_text(encoding="utf-8"))["preSubmission"]
    assert hook["command"] == "python3"
    given = {"jobName": name, "jobBundleDir": str(ROOT), "parameters": parameters}
    command = [python, *(str(ROOT / part) if (ROOT / part).exists() else part for part in hook["args"])]
    return subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)


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


SUITED = [(500, "1-100", 5, 100, 120, 1), (5_000, "1-100", 50, 100, 600, 1), (50_000, "1-1000", 50, 59, 600, 17)]


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


def amounts_of(template: str) -> dict[str, int] | None:
    """Return what the step Infer of a template asks of a worker, None where it asks for no amount."""
    asked = yaml.safe_load(template)["steps"][0]["hostRequirements"]
    assert asked["attributes"] == [{"name": "attr.worker.os.family", "anyOf": ["linux"]}]
    return {each["name"]: each["min"] for each in asked["amounts"]} if "amounts" in asked else None


@pytest.mark.parametrize("as_form", [False, True], ids=["as it is", "as the form writes it"])
def test_a_job_that_starts_no_engine_asks_for_no_gpu(as_form: bool) -> None:
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    if as_form:
        text = yaml.safe_dump(yaml.safe_load(text), sort_keys=False)
    assert amounts_of(text) == {"amount.worker.gpu": 1, "amount.worker.memory": 30720}
    assert amounts_of(drop_engine(text)) is None
    first = text[: text.index("name: amount.worker.gpu")].rpartition("\n")[2].rstrip("{")
    own = text.replace("amounts:\n", f"amounts:\n{first}{{name: amount.vllm.server, min: 1}}\n", 1)
    assert amounts_of(drop_engine(own)) == {"amount.vllm.server": 1}, "what a person added stays"


def test_requirements_that_the_form_s_own_page_set_stay() -> None:
    template = yaml.safe_load((ROOT / "template.yaml").read_text(encoding="utf-8"))
    for step in template["steps"]:
        step["hostRequirements"] = {"amounts": [{"name": "amount.worker.gpu", "min": 1}]}
    text = yaml.safe_dump(template, sort_keys=False)
    assert drop_engine(text) == text


def test_with_a_server_that_runs_the_hook_asks_for_any_worker_and_few_packages() -> None:
    given = {"InputUrl": "http://127.0.0.1/x", "ServerUrl": "http://127.0.0.1/v1", "ChunkSize": 10, "Prompts": "1-10"}
    changed = json.loads(run_hook(given).stdout)
    assert changed["parameters"] == {"CondaPackages": CLIENT_PACKAGES}
    assert amounts_of(changed["template"]) is None
    done = run_hook({**given, "CondaPackages": "python=3.11 vllm=0.19.1=cuda*"})
    assert done.stdout == "", "vLLM's packages want a GPU"
    assert "a worker without a GPU will do if CondaPackages is python=3.11 aiohttp" in done.stderr


def test_few_packages_are_all_that_the_worker_s_programs_import() -> None:
    found = set()
    for path in (ROOT / "scripts").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {name.partition(".")[0] for name in names}
    rooms = {path.stem for path in (ROOT / "scripts").iterdir()}
    assert found - set(sys.stdlib_module_names) - rooms - {"botocore"} <= set(CLIENT_PACKAGES.split())


# -- real submissions --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer() as started:
        yield started


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Copy what a submission reads, so that nothing here depends on the checkout's other files."""
    copy = tmp_path / "bundle"
    copy.mkdir()
    for name in ("template.yaml", "hooks.yaml"):
        shutil.copy(ROOT / name, copy)
    for name in ("scripts", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def set_hooks(farm: Farm, *, allowed: bool) -> None:
    farm.deadline("config", "set", "settings.allow_bundle_hooks", str(allowed).lower())


def values(server: FakeServer, rows: Path, out: Path, **more: object) -> list[str]:
    given = {"InputFile": rows, "OutputDir": out, "ServerUrl": server.url, "ModelName": MODEL, "ChunkSize": 150, **more}
    return [part for name, value in given.items() for part in ("--parameter", f"{name}={value}")]


def finish(farm: Farm, job: Job) -> None:
    state = farm.wait(job)
    assert state == "SUCCEEDED", "\n".join(farm.log(session) for session in farm.sessions(job))


def output_of(out: Path) -> list[dict[str, Any]]:
    text = (out / "output" / "output.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.farm
def test_a_file_of_bad_lines_is_not_submitted_and_nothing_is_uploaded(
    farm: Farm, server: FakeServer, bundle: Path, tmp_path: Path
) -> None:
    set_hooks(farm, allowed=True)
    jobs = len(farm.api.scheduler.jobs)
    given = values(server, file_of(tmp_path, *BAD, *["[]"] * 7), tmp_path / "out", Prompts="1-3")
    done = farm.deadline("bundle", "submit", ".", "--yes", *given, cwd=bundle, check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert all(f"prompts.jsonl:{line}:" in said for line in (1, 2, 3))
    assert "prompts.jsonl has 10 lines, 1-3 will run" in said
    assert "NOT SUBMITTED" in said
    assert "Upload Summary" not in said
    assert len(farm.api.scheduler.jobs) == jobs


@pytest.mark.farm
def test_the_real_submitter_takes_the_sizes_for_the_form_s_defaults(farm: Farm, bundle: Path, tmp_path: Path) -> None:
    """As the form does, every parameter is given; nothing of it runs."""
    set_hooks(farm, allowed=True)
    defaults = {each.name: each.default for each in TABLE if each.default not in (None, "")}
    for lines, prompts, block, chunk, seconds, tasks in SUITED:
        rows = file_of(tmp_path, *(json.dumps(GOOD[n % 500]) for n in range(lines)), name=f"{lines}.jsonl")
        given = {each.name: "" for each in TABLE} | defaults
        given |= {
            "InputFile": rows,
            "OutputDir": tmp_path / "out",
            "Prompts": "all",
            "JobScriptDir": bundle / "scripts",
        }
        job = farm.submit(bundle, given, options=("--max-failed-tasks-count", "0"))
        farm.api.scheduler.cancel(job)
        infer = job.steps[0]
        assert [task.values for task in infer.tasks][:1] == [f"1-{chunk}"]
        assert len(infer.tasks) == tasks
        [values] = infer.template["parameterSpace"]["taskParameterDefinitions"]
        kept = "{{Param.TargetRuntimeSeconds}}"  # at its default
        assert values["range"] == prompts
        assert values["chunks"]["targetRuntimeSeconds"] == (kept if seconds == 120 else seconds)
        assert f"--block-size={block}" in infer.template["stepEnvironments"][0]["script"]["actions"]["onEnter"]["args"]


@pytest.mark.farm
def test_all_on_a_file_of_500_lines_answers_500_and_the_job_keeps_its_name(
    farm: Farm, server: FakeServer, bundle: Path, tmp_path: Path, five_hundred: Path
) -> None:
    set_hooks(farm, allowed=True)
    given = values(server, five_hundred, tmp_path / "out", Prompts="all")
    done = farm.deadline("bundle", "submit", ".", "--yes", "--name", "Five hundred: all", *given, cwd=bundle)
    job = farm.job_in(done.stdout)
    assert job.name == "Five hundred: all"
    finish(farm, job)
    farm.download(job)
    found = output_of(tmp_path / "out")
    assert [row["id"] for row in found] == list(range(1, 501))
    assert {row["generated_text"] == f"echo: {row['prompt']}" for row in found} == {True}


@pytest.mark.farm
def test_with_hooks_off_the_same_bundle_submits_and_runs_what_it_is_told(
    farm: Farm, server: FakeServer, bundle: Path, tmp_path: Path, five_hundred: Path
) -> None:
    set_hooks(farm, allowed=False)
    done = farm.deadline("bundle", "submit", ".", "--yes", *values(server, five_hundred, tmp_path / "out"), cwd=bundle)
    job = farm.job_in(done.stdout)
    assert "will run" not in done.stdout + done.stderr
    finish(farm, job)
    farm.download(job)
    assert len(output_of(tmp_path / "out")) == 10
