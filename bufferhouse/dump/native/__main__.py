"""Builds the scanner: `python -m bufferhouse.dump.native`. Ends with 0 without a compiler, too: nothing needs it."""

import sys

from bufferhouse.dump.native.library import build, reader

if __name__ == "__main__":
    fault = build()
    print(f"reader: {reader()}")
    if fault is not None:
        print(f"The native reader was not built: {fault}", file=sys.stderr)
