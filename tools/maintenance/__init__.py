"""Programs for the maintainers: pictures, generated files, vLLM's flags."""
