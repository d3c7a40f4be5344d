"""The pipeline, once: discover → read → parse → tabulate → load → publish.

In: sources and a warehouse. Out: a summary of what was seen, new, known, ignored and rejected.
"""
