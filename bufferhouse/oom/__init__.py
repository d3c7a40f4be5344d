"""Why a program did not fit: messages of XLA put together with the dumps that explain them.

What goes out is a `finding.Finding` for each message.
"""
