"""What edits of values would be worth: the occupied peak and an interval for the arena, with schedule and layouts kept.

In: one memory space of one dump (`space`), and edits of its values (`edits`). Out: an `outcome.Outcome` with the bytes
before and after. `slots` says when which bytes are alive, and which slots share bytes; `packing` places slots as
tightly as it can and verifies every placement; `ranking` says what each edit alone is worth, `fitting` finds the least
set of edits that fits, `arenas` makes the packings that a warehouse keeps, `series` finds the programs that differ in
one number.
"""
