"""Dumps held against a lock: on a terminal, as a comment of a pull request, as annotations, as JSON."""
