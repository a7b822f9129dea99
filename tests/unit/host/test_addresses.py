"""Which addresses rows may ask."""

from __future__ import annotations

import pytest

from host.addresses import ALLOW, may_ask

OPEN = [
    "93.184.216.34",
    "10.1.2.3",
    "192.168.0.9",
    "172.16.5.5",
    "2606:2800:220:1::1",
    "fd12:3456::1",
    "64:ff9b::5db8:d822",
]
CLOSED = ["127.0.0.1", "127.8.8.8", "0.0.0.0", "::", "::1", "169.254.169.254", "169.254.170.2", "fe80::1%eth0"]
CLOSED += ["::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "fd00:ec2::254"]
CLOSED += ["100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255", "ff02::1", "no address"]


@pytest.fixture(autouse=True)
def _no_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOW, raising=False)


@pytest.mark.parametrize("address", OPEN)
def test_public_and_private_networks_may_be_asked(address: str) -> None:
    assert may_ask("files.example", address)


@pytest.mark.parametrize("address", CLOSED)
def test_this_machine_its_link_and_a_cloud_s_metadata_may_not(address: str) -> None:
    assert not may_ask("files.example", address)


@pytest.mark.parametrize("entry", ["127.0.0.1", "127.0.0.0/8", "Files.example", "other, files.example"])
def test_whoever_runs_the_worker_may_allow_more(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOW, entry)
    assert may_ask("files.example", "127.0.0.1")
    assert not may_ask("others.example", "127.255.0.1") or "/8" in entry
