"""What a job asks of its workers where it starts no engine of its own."""

from __future__ import annotations

import ast
import json
import sys

import pytest
import yaml

from submission.template import CLIENT_PACKAGES, drop_engine
from support.hooks import ROOT, run_hook


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
