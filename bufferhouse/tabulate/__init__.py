"""Parsed dumps become one batch of tables: shapes and names interned, signatures, contracts proved.

In: columns of parsed dumps. Out: a batch of frames that the contracts in `schemas/` accept, and rejects.
"""
