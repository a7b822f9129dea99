"""The program as one web application: what all APIs share, and each API's routes on top."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from batches import anthropic_api, batch, calls, kept_files, openai_api, overview, runpod_api, runpod_openai, uploads
from batches.access import Access
from batches.anthropic_face import AnthropicFace
from batches.backend import Backend
from batches.batch import Batches
from batches.calls import Calls
from batches.errors import ApiError, answer_error
from batches.faces import Face
from batches.flows import Flows
from batches.keeping import Keeping
from batches.kept_files import KeptFiles
from batches.models import Models
from batches.openai_face import OpenAiFace
from batches.runpod_api import RunPod
from batches.runpod_face import Gatherer, RunPodFace
from batches.settings import Settings
from batches.store import Store
from batches.warm import Warm
from batches.work import Work

ABOUT = "The batch APIs of OpenAI, Anthropic and RunPod, answered by jobs of this bundle."


@dataclass(frozen=True, slots=True)
class Core:
    """What the routes of every API stand on."""

    settings: Settings
    store: Store
    batches: Batches
    files: KeptFiles
    calls: Calls
    models: Models
    backend: Backend
    work: Work


def make_core(settings: Settings, models: Models, backend: Backend) -> Core:
    """Open the data folder, and return everything that stands on it; nothing runs yet."""
    store = Store(settings.data, batch.SCHEMA, kept_files.SCHEMA, uploads.SCHEMA, calls.SCHEMA)
    all_batches, files, all_calls = Batches(store), KeptFiles(store), Calls(store)
    faces: list[Face] = [OpenAiFace(files, models), AnthropicFace(models), RunPodFace(all_calls, models)]
    work = Work(all_batches, backend, models, {face.name: face for face in faces})
    return Core(settings, store, all_batches, files, all_calls, models, backend, work)


def create_app(core: Core) -> FastAPI:
    """Return the application; its batches are worked on while it runs."""
    engines = core.backend.engines
    flows = Flows(core.calls, Warm(engines)) if engines else None
    pod = RunPod(core.calls, core.batches, core.work, core.models, flows)
    keeping = Keeping(core.calls, Gatherer(core.calls, core.batches, core.work, core.settings.gathering))

    @contextlib.asynccontextmanager
    async def live(_: FastAPI) -> AsyncIterator[None]:
        core.files.sweep()
        core.work.start()
        keeping.start()
        try:
            yield
        finally:
            if flows:
                await flows.close()
            await anyio.to_thread.run_sync(keeping.stop)
            await anyio.to_thread.run_sync(core.work.stop)
            core.store.close()

    app = FastAPI(title="vLLM batch", description=ABOUT, lifespan=live)
    app.state.core = core
    app.add_middleware(Access, key=core.settings.key, host=core.settings.host)
    _add_errors(app)
    app.include_router(openai_api.make_router(core))
    app.include_router(anthropic_api.make_router(core.batches, core.work, core.settings.limits.body))
    app.include_router(runpod_openai.make_router(pod))
    app.include_router(runpod_api.make_router(pod))
    app.include_router(overview.make_router(core.batches, core.calls, core.work))
    return app


def _add_errors(app: FastAPI) -> None:
    """Have every error told in the shape of the API that it belongs to."""

    async def tell(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ApiError)
        return answer_error(request.url.path, error)

    async def tell_http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return answer_error(request.url.path, ApiError(error.status_code, str(error.detail)))

    async def tell_invalid(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        return answer_error(request.url.path, _read_invalid(error.errors()[0]))

    async def tell_other(request: Request, error: Exception) -> JSONResponse:
        return answer_error(request.url.path, ApiError(500, "internal error; the server's log has it"))

    app.add_exception_handler(ApiError, tell)
    app.add_exception_handler(HTTPException, tell_http)
    app.add_exception_handler(RequestValidationError, tell_invalid)
    app.add_exception_handler(Exception, tell_other)


def _read_invalid(first: Any) -> ApiError:
    """Return the error of a body or a query that does not fit."""
    param = ".".join(str(part) for part in first["loc"][1:]) or None
    missing = first["type"] == "missing"
    message = f"Missing required parameter: '{param}'." if missing else f"Invalid '{param}': {first['msg']}"
    code = "missing_required_parameter" if missing else "invalid_value"
    if first["type"].startswith("less_than"):
        code = "integer_above_max_value"
    return ApiError(400, message, param=param, code=code)
