"""Which files are called like logs."""

import re

from bufferhouse.sources import compression

# By name alone: to look into every text beside dumps would cost more than the dumps do.
_LOG = re.compile(
    r"\.(?:log|err|out|stderr|stdout)(?:\.[0-9]{1,9})?|(?:^|[./!_-])(?:stderr|stdout|log|message|output|console)\.txt"
)
_ENDING = 24  # characters at the end of a name, that the pattern looks at


def is_log(name: str) -> bool:
    """Say whether a file is called like a log: `*.log`, `*.err`, `*.out`, `stderr.txt` and so on, also compressed."""
    plain = compression.plain_name(name)
    found = _LOG.search(plain, max(len(plain) - _ENDING, 0))
    while found and found.end() < len(plain):
        found = _LOG.search(plain, found.start() + 1)
    return found is not None
