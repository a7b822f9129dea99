"""What running on one machine needs: openjd's log, and a small model made of a package."""
