"""The door of agents: a server of the Model Context Protocol over marts, the cookbook and the guarded door for SQL.

In: calls of tools, by whoever the client lets in. Out: answers as JSON, bounded and paged, with the marts that their
numbers come from. It adds no number of its own, writes nothing, and reads no file but those of the warehouse.
"""
