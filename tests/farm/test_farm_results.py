"""Whatever happens to engines and workers, a job on a farm ends in one result for every line, and fails no healthy row.

Real: submission, agents, attachments, download and the bundle with its supervisor. The engine is the stand-in of
tests/support/fake_vllm, the scheduling the harness's own. The table of all cases is printed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.farm import Agent, Farm, Job, Outcomes, Table

pytestmark = pytest.mark.farm
BUNDLE = Path(__file__).resolve().parents[2]
LINES = 60
PAST = "2020-01-31T18:00:00+01:00"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("farm")


@pytest.fixture(scope="module")
def farm(folder: Path) -> Iterator[Farm]:
    environment = {
        "PYTHONPATH": str(BUNDLE / "tests" / "support" / "fake_vllm"),
        "FAKE_VLLM_ASKED": str(folder / "asked"),
        "FAKE_VLLM_GO": str(folder / "go"),
    }
    with Farm(folder, job_environment=environment) as started:
        yield started


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    made = Table()
    yield made
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n\n{made}")


@dataclass
class Case:
    """One job: its rows by their texts, and what it left."""

    farm: Farm
    table: Table
    folder: Path
    out: Path
    name: str

    @property
    def go(self) -> Path:
        """The file for which rows with "held" in them wait."""
        return self.folder / "go"

    def submit(self, special: Mapping[int, str], values: Mapping[str, object] | None = None, *options: str) -> Job:
        """Submit sixty rows, those with a special text among them, in chunks of twenty."""
        for name in ("asked", "go"):
            (self.folder / name).unlink(missing_ok=True)
        self.input = self.out / "input.jsonl"
        self.out.mkdir(parents=True, exist_ok=True)
        texts = [f"{special.get(line, 'row')} {line}" for line in range(1, LINES + 1)]
        rows = "".join(json.dumps({"id": line, "prompt": text}) + "\n" for line, text in enumerate(texts, 1))
        self.input.write_text(rows, encoding="utf-8")
        chosen = {"InputFile": self.input, "OutputDir": self.out, "Prompts": f"1-{LINES}", "ChunkSize": 20}
        chosen |= {"ModelName": "fake", "MaxConcurrency": 8, **(values or {})}
        return self.farm.submit(BUNDLE, chosen, options=options)

    def end(self, job: Job, status: str = "SUCCEEDED") -> Outcomes:
        """Wait for the job, fetch what it left, and enter it in the table."""
        assert self.farm.wait(job) == status
        self.farm.download(job)
        if status != "SUCCEEDED":
            self.merge()
        found = self.table.rows[self.name] = Outcomes.of(self.farm, job, self.out, self.folder / "asked")
        assert len(found.codes) == LINES
        return found

    def merge(self) -> None:
        """Merge by hand, as the README says for a job without its own output."""
        program = [sys.executable, "-B", BUNDLE / "scripts" / "aggregate.py"]
        command = [*program, f"--output-dir={self.out}", f"--input-file={self.input}", f"--prompts=1-{LINES}"]
        subprocess.run(command, check=True, capture_output=True)

    def wait_until_held(self) -> None:
        """Wait until a row with "held" in it was asked."""
        self.farm.wait_until(lambda: "held" in (self.folder / "asked").read_text() if self.asked else False, "held")

    @property
    def asked(self) -> bool:
        """Tell whether any row was asked yet."""
        return (self.folder / "asked").exists()


@pytest.fixture
def case(farm: Farm, table: Table, folder: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Case:
    name = request.node.name.removeprefix("test_").replace("_", " ")
    return Case(farm, table, folder, tmp_path / "out", name)


@pytest.fixture
def second(farm: Farm) -> Iterator[Agent]:
    agent = farm.start_agent()
    yield agent
    agent.close()


def codes(guilty: Mapping[int, str]) -> list[str]:
    """Return the outcomes of a job in which these lines fail and all others are answered."""
    return [guilty.get(line, "") for line in range(1, LINES + 1)]


def test_four_rows_kill_the_engine(case: Case) -> None:
    killers = dict.fromkeys((5, 25, 26, 27), "poison")
    found = case.end(case.submit(killers, None, "--max-retries-per-task", "0"))
    assert found.codes == codes(dict.fromkeys(killers, "server_crash"))
    assert found.loads <= 1 + 4 * len(killers)


def test_the_engine_dies_at_every_third_row(case: Case) -> None:
    found = case.end(case.submit({}, {"ModelName": "third"}, "--max-retries-per-task", "0"))
    assert found.codes == codes({})


def test_a_broken_worker_beside_a_good_one(case: Case, farm: Farm) -> None:
    broken = farm.start_agent(job_environment={"FAKE_VLLM": "broken"})
    try:
        job = case.submit({20: "held", 40: "held", 60: "held"})
        farm.wait_until(lambda: any(each.worker_id == broken.worker_id for each in farm.sessions(job)), "both work")
        farm.wait_until(lambda: any(task.failures for task in job.steps[0].tasks), "the broken worker gave up")
        case.go.touch()
        found = case.end(job)
    finally:
        broken.close()
    assert found.codes == codes({})
    assert all(task.failures <= 2 for task in job.steps[0].tasks)


def test_a_reclaimed_worker(case: Case, farm: Farm, second: Agent) -> None:
    job = case.submit({20: "held", 40: "held"}, None, "--max-retries-per-task", "0")
    lost = farm.wait_for_running_task(second, percent=1)
    farm.kill(second)
    case.go.touch()
    assert case.end(job).codes == codes({})
    assert lost.status == "RECLAIMED"


def test_a_spot_notice(case: Case, farm: Farm, second: Agent) -> None:
    job = case.submit({20: "held", 40: "held"}, None, "--max-retries-per-task", "0")
    interrupted = farm.wait_for_running_task(second, percent=1)
    second.give_spot_notice(seconds=20)
    second.wait()
    assert interrupted.status == "INTERRUPTED"
    case.go.touch()
    assert case.end(job).codes == codes({})


def test_a_cancel(case: Case, farm: Farm) -> None:
    job = case.submit({40: "held"})
    case.wait_until_held()
    farm.wait_until(lambda: job.counts["SUCCEEDED"] == 1, "the first chunk's end was told")
    farm.cancel(job)
    farm.wait_until(lambda: "canceled: nothing more is sent" in farm.log(farm.sessions(job)[0]), "it was heard")
    case.go.touch()
    assert case.end(job, "CANCELED").codes == codes(dict.fromkeys(range(21, LINES + 1), "missing"))


def test_a_deadline_that_has_passed(case: Case) -> None:
    found = case.end(case.submit({}, {"StopAt": PAST}, "--max-retries-per-task", "0"))
    assert found.codes == ["deadline"] * LINES
    assert (found.loads, found.asked.total()) == (0, 0)


def test_more_failures_than_MaxFailedPercent(case: Case) -> None:  # noqa: N802 - the parameter's name
    refused = {line: "refused" for line in range(1, LINES + 1) if line % 5 in (0, 1)}
    found = case.end(case.submit(refused, {"MaxFailedPercent": 20}, "--max-retries-per-task", "0"))
    assert found.counts["invalid_request"] >= 3 * 5  # a fifth of each chunk, and one more
    assert found.counts[""] + found.counts["invalid_request"] + found.counts["too_many_failures"] == LINES
    assert all(code != "invalid_request" or line in refused for line, code in enumerate(found.codes, 1))
    assert found.loads == 1


@pytest.fixture
def read_only_bundle(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "bundle"
    place.mkdir()
    subprocess.run(["mount", "--bind", BUNDLE, place], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_read_only_bundle_folder(case: Case, read_only_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not os.access(read_only_bundle, os.W_OK)
    monkeypatch.setattr(sys.modules[__name__], "BUNDLE", read_only_bundle)
    assert case.end(case.submit({})).codes == codes({})


def test_nothing_was_asked_of_the_api_that_it_does_not_know(farm: Farm) -> None:
    assert (farm.api.unknown, farm.api.errors) == ([], [])
