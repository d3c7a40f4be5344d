"""The native reader: dumps of the common dialects to columns, in C.

`scan.c` is the scanner, `library` builds and loads it, `scanner` is its interface for Python. It accepts a dump if it
accounts for every byte. `bufferhouse.dump.parse` reads all other dumps, and it alone explains what is wrong with one.
Without a compiler, or with BUFFERHOUSE_NATIVE=0, it reads every dump. `python -m bufferhouse.dump.native` builds the
scanner.
"""

from bufferhouse.dump.native.library import reader
from bufferhouse.dump.native.scanner import Columns, Scanner, new_scanner

__all__ = ["Columns", "Scanner", "new_scanner", "reader"]
