"""The farm harness itself, with a small job of plain Python: what a farm has to do before the bundle is run on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.farm import Agent, Farm, Job

pytestmark = pytest.mark.farm
TINY = Path(__file__).resolve().parents[1] / "support" / "farm" / "tiny_bundle"


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    with Farm(tmp_path_factory.mktemp("farm")) as started:
        yield started


@pytest.fixture
def switches(tmp_path: Path) -> Path:
    folder = tmp_path / "switches"
    folder.mkdir()
    return folder


@pytest.fixture
def second(farm: Farm) -> Iterator[Agent]:
    agent = farm.start_agent()
    yield agent
    agent.close()


def submit(farm: Farm, folder: Path, *options: str, numbers: str = "1-4") -> Job:
    word = folder / "word.txt"
    word.write_text("squared", encoding="utf-8")
    values = {"InputFile": word, "OutputDir": folder / "out", "Numbers": numbers, "Switches": folder / "switches"}
    return farm.submit(TINY, values, options=options)


def total(folder: Path) -> list[str]:
    return (folder / "out" / "total.txt").read_text(encoding="utf-8").splitlines()


def squares(last: int) -> list[str]:
    return [f"{number} squared {number * number}" for number in range(1, last + 1)]


def alive(switches: Path) -> list[str]:
    names = [marker.name.rpartition("-")[2] for marker in switches.glob("companion-*")]
    return [name for name in names if Path("/proc", name).exists()]


def test_a_submitted_job_runs_in_one_session_a_step_and_its_output_downloads(
    farm: Farm, tmp_path: Path, switches: Path
) -> None:
    job = submit(farm, tmp_path)
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)
    assert total(tmp_path) == squares(4)
    [work] = farm.sessions(job, "Work")
    kinds = ["syncInputJobAttachments", "envEnter", "taskRun", "taskRun", "envExit"]
    assert [action.kind for action in work.actions] == kinds
    assert {action.status for action in work.actions} == {"SUCCEEDED"}
    assert work.tasks_done == ["1-2", "3-4"]
    assert "chunk 3-4 started" in farm.log(work)
    show = ("job", "logs", "--job-id", job.id, "--session-id", work.id, "--limit", "1000")
    farm.wait_until(lambda: "chunk 3-4 started" in farm.deadline(*show).stdout, "the log reached CloudWatch Logs")
    assert alive(switches) == []


def test_a_failed_task_is_tried_again_in_a_new_session_that_enters_the_environment_again(
    farm: Farm, tmp_path: Path, switches: Path
) -> None:
    (switches / "fail-3").touch()
    job = submit(farm, tmp_path)
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)
    assert total(tmp_path) == squares(4)
    first, second = farm.sessions(job, "Work")
    assert first.of_kind("taskRun")[-1].exit_code == 1
    assert first.actions[-1].kind == "envExit"
    assert second.tasks_done == ["3-4"]


def test_a_task_that_fails_beyond_its_retries_fails_the_job_and_the_dependent_step_never_runs(
    farm: Farm, tmp_path: Path, switches: Path
) -> None:
    (switches / "always-fail-3").touch()
    job = submit(farm, tmp_path, "--max-retries-per-task", "1")
    assert farm.wait(job) == "FAILED"
    assert job.counts == {"SUCCEEDED": 1, "FAILED": 1, "READY": 1}
    assert farm.sessions(job, "Gather") == []
    failed = [one for session in farm.sessions(job) for one in session.actions if one.status == "FAILED"]
    assert [action.messages[-1] for action in failed] == ["3 always fails"] * 2


def test_an_environment_that_fails_to_enter_is_left_again_and_costs_no_task_a_retry(
    farm: Farm, tmp_path: Path, switches: Path
) -> None:
    (switches / "enter-fails").touch()
    job = submit(farm, tmp_path, "--max-retries-per-task", "1")
    assert farm.wait(job) == "SUCCEEDED"
    first, _ = farm.sessions(job, "Work")
    assert [action.status for action in first.actions] == ["SUCCEEDED", "FAILED", "NEVER_ATTEMPTED", "SUCCEEDED"]
    assert first.of_kind("envEnter")[0].exit_code == 3
    assert all(task.failures == 0 for task in job.steps[0].tasks)


def test_a_cancelled_job_notifies_the_running_task_and_exits_its_environment(
    farm: Farm, tmp_path: Path, switches: Path
) -> None:
    (switches / "hold-1").touch()
    job = submit(farm, tmp_path)
    farm.wait_for_running_task(farm.agents[0])
    farm.cancel(job)
    assert farm.wait(job) == "CANCELED"
    [session] = farm.sessions(job)
    assert [action.status for action in session.actions] == ["SUCCEEDED", "SUCCEEDED", "CANCELED", "SUCCEEDED"]
    assert (switches / "noticed-1-2").exists()
    assert alive(switches) == []


def test_two_agents_share_a_job_and_one_killed_in_mid_chunk_loses_nothing(
    farm: Farm, second: Agent, tmp_path: Path, switches: Path
) -> None:
    (switches / "hold-1").touch()
    (switches / "hold-3").touch()
    job = submit(farm, tmp_path, numbers="1-6")
    lost = farm.wait_for_running_task(second, percent=50)
    kept = farm.wait_for_running_task(farm.agents[0], percent=50)
    assert len(alive(switches)) == 2
    farm.kill(second)
    assert len(alive(switches)) == 1
    (switches / "hold-1").unlink()
    (switches / "hold-3").unlink()
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)
    assert total(tmp_path) == squares(6)
    assert (lost.status, kept.status) == ("RECLAIMED", "SUCCEEDED")
    assert lost.task
    assert (lost.task.attempts, lost.task.failures) == (2, 0)


def test_a_spot_notice_interrupts_the_task_and_another_agent_takes_it_without_a_retry(
    farm: Farm, second: Agent, tmp_path: Path, switches: Path
) -> None:
    (switches / "hold-1").touch()
    (switches / "hold-3").touch()
    job = submit(farm, tmp_path, "--max-retries-per-task", "0")
    interrupted = farm.wait_for_running_task(second)
    farm.wait_for_running_task(farm.agents[0])
    second.give_spot_notice(seconds=120)
    second.wait()
    assert interrupted.status == "INTERRUPTED"
    assert interrupted.messages[-1] == "The Worker received an EC2 spot interruption"
    assert interrupted.task
    assert (switches / f"noticed-{interrupted.task.values}").exists()
    (switches / "hold-1").unlink()
    (switches / "hold-3").unlink()
    assert farm.wait(job) == "SUCCEEDED"
    farm.download(job)
    assert total(tmp_path) == squares(4)
    assert alive(switches) == []


def test_nothing_was_asked_of_the_api_that_it_does_not_know(farm: Farm) -> None:
    assert (farm.api.unknown, farm.api.errors) == ([], [])
