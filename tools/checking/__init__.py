"""Looking at an input before a model is paid for: counts, problems, estimates, sizes."""
