"""`memory.lock`: the memory of compiled programs, in a file that is reviewed like code and compared with dumps.

In: dumps in a warehouse or in memory, and a file. Out: the file, or rows that the gate of `compare` judges.
"""
