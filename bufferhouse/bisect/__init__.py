"""Which release, or which flag, moved the memory of a program: it is compiled at few points of a list, each into a run.

In: a list of releases or flags, a command that compiles, a warehouse. Out: the points that were measured, and the step.
"""
