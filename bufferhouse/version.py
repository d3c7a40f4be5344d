"""The version of bufferhouse, which every row of `raw.loads` and `raw.rejects` names."""

__version__ = "0.1.0"
