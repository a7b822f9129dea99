"""Aggregate: what the summary tells of the merged job: its time, its loads, its models and its parameters."""

from __future__ import annotations

from dataclasses import replace

from engine.note import Load
from results.partial import Writer
from support.merge_job import EARLY, INPUT, LATE, Job, record


def test_model_loads_and_workers_are_counted_once(job: Job) -> None:
    for place, (worker, lines) in enumerate((("one", {1: "a"}), ("one", {2: "b"}), ("two", {4: "d"}))):
        job.shard(lines, job.header("1-5", worker=worker, created=EARLY + place))
    job.merge()
    assert (job.summary()["model_loads"], job.summary()["workers"], job.summary()["shards"]) == (2, 2, 3)


def test_the_seconds_are_those_in_which_rows_were_answered(job: Job) -> None:
    job.shard({1: "a", 2: "b"}, job.header("1-2"))
    job.shard({4: "d"}, job.header("4-4", created=EARLY + 1))
    job.shard({5: "e"}, job.header("5-5", created=EARLY + 86_400))  # the day after
    job.merge()
    summary = job.summary()
    # lines 1 and 2 took 1 to 3 s after EARLY, line 4 took 5 to 6 s, line 5 one second of the next day
    assert (summary["seconds"], summary["tokens_per_second"]) == (4.0, 3.0)


def test_the_seconds_between_two_attempts_at_a_chunk_are_not_counted(job: Job) -> None:
    """The second attempt keeps the records of the first in its own shard."""
    with Writer(job.results, job.header("1-5", created=LATE)) as writer:
        for line, started in ((1, EARLY), (2, EARLY + 1), (4, LATE), (5, LATE + 1)):
            writer.add(record(line, "x", started))
        writer.finish([Load("load")])
    job.merge()
    summary = job.summary()
    assert (summary["seconds"], summary["tokens_per_second"]) == (4.0, 3.0)
    assert (summary["started"], summary["finished"]) == ("1970-01-12T13:46:40Z", "1970-01-24T03:33:22Z")


def test_answers_of_two_models_are_said(job: Job) -> None:
    job.shard({1: "a", 2: "b"}, job.header("1-2"))
    job.shard({4: "d", 5: "e"}, replace(job.header("4-5", created=LATE), model="other"))
    job.merge()
    assert "the answers are those of 2 models: 'm', 'other'" in job.notes()


def test_a_merge_by_hand_records_what_the_newest_shard_tells_of_its_job(job: Job) -> None:
    old, new = {"MaxTokens": 64, "OutputField": "verdict"}, {"MaxTokens": 65, "Prompts": "1-3", "BlockSize": 2}
    job.shard({1: "a"}, replace(job.header(), lines="1", parameters=old, created=LATE))
    job.shard({2: "!x"}, replace(job.header(), lines="2", parameters=new, created=LATE + 1))
    job.shard({2: "!x"}, job.header("1-2", created=EARLY))
    assert job.merge() == 0
    assert job.summary()["parameters"] == {**new}
    assert job.merge("--prompts=1-4", "--block-size=1") == 0
    assert job.summary()["parameters"] == {**new, "Prompts": "1-4", "BlockSize": 1}


def test_a_merge_by_hand_on_terms_of_its_own_shows_those_terms(job: Job) -> None:
    known = {"SystemPrompt": "of the job", "OutputField": "verdict", "MaxConcurrency": 9}
    job.shard({1: "a"}, replace(job.header(), parameters=known))
    assert job.merge("--max-tokens=512") == 0
    shown = job.summary()["parameters"]
    assert (shown["SystemPrompt"], shown["MaxTokens"]) == ("", 512)
    assert (shown["OutputField"], shown["MaxConcurrency"]) == ("verdict", 9)


def test_a_merge_of_shards_of_earlier_releases_goes_on_with_what_the_summary_recorded(job: Job) -> None:
    known = {"MaxTokens": 64, "OutputField": "verdict"}
    job.shard({1: "a"}, replace(job.header(), lines="1", parameters=known))
    job.merge()
    job.shard({2: "b"}, job.header("1-2", created=LATE))
    job.merge()
    assert job.summary()["parameters"] == known


def test_nothing_that_is_unknown_is_recorded(job: Job) -> None:
    job.shard({1: "a"}, job.header("1"))
    job.merge()
    assert job.summary()["parameters"] == {}


def test_what_another_input_s_job_recorded_is_not_taken(job: Job) -> None:
    job.shard({1: "a"}, replace(job.header("1"), parameters={"MaxTokens": 64}))
    job.merge()
    job.input.write_bytes(INPUT[0] + b"\n" + INPUT[1] + b"\n")
    job.shard({1: "a"}, job.header("1"))
    job.merge()
    assert job.summary()["parameters"] == {}
