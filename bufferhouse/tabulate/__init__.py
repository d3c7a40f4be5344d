"""Parsed dumps become one batch of tables: shapes and names are interned, signatures made, contracts checked.

In: columns of parsed dumps. Out: a batch of frames that the contracts in `schemas/` accept, and rejects.
"""
