"""A batch and a page of a list as OpenAI's API shows them."""

from __future__ import annotations

from typing import Any

from batches.batch import ENDED, Batch, State

_STATUS = {
    State.VALIDATING: "validating",
    State.QUEUED: "in_progress",
    State.SUBMITTING: "in_progress",
    State.RUNNING: "in_progress",
}


def show_batch(batch: Batch) -> dict[str, Any]:
    """Return the API's object, with every field."""
    spec, times, results = batch.spec, batch.times, batch.results
    failed = batch.state == State.FAILED
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": spec["endpoint"],
        "model": batch.model or None,
        "errors": _show_errors(batch, is_failed=failed),
        "input_file_id": spec["input_file_id"],
        "completion_window": spec["completion_window"],
        "status": _show_status(batch),
        "output_file_id": results.get("output_file_id"),
        "error_file_id": results.get("error_file_id"),
        "created_at": batch.created,
        "in_progress_at": times.get("queued"),
        "expires_at": batch.expires,
        "finalizing_at": times.get("finalizing"),
        "completed_at": times.get("completed"),
        "failed_at": times.get("failed"),
        "expired_at": times.get("expired"),
        "cancelling_at": times.get("cancelling"),
        "cancelled_at": times.get("cancelled"),
        "request_counts": {"total": batch.total, "completed": batch.succeeded, "failed": batch.failed},
        "usage": results.get("usage"),
        "metadata": spec.get("metadata"),
    }


def _show_status(batch: Batch) -> str:
    if batch.is_cancelling and batch.state not in ENDED:
        return "cancelling"
    return _STATUS.get(batch.state, str(batch.state))


def _show_errors(batch: Batch, *, is_failed: bool) -> dict[str, Any] | None:
    errors = list(batch.errors)
    if is_failed and not errors:
        errors.append({"code": "job_failed", "message": batch.why, "param": None, "line": None})
    return {"object": "list", "data": errors} if errors else None


def show_page(data: list[dict[str, Any]], *, has_more: bool) -> dict[str, Any]:
    """Return the API's page of a list."""
    first, last = (data[0]["id"], data[-1]["id"]) if data else (None, None)
    return {"object": "list", "data": data, "first_id": first, "last_id": last, "has_more": has_more}
