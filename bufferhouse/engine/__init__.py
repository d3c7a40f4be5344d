"""DuckDB itself: connections, statements, quoting, limits, interrupts.

In: SQL and a connection. Out: what DuckDB answers, or one error in our words. It does not know our tables.
"""
