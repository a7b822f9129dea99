"""Lines of the input: where they stand, which are asked for, and what one holds.

Owns the input file and its index, range expressions, and a line as a row of fields. Knows no dialect and no server.
"""
