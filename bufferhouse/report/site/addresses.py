"""The addresses of the pages of a site: safe in every file system and URL, distinct, and the same next month.

A word that is already safe is its own address: small letters, digits, `-`, `_` and single dots between them. Any other
word, such as one with a capital letter (some file systems do not distinguish it from a small one), markup or ten
thousand characters, becomes its safe characters, a tilde and a hash of the whole word. Words that are their own
addresses have no tilde, so no two words share an address.
"""

import hashlib
import re
from functools import lru_cache

from bufferhouse.redaction import redacted

LONGEST = 60  # characters of a word that are kept
_DIGITS = 12  # of the hash
_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9_-]))*")
# Names that Windows takes for a device, even with an ending; and the names of pages of the site.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
_TAKEN = {"index", "any", "list"}


@lru_cache(1 << 16)
def slug(word: str) -> str:
    """Return the part of an address for a word; different words have different ones.

    For a word that holds a secret the part has only its hash.
    """
    shown = redacted(word)
    if (
        shown == word
        and len(word) <= LONGEST
        and _PLAIN.fullmatch(word)
        and not _DEVICE.fullmatch(word)
        and word not in _TAKEN
    ):
        return word
    kept = re.sub(r"[^a-z0-9_]+", "-", shown[: 4 * LONGEST].lower().encode("ascii", "ignore").decode())
    digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{kept[:LONGEST].strip('-_')}~{digest}"


def run_address(run_name: str) -> str:
    """Return the address of a run."""
    return f"runs/{slug(run_name)}.html"


def function_address(function_name: str) -> str:
    """Return the address of a function, with all its programs."""
    return f"programs/{slug(function_name)}.html"


def program_address(program_id: int, run_name: str, compile_target: str | None) -> str:
    """Return the address of a program in a run; `compile_target` distinguishes several in one run."""
    target = "" if compile_target is None else f"@{slug(compile_target)}"
    return f"programs/{program_id}/{slug(run_name)}{target}.html"


def step_address(before_name: str, after_name: str) -> str:
    """Return the address of the comparison of two runs."""
    return f"compare/{slug(before_name)}..{slug(after_name)}.html"


def table_address(name: str) -> str:
    """Return the address of a table or a model in the catalog."""
    return f"catalog/{name}.html"
