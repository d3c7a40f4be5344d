"""`bufferhouse.toml`: what may stand in it, and where what stands there is wrong.

In: a file and the environment. Out: a checked configuration, or errors with line and column.
"""
