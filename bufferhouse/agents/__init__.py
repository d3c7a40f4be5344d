"""The server for agents: the Model Context Protocol over marts, the cookbook and the guarded door for SQL.

In: calls of tools from a client. Out: answers as JSON, limited and in pages, with the marts that their numbers come
from. It computes no number of its own, writes nothing, and reads only the files of the warehouse.
"""
