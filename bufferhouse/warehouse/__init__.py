"""Storage: open, migrate, load, verify, export, prune, publish.

In: batches of tables. Out: rows in one DuckDB file, or in a lake (`lake/`). Outside nobody asks which.
"""
