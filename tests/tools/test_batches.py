"""Batches' states: what survives a kill, what a cancel and the end of time leave, and who may ask."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import batch_api
from batches import batch as batch_module
from batches import kept_files, uploads
from batches.batch import Batch, Batches, Repeat, State, make_batch
from batches.kept_files import KeptFile, KeptFiles
from batches.models import Models, ModelsError, make_single, read_models
from batches.store import Store, draw_id
from batches.work import Work
from submission.arrivals import Count
from support.batch_server import wait_for
from support.pretend_farm import DyingFace, Killed, PretendFarm

SERVER = {"ServerUrl": "http://127.0.0.1:1"}
POINTS = ("submitting", "submitted", "running", "ended", "finalizing")


@dataclass
class Program:
    """One life of the program on a data folder."""

    folder: Path
    farm: PretendFarm
    models: Models

    def __post_init__(self) -> None:
        self.store = Store(self.folder, batch_module.SCHEMA, kept_files.SCHEMA, uploads.SCHEMA)
        self.batches, self.files = Batches(self.store), KeptFiles(self.store)
        face = DyingFace(self.files, self.models, farm=self.farm)
        self.work = Work(self.batches, self.farm, self.models, {"openai": face})

    def create(self, *lines: str, seconds: int = 3600) -> Batch:
        content = "".join(line + "\n" for line in lines).encode()
        file = KeptFile(draw_id("file-"), "x", "batch", len(content), 1)
        self.files.path(file.id).write_bytes(content)
        self.files.add(file)
        spec = {"input_file_id": file.id, "endpoint": "/v1/chat/completions", "completion_window": "1h"}
        return self.batches.add(make_batch("openai", "batch_", spec, seconds))[0]

    def finish(self, batch: Batch) -> Batch:
        found: Batch = wait_for(lambda: self.batches.get(batch.id), lambda each: each.is_ended)
        return found

    def read(self, name: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.files.path(name).read_text().splitlines()]

    def die(self) -> None:
        """Wait until nothing of it runs any more, and leave everything as it is."""
        self.work.stop()
        self.store.close()


def line(custom_id: str) -> str:
    asked = {"messages": [{"role": "user", "content": "x"}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": asked})


@pytest.fixture
def farm() -> PretendFarm:
    return PretendFarm()


@pytest.fixture
def models() -> Models:
    return make_single(SERVER)


@pytest.fixture
def program(tmp_path: Path, farm: PretendFarm, models: Models) -> Iterator[Program]:
    started = Program(tmp_path / "data", farm, models)
    yield started
    started.die()


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_program_goes_on_with_one_job(
    point: str, tmp_path: Path, farm: PretendFarm, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = threading.Event()
    farm.dies = point
    first = Program(tmp_path / "data", farm, models)
    submit = first.work._try

    def watched(*step: object) -> None:
        try:
            submit(*step)  # type: ignore[arg-type]
        except Killed:
            died.set()

    monkeypatch.setattr(first.work, "_try", watched)
    batch = first.create(line("a"), "no json", line("b"))
    first.work.start()
    died.wait()
    first.die()

    second = Program(tmp_path / "data", farm, models)
    left = second.batches.get(batch.id)
    assert left
    assert not left.is_ended
    second.work.start()
    ended = second.finish(batch)
    assert (ended.state, ended.succeeded, ended.failed) == (State.COMPLETED, 2, 1)
    assert farm.jobs == {batch.id: 1}
    assert [each["custom_id"] for each in second.read(ended.results["output_file_id"])] == ["a", "b"]
    assert len(second.files.page(100, after=None, newest_first=True, purpose="batch_output")) == 2
    second.die()


@pytest.mark.parametrize("state", [State.VALIDATING, State.QUEUED])
def test_a_batch_that_waits_is_cancelled_without_a_job(
    state: State, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = program.create(line("a"), line("b"))
    if state == State.QUEUED:
        with monkeypatch.context() as busy:
            busy.setattr(program.work, "take", lambda _: None)
            program.work._prepare(batch.id)
    program.work.cancel(batch.id)
    program.work.start()
    ended = program.finish(batch)
    assert (ended.state, ended.failed) == (State.CANCELLED, 2)
    assert not program.farm.jobs
    errors = program.read(ended.results["error_file_id"])
    assert [each["error"]["code"] for each in errors] == ["batch_cancelled"] * 2  # type: ignore[index]


def test_a_batch_whose_time_is_over_expires_with_its_lines_named(program: Program) -> None:
    batch = program.create(line("a"), seconds=-1)
    program.work.start()
    ended = program.finish(batch)
    assert ended.state == State.EXPIRED
    [left] = program.read(ended.results["error_file_id"])
    assert left["error"]["code"] == "batch_expired"  # type: ignore[index]


def test_the_counts_of_a_job_that_runs_never_exceed_its_lines(program: Program) -> None:
    batch = program.create(line("a"), line("b"))
    program.batches.change(batch.id, (State.VALIDATING,), State.RUNNING, total=2)
    assert not program.work._watching(batch.id)(Count(succeeded=1, failed=2))
    counted = program.batches.get(batch.id)
    assert counted
    assert (counted.succeeded, counted.failed) == (1, 1)


def test_an_empty_file_fails(program: Program) -> None:
    batch = program.create()
    program.work.start()
    ended = program.finish(batch)
    assert (ended.state, ended.errors[0]["code"]) == (State.FAILED, "empty_file")


def test_a_create_is_a_repeat_only_while_it_can_be_one(program: Program) -> None:
    batch = make_batch("openai", "batch_", {}, 60)
    repeat = Repeat.read("openai", {"a": 1}, {})
    assert program.batches.add(batch, repeat) == (program.batches.get(batch.id), True)
    assert program.batches.add(make_batch("openai", "batch_", {}, 60), repeat)[0].id == batch.id
    old = make_batch("openai", "batch_", {}, 60)
    with program.store.change() as database:
        database.execute("UPDATE batches SET created = created - 60")
    assert program.batches.add(old, repeat)[1]
    retried = Repeat.read("openai", {"a": 1}, {"x-stainless-retry-count": "1"})
    assert retried.mark == repeat.mark
    assert retried.seconds > repeat.seconds


def test_a_table_of_models_maps_the_names_that_clients_use(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    file.write_text(
        '["gpt-4o-mini"]\nModelName = "small"\nMaxModelLen = 128\naliases = ["gpt-4o"]\n[other]\nModelName="b"\n'
    )
    models = read_models(file, {"MaxTokens": "7"})
    assert models.names == ["gpt-4o-mini", "gpt-4o", "other"]
    found = models.find("gpt-4o")
    assert found
    assert found.parameters == {"MaxTokens": "7", "ModelName": "small", "MaxModelLen": "128"}
    assert models.find("unknown") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x =",
        "a = 1",
        "[a]\nNoSuch = 1",
        "[a]\nMaxTokens = 0",
        "[a]\naliases = 1",
        '[a]\naliases = ["a"]',
        "[a]\nStopAt = 1",
    ],
)
def test_a_table_of_models_that_is_wrong_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text(text)
    with pytest.raises(ModelsError, match=r"models\.toml"):
        read_models(tmp_path / "models.toml", {})


def test_lines_that_name_another_model_are_refused(tmp_path: Path, farm: PretendFarm) -> None:
    file = tmp_path / "models.toml"
    file.write_text('[a]\nServerUrl = "http://127.0.0.1:1"\n[b]\nServerUrl = "http://127.0.0.1:1"\n')
    program = Program(tmp_path / "data", farm, read_models(file, {}))
    lines = [json.dumps({"custom_id": name, "body": {"model": name, "messages": []}}) for name in ("a", "b", "c")]
    batch = program.create(*lines)
    program.work.start()
    ended = program.finish(batch)
    codes = [(each["code"], each["line"]) for each in ended.errors]
    assert (ended.state, ended.model, ended.succeeded) == (State.COMPLETED, "a", 1)
    assert codes == [("model_mismatch", 2), ("model_not_found", 3)]
    program.die()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--host=0.0.0.0"], "api-key-file"),
        (["--api-key-file=none"], "none"),
        (["-p", "NoSuch=1"], "NoSuch"),
        (["-p", "MaxTokens=0"], "MaxTokens"),
        (["--models=none.toml"], "none.toml"),
    ],
)
def test_what_cannot_be_served_is_said(
    options: list[str], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert batch_api.main(["--farm", *options]) == 1
    assert word in capsys.readouterr().err
