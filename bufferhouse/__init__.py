"""bufferhouse: a data warehouse for the memory decisions of XLA."""

__version__ = "0.1.0.dev0"
