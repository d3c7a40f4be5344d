"""Programs that were compiled right here, by JAX: explained, and held against a lock in tests.

In: a jitted function and its arguments. Out: what it takes and why. JAX is the caller's.
"""
