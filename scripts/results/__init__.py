"""What became of each line: shards, their merge, the finished files and the summary.

Owns every file below OutputDir/output but the page. Talks to no server.
"""
