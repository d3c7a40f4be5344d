"""The read-only door: statements within limits, the cookbook, the shell, notebooks.

In: SQL or the name of a question. Out: rows in the chosen format; nothing is ever written to the warehouse.
"""
