"""Flags of a run: which of them may change what is compiled."""

import re
import shlex

# Flags about dumping, logging, and directories of caches and tools. What a flag reads to compile with it, such as
# xla_gpu_load_autotune_results_from or a profile of PGLE, changes code and stays.
_NO_MATTER = re.compile(
    r"(?:^|_)(?:dump|dumping|v?log|logging|logs|(?:min)?loglevel|verbosity)(?:_|$)"
    r"|^(?:v|vmodule|logtostderr|alsologtostderr|stderrthreshold|logbuflevel|logbufsecs)$"
    r"|(?:_|^)(?:dir|directory|cache_file|cache_path|cache_dirs)$"
)
_WORD = re.compile(r"(?:'[^']*'|[^ ])+")  # of `effective_flags`; a quote may be one that is never closed


def effective_flags(xla_flags: str | None) -> str | None:
    """Return the flags that may change what is compiled, by name, each as it was given last; None where unknown.

    Left out are flags about dumping and logging, and those that name directories. The environment variable XLA_FLAGS
    may also be the path of a file of flags (`ParseFlagsFromEnvAndDieIfUnknown`): what stands there is unknown.
    """
    if xla_flags is None:
        return None
    try:
        words = shlex.split(xla_flags)
    except ValueError:  # a quote that is never closed
        words = xla_flags.split()
    if words and not words[0].startswith("-"):
        return None
    given: dict[str, str] = {}
    for word in words:
        name = word.lstrip("-").partition("=")[0]
        if is_effective(name):
            given[name] = word if " " not in word else shlex.quote(word)
    return " ".join(given[name] for name in sorted(given))


def differing(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the flags of `effective_flags` that only the one side has, and those that only the other has."""
    then, now = _WORD.findall(before), _WORD.findall(after)
    return [word for word in then if word not in now], [word for word in now if word not in then]


def is_effective(name: str) -> bool:
    """Return whether the flag of a name may change what is compiled."""
    return not _NO_MATTER.search(name)
