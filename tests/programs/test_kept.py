"""Rows of an interrupted chunk survive in S3 (moto's, on loopback) where the folder they were in does not."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from support.fake_server import FakeServer, Fault
from support.local_s3 import aws_variables, local_s3
from support.programs import Session, outcome, rows, wait_until
from support.scripted_server import scripted, status

PLACE = {"DEADLINE_JA_S3_BUCKET": "attachments", "DEADLINE_JA_ROOT_PREFIX": "root", "DEADLINE_JOB_ID": "job-1"}


@dataclass
class Held:
    """A session that keeps rows, and a server that answers ten of its thirty until `released`."""

    session: Session
    server: FakeServer
    s3: Any
    released: list[bool]

    def interrupt(self) -> str:
        """Cancel a chunk of which ten rows are answered, and lose its folder; return what it said."""
        chunk = self.session.launch(self.session.chunk_argv(max_concurrency="40", keep_rows_seconds="3600"))
        wait_until(lambda: self.server.in_flight == 20 and self._answered() == 10, chunk)
        self.session.notice(12)
        chunk.send_signal(signal.SIGTERM)
        ended = self.session.finish(chunk)
        assert ended.status == 143
        shutil.rmtree(self.session.output)
        self.released.append(True)
        return ended.text

    def _answered(self) -> int:
        found = [path.read_bytes() for path in self.session.results.glob(".lines-*.partial")]
        return sum(content.count(b'"status":"succeeded"') for content in found)

    def copies(self) -> list[str]:
        """Return the objects in the bucket."""
        found = self.s3.list_objects_v2(Bucket="attachments").get("Contents", [])
        return [each["Key"] for each in found]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    released: list[bool] = []
    hang = Fault(wire="hang")
    script = lambda asked: hang if not released and asked.text.isdigit() and int(asked.text) >= 10 else None  # noqa: E731
    with local_s3() as port, FakeServer(script) as server:
        variables = aws_variables(port)
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        s3 = boto3.client("s3", endpoint_url=variables["AWS_ENDPOINT_URL"], region_name="us-east-1", **keys)
        s3.create_bucket(Bucket="attachments")
        session = Session(tmp_path, rows(map(str, range(30))), server.url)
        session.environment.update(variables | PLACE)
        session.start(keep_rows_seconds="3600").check()
        yield Held(session, server, s3, released)


def test_no_row_is_paid_twice_although_the_folder_is_gone(held: Held) -> None:
    held.interrupt()
    [key] = held.copies()
    assert key.startswith("root/Kept/job-1/lines-000000001-000000030.in-")
    text = held.session.chunk(keep_rows_seconds="3600").check().text
    assert "10 lines were settled by an interrupted attempt and are kept" in text
    held.session.aggregate().check()
    assert all(held.server.asked[str(n)] == (1 if n < 10 else 2) for n in range(30))
    assert Counter(map(outcome, held.session.written())) == Counter(f"echo: {n}" for n in range(30))
    assert held.copies() == []


def test_a_copy_can_be_merged_by_hand(held: Held) -> None:
    held.interrupt()
    [key] = held.copies()
    held.session.results.mkdir(parents=True)
    held.s3.download_file("attachments", key, str(held.session.results / Path(key).name))
    held.session.aggregate().check()
    assert Counter(map(outcome, held.session.written()))["missing"] == 20
    assert held.session.summary()["succeeded"] == 10


def test_rows_that_were_asked_otherwise_are_not_taken(held: Held) -> None:
    held.interrupt()
    held.session.start(keep_rows_seconds="3600", temperature="0.1").check()
    assert "are kept" not in held.session.chunk(keep_rows_seconds="3600", temperature="0.1").check().text


def test_a_killed_chunk_left_what_was_copied_before(held: Held) -> None:
    chunk = held.session.launch(held.session.chunk_argv(max_concurrency="40", keep_rows_seconds="1"))
    wait_until(lambda: held.server.in_flight == 20 and any(map(held_rows(held), held.copies())), chunk)
    chunk.kill()
    chunk.communicate()
    shutil.rmtree(held.session.output)
    held.released.append(True)
    held.session.chunk(keep_rows_seconds="1").check()
    assert all(held.server.asked[str(n)] == (1 if n < 10 else 2) for n in range(30))


def held_rows(held: Held) -> Any:
    """Return what tells whether a copy has all ten rows."""
    return lambda key: held.s3.get_object(Bucket="attachments", Key=key)["Body"].read().count(b'"succeeded"') == 10


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"DEADLINE_JA_S3_BUCKET": "elsewhere"}, "there is no such bucket"),
        ({"DEADLINE_JA_S3_BUCKET": ""}, "does not say where the job's attachments are"),
    ],
    ids=["a bucket that refuses", "an agent that tells no bucket"],
)
def test_where_rows_cannot_be_kept_it_is_said_once_and_nothing_changes(
    changed: dict[str, str], says: str, held: Held
) -> None:
    held.released.append(True)
    held.session.environment.update(changed)
    text = held.session.chunk(keep_rows_seconds="1").check().text
    assert text.count("KeepRowsSeconds") == 1
    assert says in text
    held.session.aggregate().check()
    assert held.session.summary()["succeeded"] == 30


def test_nothing_is_copied_where_it_was_not_asked_for(held: Held) -> None:
    held.released.append(True)
    held.session.chunk(keep_rows_seconds="0").check()
    assert held.copies() == []


def test_a_copy_of_a_chunk_that_ended_well_is_not_left(held: Held) -> None:
    chunk: subprocess.Popen[str] = held.session.launch(
        held.session.chunk_argv(max_concurrency="10", keep_rows_seconds="1")
    )
    wait_until(lambda: bool(held.copies()), chunk)
    held.released.append(True)
    held.server.leave()
    held.server.come_back()  # what hangs is asked again
    held.session.finish(chunk).check()
    assert held.copies() == []


def test_a_session_that_begins_after_input_url_expired_reads_the_copy_that_the_first_one_kept(
    held: Held, tmp_path: Path
) -> None:
    held.released.append(True)
    content = held.session.input.read_bytes()
    with scripted(status(200, content), status(403)) as store:
        url = tmp_path / "url"
        url.write_text(f"{store.base}/in.jsonl?sig=hush", encoding="utf-8")
        for name in ("first", "late"):
            session = Session(tmp_path / name, url=held.server.url, prompts="1-30")
            session.environment.update(held.session.environment)
            session.options.update(input_file="", input_url_file=str(url), keep_rows_seconds="60")
            text = session.start().check().text
        assert "hush" not in text
        assert "the copy that an earlier session kept is read" in text
        session.chunk().check()
        found = session.argv(
            "aggregate.py",
            output_dir=str(session.output),
            input_url_file=str(url),
            **{"session-dir": str(tmp_path / "merge")},
        )
        session.run(found).check()
    assert session.summary()["succeeded"] == 30
    assert (session.summary()["notes"], session.summary()["input"]["name"]) == ([], "in.jsonl")
