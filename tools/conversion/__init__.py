"""Turning tables and other people's files into rows."""
