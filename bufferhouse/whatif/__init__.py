"""What a change of values would be worth: the occupied peak and an interval for the arena, schedule and layouts kept.

In: one memory space of one dump (`space`), and edits of its values (`edits`). Out: an `outcome.Outcome` with the bytes
before and after. `slots` says which bytes are alive when, and which slots XLA shares; `packing` places slots as tightly
as it can and checks every placement; `ranking` is what each edit alone is worth, `fitting` the least set of edits that
fits, `arenas` the packings that a warehouse keeps, `series` the programs that differ in one number.
"""
