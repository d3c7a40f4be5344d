"""The native reader: dumps of the common dialects to columns, in C.

`scan.c` is the scanner, `library` builds and loads it, `scanner` is what Python sees of it. It takes a dump where it
accounts for all of it, to the last byte; any other is read by `bufferhouse.dump.parse`, which alone explains what is
wrong. Without a compiler, or with BUFFERHOUSE_NATIVE=0, all dumps are. `python -m bufferhouse.dump.native` builds it.
"""

from bufferhouse.dump.native.library import reader
from bufferhouse.dump.native.scanner import Columns, Scanner, new_scanner

__all__ = ["Columns", "Scanner", "new_scanner", "reader"]
