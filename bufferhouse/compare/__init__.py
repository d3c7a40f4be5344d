"""Why two compilations take other memory: causes whose bytes sum to the difference, exactly.

In: two runs, or all runs of one program. Out: pairs of programs, causes with bytes and values, the verdict of the gate.

The occupied peak of a memory space is taken apart into the bytes that each value owns at one moment of the peak
(`moments`, `values`). The values of both sides are paired in tiers (`tiers`, `match`), those without a partner are
looked for in the rest of the other program, and what differs is named (`causes`). Nothing of this is XLA's: no compiler
compares two of its own assignments.
"""
