"""A plugin that deals the files of tests to the processes of a run, so that all end at about the same time.

Files that take long are begun first. Those that use the Prefect server are one share, and so are those that use the
browser and its pages: each process would start one of its own, which takes ten seconds. Both end with their last test,
since they work as long as they live. Those of lakes are a share, too, for a PostgreSQL, an S3 server and their lakes.
"""

from contextlib import ExitStack

import pytest

FLOWS = "tests/flows/"
REPORTS = "tests/report/"
LAKES = "tests/warehouse/lake/"
STACK = f"{FLOWS}test_oncall.py"  # has a server of its own
# Each takes ten seconds and more, the longest first; a folder stands for its files.
LONGEST = (
    FLOWS,
    STACK,
    REPORTS,
    LAKES,
    "tests/bisect/test_bisect.py",
    "tests/query/test_cookbook.py",
    "tests/ingest/test_pipeline.py",
    "tests/commands/test_reshaped.py",
    "tests/commands/test_compare.py",
    "tests/commands/test_whatif.py",
    "tests/compare/test_corpus.py",
    "tests/system/test_crash.py",
    "tests/attack/test_attack.py",
    "tests/warehouse/test_load.py",
    "tests/sources/test_archive.py",
    "tests/sources/test_bucket.py",
    "tests/ingest/test_rejects.py",
    "tests/warehouse/test_verify.py",
    "tests/engine/test_interrupts.py",
    "tests/query/test_limits.py",
    "tests/dump/test_native.py",
    "tests/query/test_door.py",
    "tests/models/test_freeze.py",
    "tests/system/test_fleet.py",
    "tests/warehouse/",
)
_ENDS = pytest.StashKey[dict[pytest.Item, ExitStack]]()


def share_of(nodeid: str) -> str:
    """Return what goes to one process together with a test."""
    file = nodeid.split("::", 1)[0]
    for folder in (REPORTS, LAKES):
        if file.startswith(folder):
            return folder
    return FLOWS if file.startswith(FLOWS) and file != STACK else file


def _place(nodeid: str) -> int:
    share = share_of(nodeid)
    if share in LONGEST:
        return LONGEST.index(share)
    return next((place for place, one in enumerate(LONGEST) if share.startswith(one)), len(LONGEST))


def until_last_test(request: pytest.FixtureRequest) -> ExitStack:
    """Return what a fixture of the session enters: it ends behind the last test that asks for the fixture."""
    last = [item for item in request.session.items if request.fixturename in item.fixturenames][-1]
    stack = request.session.stash.setdefault(_ENDS, {}).setdefault(last, ExitStack())
    request.addfinalizer(stack.close)  # another process may have run that test, or none
    return stack


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """End what no later test asks for."""
    if stack := item.session.stash.get(_ENDS, {}).pop(item, None):
        stack.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what takes long first, in a process of several; one alone keeps the order of the files."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _place(item.nodeid))


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers():
    """Begin one process more than there are cores: that with the Prefect server waits most of its time."""
    return (yield) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Deal shares where files would be dealt (`--dist loadfile`)."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Shares(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return Shares(config, log)
