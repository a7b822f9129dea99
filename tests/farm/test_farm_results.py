"""Whatever happens to engines and workers, a job on a farm ends in one result for every line, and fails no healthy row.

Real: submission, agents, attachments, download and the bundle with its supervisor. The engine is the stand-in of
tests/support/fake_vllm, the scheduling the harness's own. The table of all cases is printed at the end.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from asking.trust import GUILTY_LIMIT
from support.farm import Agent, Farm, Table
from support.farm.boto3_alone import link_boto3
from support.farm.case import BUNDLE, LINES, Case
from support.scripted_server import scripted, status

pytestmark = pytest.mark.farm
PAST = "2020-01-31T18:00:00+01:00"
BROKEN_LOADS = 1 + 2 * GUILTY_LIMIT  # two deaths at the most find a row guilty, each is followed by a load


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("farm")


@pytest.fixture(scope="module")
def farm(folder: Path) -> Iterator[Farm]:
    brought = [str(BUNDLE / "tests" / "support" / "fake_vllm"), str(link_boto3(folder / "boto3"))]
    environment = {
        "PYTHONPATH": os.pathsep.join(brought),
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
    loads = [farm.log(session).count("| model load ") for session in farm.sessions(job, "Infer")]
    assert max(loads) <= BROKEN_LOADS


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


def test_a_reclaimed_worker_whose_rows_are_kept(case: Case, farm: Farm, second: Agent) -> None:
    job = case.submit({20: "held", 40: "held"}, {"KeepRowsSeconds": 1}, "--max-retries-per-task", "0")
    lost = farm.wait_for_running_task(second, percent=1)
    whole = [19, 19]  # rows of each chunk that is held
    farm.wait_until(lambda: [copy.count(b'"succeeded"') for copy in case.copies(job)] == whole, "both were copied")
    farm.kill(second)
    case.go.touch()
    found = case.end(job)
    assert lost.status == "RECLAIMED"
    assert found.codes == codes({})
    assert found.asked.total() == LINES + 1, "only what was in flight is asked twice"
    assert case.copies(job) == []


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


def test_an_InputUrl_that_is_gone_before_Aggregate(case: Case) -> None:  # noqa: N802 - the parameter's name
    with scripted(lambda request: request.reply(200, case.input.read_bytes()), status(403)) as store:
        values = {"InputFile": None, "InputUrl": f"{store.base}/in.jsonl?sig=hush"}
        found = case.end(case.submit({30: "refused"}, values, "--max-retries-per-task", "0"))
        assert [path for _, path, *_ in store.seen] == ["/in.jsonl?sig=hush"] * 2
    assert found.codes == codes({30: "invalid_request"})
    retry = (case.out / "output" / "retry.jsonl").read_bytes()
    assert retry == case.input.read_bytes().splitlines(keepends=True)[29]


def test_a_worker_that_begins_after_InputUrl_expired(case: Case, farm: Farm) -> None:  # noqa: N802
    with scripted(lambda request: request.reply(200, case.input.read_bytes()), status(403)) as store:
        values = {"InputFile": None, "InputUrl": f"{store.base}/in.jsonl?sig=hush", "KeepRowsSeconds": 60}
        job = case.submit({20: "held", 40: "held"}, values, "--max-retries-per-task", "0")
        case.wait_until_held()
        late = farm.start_agent()
        try:
            farm.wait_for_running_task(late, percent=1)
            case.go.touch()
            found = case.end(job)
        finally:
            late.close()
    assert found.codes == codes({})
    assert found.sessions == 2


@pytest.fixture
def read_only_bundle(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "bundle"
    place.mkdir()
    subprocess.run(["mount", "--bind", BUNDLE, place], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_read_only_bundle_folder(case: Case, read_only_bundle: Path) -> None:
    assert not os.access(read_only_bundle, os.W_OK)
    case.bundle = read_only_bundle
    assert case.end(case.submit({})).codes == codes({})


def test_nothing_was_asked_of_the_api_that_it_does_not_know(farm: Farm) -> None:
    assert (farm.api.unknown, farm.api.errors) == ([], [])
