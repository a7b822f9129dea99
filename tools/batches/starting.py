"""The program's parts as a command line asks for them: the place of its jobs, its models, its data folder."""

from __future__ import annotations

import argparse
from pathlib import Path

import bundle  # noqa: F401  (puts scripts/ on the path)
from batches.app import Core, make_core
from batches.backend import Backend
from batches.engines import Engines
from batches.farm_jobs import FarmJobs
from batches.local_jobs import LocalJobs
from batches.models import ModelsError, make_single, read_models
from batches.settings import Gathering, Settings
from checking import inspection
from job.parameters import BY_NAME, FILES
from local.local_job import Machine
from submission import farm_job
from submission.request import make_whole


def make_core_for(asked: argparse.Namespace, key: str | None) -> Core:
    """Return everything that a command line asks for. Raises ModelsError, JobError and SetupError."""
    data = Path(make_whole(asked.data_dir))
    given = dict(asked.parameters)
    for name in given.keys() - BY_NAME.keys():
        raise ModelsError(f"-p {name}: there is no such parameter")
    inspection.read_values(given)
    given |= {name: make_whole(given[name]) for name in FILES if given.get(name)}
    backend: Backend
    if asked.farm:
        options = farm_job.options(farm_id=asked.farm_id, queue_id=asked.queue_id, profile=asked.profile)
        backend = FarmJobs(options)
    else:
        machine = Machine.prepare()
        given = {**given, **machine.choose_model(None, given)}
        backend = LocalJobs(machine, Engines(machine, data / "engine", asked.keep_warm))
    models = read_models(asked.models, given) if asked.models else make_single(given)
    gathering = Gathering(asked.gather_seconds, asked.gather_rows)
    settings = Settings(data, asked.host, asked.port, key, given, asked.keep_warm, gathering=gathering)
    return make_core(settings, models, backend)
