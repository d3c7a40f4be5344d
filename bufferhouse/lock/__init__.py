"""`memory.lock`: what compiled programs take, kept in a file that is reviewed like code, and held against dumps.

In: dumps in a warehouse or in memory, and a file. Out: the file, or rows that the gate of `compare` judges.
"""
