"""The server that answers: its command, its processes, what it can answer, and whether it lives.

Owns everything about vLLM's server and about one that ServerUrl names. Sends no row, and knows no dialect.
"""
