"""The health check: does Prefect's server answer? A container runs it twice a minute, so it imports little.

    python -m flows.health [URL] [--port PORT] [--if-named]

Without URL it asks $PREFECT_API_URL; if that is not set, the server that `bufferhouse serve` starts on the port, which
gives its health without an authentication string. With `--if-named` it succeeds if no server is named.
"""

import argparse
import os
import sys
import urllib.request

from bufferhouse.paths import FLOWS
from bufferhouse.redaction import said


def main() -> int:
    """Return 0 if the server answers that it is healthy, else print the reason and return 1."""
    parser = argparse.ArgumentParser(prog=f"python -m {FLOWS}.health", description="Does Prefect's server answer?")
    parser.add_argument("url", nargs="?", help="of its API; else $PREFECT_API_URL, else that of --port")
    parser.add_argument("--port", type=int, default=4200, help="of the server that bufferhouse serve starts")
    parser.add_argument("--if-named", action="store_true", help="ask no server that neither URL nor variable names")
    call = parser.parse_args()
    url = call.url or os.environ.get("PREFECT_API_URL")
    if not url and call.if_named:
        return 0
    url = url or f"http://127.0.0.1:{call.port}/api"
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return int(answer.status != 200)
    except (OSError, ValueError) as error:
        print(said(f"bufferhouse: {url}/health does not answer: {error}"), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
