"""ServerUrl in the forms that people paste it in, and where routes are below each."""

from __future__ import annotations

import pytest

from engine.address import find_proxy, locate, make_headers
from engine.note import ServerError
from engine.server_url import parse_url

H = "https://h"


@pytest.mark.parametrize(
    ("url", "first"),
    [
        (H, f"{H}/v1/chat/completions"),
        (f"{H}/", f"{H}/v1/chat/completions"),
        (f"{H}/v1", f"{H}/v1/chat/completions"),
        (f" {H}:8000/v1/ ", f"{H}:8000/v1/chat/completions"),
        (f"{H}/v1/chat/completions", f"{H}/v1/chat/completions"),
        (f"{H}/v1/models", f"{H}/v1/chat/completions"),
        (f"{H}/v1/embeddings/", f"{H}/v1/chat/completions"),
        (f"{H}/openai/v1", f"{H}/openai/v1/chat/completions"),
        (f"{H}/v1beta/openai/", f"{H}/v1beta/openai/chat/completions"),
        (f"{H}/v1beta/openai/chat/completions", f"{H}/v1beta/openai/chat/completions"),
        (f"{H}/api/v3", f"{H}/api/v3/chat/completions"),
        (f"{H}/api/paas/v4/", f"{H}/api/paas/v4/chat/completions"),
        (f"{H}/chat/completions", f"{H}/chat/completions"),
        (f"{H}/rerank", f"{H}/v1/chat/completions"),
        (
            f"{H}/openai/deployments/d/chat/completions?api-version=2024-06-01",
            f"{H}/openai/deployments/d/chat/completions?api-version=2024-06-01",
        ),
        (f"{H}/gateway", f"{H}/gateway/v1/chat/completions"),
    ],
)
def test_a_server_s_address_is_understood_in_the_forms_that_it_is_pasted_in(url: str, first: str) -> None:
    assert locate(parse_url(url)[0], "/v1/chat/completions") == first


@pytest.mark.parametrize("url", [H, f"{H}/gateway", f"{H}/v1beta/openai/"])
def test_a_form_that_may_mean_two_bases_gives_both(url: str) -> None:
    both = {locate(base, "/v1/models") for base in parse_url(url)}
    path = url.rstrip("/")
    assert both == {f"{path}/v1/models", f"{path}/models"}


def test_routes_that_are_not_below_v1_stay_where_they_are() -> None:
    assert locate("http://h", "/health") == "http://h/health"
    assert locate("http://h/x/", "/health") == "http://h/x/health"


@pytest.mark.parametrize("url", ["h:8000", "ftp://h", "http://me:pw@h", "http://h:port", "http://[h"])
def test_an_address_that_cannot_be_asked_is_refused_by_the_parameter_s_name(url: str) -> None:
    with pytest.raises(ServerError, match="ServerUrl"):
        parse_url(url)


def test_azure_is_given_its_own_header_beside_the_common_one() -> None:
    assert make_headers(H, "k") == {"Authorization": "Bearer k"}
    assert make_headers(f"{H}/?api-version=1", "k") == {"Authorization": "Bearer k", "api-key": "k"}
    assert make_headers(H, "") == {"Authorization": "Bearer none"}


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("https://api.example.com/v1", "http://proxy:3128"),
        ("http://127.0.0.1:8000", ""),
        ("http://localhost:8000", ""),
        ("http://[::1]:8000", ""),
        ("http://10.0.0.7:8000", ""),
        ("https://inside.example.org/v1", ""),
    ],
)
def test_a_server_beyond_the_network_is_asked_by_the_environment_s_proxy(
    url: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "proxy:3128")
    monkeypatch.setenv("no_proxy", "example.org")
    monkeypatch.setenv("NO_PROXY", "example.org")
    assert find_proxy(url) == proxy
