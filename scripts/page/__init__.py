"""results.html: one file that any browser opens without a network.

Owns the page's sources and the program that writes them with a job's rows. Decides nothing about rows.
"""
