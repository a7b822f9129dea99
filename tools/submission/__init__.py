"""What a person asks for, and having it answered: by jobs on the farm or on this machine, and their merge."""
