"""vLLM's page of metrics: what it counts is read by name, whatever else stands there."""

from __future__ import annotations

import pytest

from engine.metrics import read_cache_share, read_counters

PAGE = """# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="a \\"b\\" {c}"} 1200.0
vllm:generation_tokens_total{engine="1",model_name="m"} 300.0
vllm:generation_tokens_created{engine="0",model_name="m"} 1.7e+09
vllm:num_preemptions_total{engine="0",model_name="m"} 4.0
vllm:prefix_cache_queries_total{engine="0"} 900.0
vllm:prefix_cache_hits_total{engine="0"} 450.0
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
python_gc_objects_collected_total{generation="0"} 7.0
"""


def test_series_of_one_name_count_together() -> None:
    assert read_counters(PAGE) == {
        "generated": 1500.0,
        "preemptions": 4.0,
        "prefix_asked": 900.0,
        "prefix_found": 450.0,
    }
    assert read_cache_share(PAGE) == 0.5


@pytest.mark.parametrize("page", ["", "<html>", "vllm:num_preemptions_total x", "vllm:kv_cache_usage_perc NaN"])
def test_a_page_that_does_not_tell_counts_nothing(page: str) -> None:
    assert (read_counters(page), read_cache_share(page)) == ({}, 0.0)
