"""The health check of a container: does Prefect's server answer? It runs twice a minute, so it imports little.

    python -m flows.health [URL]

Without URL it asks $PREFECT_API_URL; where that names no server there is nobody to ask, and nothing is wrong.
"""

import os
import sys
import urllib.error
import urllib.request

from bufferhouse.redaction import said


def main() -> int:
    """Return 0 if the server answers that it is healthy, else print the reason and return 1."""
    url = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PREFECT_API_URL", "")
    if not url:
        return 0
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return int(answer.status != 200)
    except OSError as error:
        print(said(f"bufferhouse: {url}/health does not answer: {error}"), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
