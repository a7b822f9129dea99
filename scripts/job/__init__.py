"""What a job says once for all its rows: parameters, defaults, request options, prompt template.

Owns the parameters and their reading. Reads no input and talks to no server.
"""
