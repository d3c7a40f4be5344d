"""Where bytes come from: directories, archives, buckets, compressed files; and which run a file belongs to.

In: paths and addresses as a person writes them. Out: candidates, siblings grouped, and their bytes.
"""
