"""The dialects that a row can be written in: how each is recognised, what it asks, and what its output line is.

Owns the requests made of rows and the lines made of answers. Sends nothing and writes no file.
"""
