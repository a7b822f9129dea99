"""moto as S3, STS and CloudWatch Logs on loopback, and the environment in which tools use it and nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3

from . import holder

BUCKET = "job-attachments"
REGION = "us-west-2"
PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")
NOWHERE = "http://127.0.0.1:9"  # nothing listens on the discard port
NOT_PASSED_ON = ("AWS_", "DEADLINE_", "OPENJD_", "XDG_", "PYTHON", "VIRTUAL_ENV")
STOP_SECONDS = 600  # a hang ends here


class LocalAws:
    """A moto server of its own process; `ready` turns true once it answers."""

    def __init__(self, folder: Path) -> None:
        """Start it on a free port; its output goes to moto.out in the folder."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"
        command = [str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(self._port)]
        with (folder / "moto.out").open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, holder.__file__, *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.environment(folder),
                start_new_session=True,
            )

    def ready(self) -> bool:
        """Say whether it answers."""
        assert self._process.poll() is None, "moto ended while it started: see moto.out"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def make_bucket(self) -> None:
        """Create the bucket of the queue's job attachments."""
        self.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})

    def client(self, service: str) -> Any:
        """Return a boto3 client of one of its services."""
        keys = {"aws_access_key_id": "loopback", "aws_secret_access_key": "loopback"}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **keys)

    def environment(self, home: Path) -> dict[str, str]:
        """Return this process's environment with home, credentials and every way out replaced."""
        passed_on = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)}
        services = ("S3", "STS", "CLOUDWATCH_LOGS")
        return {
            **passed_on,
            **dict.fromkeys(PROXIES, NOWHERE),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
            **dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), "loopback"),
            **{f"AWS_ENDPOINT_URL_{name}": self.url for name in services},
            "AWS_ACCOUNT_ID": "123456789012",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_DISABLE_HOST_PREFIX_INJECTION": "true",
            "DEADLINE_CLOUD_TELEMETRY_OPT_OUT": "true",
            "PYTHONDONTWRITEBYTECODE": "1",  # a hook leaves none in the bundle, which would travel with the next job
            "PYTHONNOUSERSITE": "1",
            "HOME": str(home),
        }

    def close(self) -> None:
        """End it."""
        self._process.terminate()  # the holder kills what is below it
        self._process.wait(STOP_SECONDS)
