"""Build the scanner: `python -m bufferhouse.dump.native`. Exit 1 with the reason if that is not possible."""

import sys

from bufferhouse.dump.native.library import build, reader

if __name__ == "__main__":
    fault = build()
    print(f"reader: {reader()}")
    if fault is not None:
        print(f"The native reader, which is several times as fast, was not built: {fault}", file=sys.stderr)
    sys.exit(fault is not None)
