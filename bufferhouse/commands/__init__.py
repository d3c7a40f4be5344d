"""The verbs of the command line, one function each; nothing heavy is imported at module top."""
