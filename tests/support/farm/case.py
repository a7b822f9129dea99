"""One job of sixty rows on the farm: submitted, waited for, and entered in the table with what it left."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .aws import BUCKET
from .farm import Farm
from .jobs import Job
from .outcomes import Outcomes, Table

BUNDLE = Path(__file__).resolve().parents[3]
LINES = 60


@dataclass
class Case:
    """One job: its rows by their texts, and what it left."""

    farm: Farm
    table: Table
    folder: Path
    out: Path
    name: str
    bundle: Path = BUNDLE

    @property
    def go(self) -> Path:
        """The file for which rows with "held" in them wait."""
        return self.folder / "go"

    def submit(self, special: Mapping[int, str], values: Mapping[str, object] | None = None, *options: str) -> Job:
        """Submit sixty rows, those with a special text among them, in chunks of twenty. A value of None is left out."""
        for name in ("asked", "go"):
            (self.folder / name).unlink(missing_ok=True)
        self.input = self.out / "input.jsonl"
        self.out.mkdir(parents=True, exist_ok=True)
        texts = [f"{special.get(line, 'row')} {line}" for line in range(1, LINES + 1)]
        rows = "".join(json.dumps({"id": line, "prompt": text}) + "\n" for line, text in enumerate(texts, 1))
        self.input.write_text(rows, encoding="utf-8")
        chosen: dict[str, object] = {
            "InputFile": self.input,
            "OutputDir": self.out,
            "Prompts": f"1-{LINES}",
            "ChunkSize": 20,
        }
        chosen |= {"ModelName": "fake", "MaxConcurrency": 8, **(values or {})}
        given = {name: value for name, value in chosen.items() if value is not None}
        return self.farm.submit(self.bundle, given, options=options)

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

    def copies(self, job: Job) -> list[bytes]:
        """Return what the bucket holds of the rows that a job keeps."""
        s3 = self.farm.aws.client("s3")
        found = s3.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        keys = [each["Key"] for each in found if f"/Kept/{job.id}/lines-" in each["Key"]]
        return [s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys]
