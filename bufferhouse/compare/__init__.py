"""Why the memory of a program differs between two compilations: causes whose bytes sum to the difference, exactly.

The occupied peak of a memory space is taken apart into the bytes that each value owns at one moment of the peak
(`moments`, `owners`). The values of both sides are paired in tiers (`tiers`, `matching`), those without a partner are
looked for in the rest of the other program (`elsewhere`), and what differs is named (`causes`).

Nothing of this is XLA's: no compiler compares two of its own assignments.
"""
