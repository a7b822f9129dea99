"""The batch APIs in front of a farm: one job for a batch, also where the program is killed while it runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from openai import OpenAI

from support.batch_server import KEY, batch_server, wait_for
from support.documents import ROOT
from support.farm import Farm
from support.farm.boto3_alone import link_boto3

pytestmark = pytest.mark.farm
ENDED = ("completed", "failed", "cancelled", "expired")
CHAT = "/v1/chat/completions"


def test_a_batch_is_one_job_on_the_farm_whatever_happens_to_the_program(tmp_path: Path) -> None:
    brought = [ROOT / "tests" / "support" / "fake_vllm", link_boto3(tmp_path / "boto3")]
    stand_in = {"PYTHONPATH": os.pathsep.join(map(str, brought))}
    lines = [
        {"custom_id": f"r{n}", "url": CHAT, "body": {"messages": [{"role": "user", "content": f"{n}"}]}} for n in (1, 2)
    ]
    content = "".join(json.dumps(line) + "\n" for line in [*lines, {"custom_id": "bad"}]).encode()
    with (
        Farm(tmp_path / "farm", agents=1, job_environment=stand_in) as farm,
        batch_server(tmp_path / "api", "--farm", "-p", "ModelName=fake", **farm.environment) as server,
    ):
        client = OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)
        file = client.files.create(file=content, purpose="batch").id
        batch = client.batches.create(input_file_id=file, endpoint=CHAT, completion_window="1h").id
        client.close()
        farm.wait_until(lambda: bool(farm.api.scheduler.jobs), "the batch was submitted")
        server.kill()
        server.start()
        client = OpenAI(base_url=f"{server.base}/v1", api_key=KEY, _strict_response_validation=True)
        ended = wait_for(lambda: client.batches.retrieve(batch), lambda each: each.status in ENDED)
        assert ended.status == "completed", server.said()
        assert ended.request_counts.model_dump() == {"total": 3, "completed": 2, "failed": 1}
        answers = map(json.loads, client.files.content(ended.output_file_id).text.splitlines())
        assert {each["custom_id"] for each in answers} == {"r1", "r2"}
        [job] = farm.api.scheduler.jobs.values()
        assert job.name == batch
        client.close()
