"""Run every class of attack and print a row for each: `python -m tests.attack [--short] [NAME…]`."""

import argparse
import importlib
import pkgutil
import resource
import sys
import time

import tests.attack

MOST_MEMORY_BYTES = 1 << 30
_NOT_ATTACKS = {"counts", "__main__"}


def names() -> list[str]:
    """Return the names of the modules that hold attacks, sorted."""
    found = (module.name for module in pkgutil.iter_modules(tests.attack.__path__))
    return sorted(name for name in found if name not in _NOT_ATTACKS and not name.startswith("test_"))


def main(words: list[str] | None = None) -> int:
    """Return 1 where anything was let through or took more memory than it may, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"classes to run, of: {', '.join(names())}")
    parser.add_argument("--short", action="store_true", help="the form that the tests run")
    arguments = parser.parse_args(words)
    failed = False
    for name in arguments.names or names():
        module = importlib.import_module(f"tests.attack.{name}")
        started = time.monotonic()
        for count in module.attack(arguments.short):
            print(f"{name}: {count.name}: {count.tried:,} tried, {len(count.let_through):,} let through", flush=True)
            for what in count.let_through[:20]:
                print(f"    {what[:300]!r}", flush=True)
            failed |= bool(count.let_through)
        print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    own, children = (
        resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"peak memory: {own / 1e6:,.0f} MB here, {children / 1e6:,.0f} MB in the largest process started")
    return int(failed or max(own, children) > MOST_MEMORY_BYTES)


if __name__ == "__main__":
    sys.exit(main())
