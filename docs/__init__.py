"""The documentation. `python -m docs.generate` writes the pages of it that come from the code."""
