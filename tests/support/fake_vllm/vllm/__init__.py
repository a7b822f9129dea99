"""A stand-in for vLLM without a model: what serve.py starts in the tests that are about starting and ending it."""
