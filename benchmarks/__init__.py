"""Figures beside their references, in one run: `python -m benchmarks` prints them and writes docs/benchmarks.md."""
