"""Measurements against peers in one run on one machine. `make bench` runs them and writes bench/results.md."""
