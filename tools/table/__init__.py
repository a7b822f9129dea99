"""Making a table of a job's results: a user's own columns as they were, and a column for each field of the answers."""
