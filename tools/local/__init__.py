"""One job on this machine: its environment, openjd and its log, and a small model made of a package."""
