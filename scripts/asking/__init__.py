"""Asking many rows at once: requests, retries, order, patience, and a server that dies in between.

Owns the way from a request to its answer or failure. Writes no file, and knows no dialect's output.
"""
