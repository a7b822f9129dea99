"""The machine that a program runs on: its Open Job Description runner, processes, files and transfers.

Owns the runner's protocol, processes that outlive their program, bytes over http, and secrets. Knows nothing of rows,
jobs or servers, and imports no other room.
"""
