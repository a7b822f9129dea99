"""What is said, before a job is submitted, of an InputUrl that expires."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from checking.expiry import find_expiry, tell_expiry
from job.moment import read_moment

LATER = 4_000_000_000
SIGNED = {
    "version 4": ("https://b.s3/k?X-Amz-Date=20300131T120000Z&X-Amz-Expires=3600", "2030-01-31T13:00:00Z"),
    "version 2": (f"https://b.s3/k?Signature=x&Expires={LATER}", "2096-10-02T07:06:40Z"),
    "Google's": ("https://storage/k?X-Goog-Date=20300131T120000Z&X-Goog-Expires=60", "2030-01-31T12:01:00Z"),
    "Azure's": ("https://a.blob/k?se=2030-01-31T12%3A00%3A00Z&sig=x", "2030-01-31T12:00:00Z"),
}


@pytest.mark.parametrize(("url", "moment"), SIGNED.values(), ids=SIGNED.keys())
def test_an_address_says_when_it_expires(url: str, moment: str) -> None:
    assert find_expiry(url) == read_moment(moment)
    [note] = tell_expiry({"InputUrl": url})
    assert moment in note
    assert "KeepRowsSeconds" in note


@pytest.mark.parametrize(
    "url",
    [
        "",
        "s3://bucket/key",
        "https://host/in.jsonl?expires=soon",
        "https://host/in.jsonl?Signature=x&Expires=soon",
        "https://host/in.jsonl?X-Amz-Date=today&X-Amz-Expires=60",
        "https://host/in.jsonl?se=1&sig=x",
        "https://[",
    ],
)
def test_one_that_does_not_is_no_matter(url: str) -> None:
    assert tell_expiry({"InputUrl": url}) == []


@pytest.mark.parametrize(
    ("more", "expires", "says"),
    [({"KeepRowsSeconds": "60"}, LATER, ""), ({"KeepRowsSeconds": "0"}, time.time() - 3600, "no worker can read it")],
    ids=["the job keeps a copy", "it has expired"],
)
def test_what_is_said_is_what_matters(more: Mapping[str, str], expires: float, says: str) -> None:
    found = tell_expiry({"InputUrl": f"https://host/k?Signature=x&Expires={int(expires)}", **more})
    assert says in " ".join(found)
    assert bool(found) == bool(says)
