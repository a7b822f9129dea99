"""Sending finished files to OutputUrl: output.jsonl to an address or an object, every file below a prefix of S3."""

from __future__ import annotations

from pathlib import Path

from host import runner, s3, transfer

FINISHED = ("output.jsonl", "errors.jsonl", "retry.jsonl", "summary.json", "results.html")


def deliver(url: str, folder: Path) -> str:
    """Send what OutputUrl asks for. A failure loses nothing, since the files are here: return it as a note, or ""."""
    if not url:
        return ""
    names = FINISHED if s3.is_s3(url) and url.endswith("/") else FINISHED[:1]
    for name in names:
        try:
            if s3.is_s3(url):
                s3.upload(folder / name, url)
            else:
                transfer.upload(folder / name, url, runner.say)
        except transfer.TransferError as error:
            return f"{name} was not sent, it is in OutputDir: {error}"
    runner.say(f"{', '.join(names)}: sent to {url if s3.is_s3(url) else transfer.shown(url)}")
    return ""
