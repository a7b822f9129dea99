"""Where vLLM has its servers."""
