"""Runs by a pattern over the path."""

import pytest

from bufferhouse.sources.discover import discover
from bufferhouse.sources.naming import Named, check_pattern, check_regex
from tests.ingests import name_of, write_dumps


def found(root, pattern, **labels):
    return discover([str(root)], places=Named(check_pattern(pattern), labels))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("{run}/{host}/module_*", "r1/h1/module_1.txt", {"run": "r1", "host": "h1"}),
        ("{run}/{host}/module_*", "r1/module_1.txt", None),
        ("{run}/{host}/module_*", "a/r1/h1/module_1.txt", None),
        ("**/{run}/module_?.txt", "a/b/r1/module_1.txt", {"run": "r1"}),
        ("**/{run}/module_?.txt", "r1/module_1.txt", {"run": "r1"}),
        ("{run}_module_*", "2026-11-20_nightly_module_1_module_2", {"run": "2026-11-20_nightly"}),
        ("{run}/**", "r1/a/b/c", {"run": "r1"}),
        ("{run}/a.c", "r1/abc", None),
    ],
)
def test_what_a_pattern_matches(pattern, path, expected):
    """A name takes part of one path segment, * and ? stay in one, ** goes through any number, all else is itself."""
    match = check_pattern(pattern).fullmatch(path)
    assert expected == (match and match.groupdict())


@pytest.mark.parametrize(
    "make",
    [
        lambda: check_pattern("{host}/*"),
        lambda: check_pattern("{run/*"),
        lambda: check_pattern("run}/*"),
        lambda: check_pattern(3),
        lambda: check_regex("(?P<host>x)"),
        lambda: check_regex("(?P<run>"),
        lambda: check_pattern("{run}/{run}"),
    ],
)
def test_a_pattern_without_a_run_is_refused(make):
    """A pattern must name the run, once, and a regular expression must be one."""
    with pytest.raises(ValueError, match=r"run|regular expression|name"):
        make()


def test_the_groups_are_the_run_and_facts_about_it(tmp_path):
    """A run's directory ends with its name; columns are facts, others labels; where files differ, nothing is said."""
    write_dumps(tmp_path / "r1" / "h1" / "blue", [1])
    write_dumps(tmp_path / "r2" / "h1" / "blue", [1])
    write_dumps(tmp_path / "r2" / "h2" / "blue", [1])
    write_dumps(tmp_path / "stray", [1])
    seen = found(tmp_path, "{run}/{host}/{color}/module_*", track="nightly")
    assert {
        ("r1", f"h1/blue/{name_of(1)}"), ("r2", f"h1/blue/{name_of(1)}"), ("r2", f"h2/blue/{name_of(1)}")
    } == {(dump.run_name, dump.relative_path) for dump in seen.dumps}  # fmt: skip
    assert 1 == seen.ignored_count
    facts = {name: (run.root, run.facts, run.labels) for name, run in seen.runs.items()}
    assert {
        "r1": (str(tmp_path / "r1"), {"track": "nightly", "host": "h1"}, {"color": "blue"}),
        "r2": (str(tmp_path / "r2"), {"track": "nightly"}, {"color": "blue"}),
    } == facts


def test_runs_of_one_directory_are_told_apart_by_file_name(tmp_path):
    """A flat folder holds several runs; their moment may stand in the name, and run.json knows better."""
    for day in (20, 21):
        (dump,) = write_dumps(tmp_path, [1])
        dump.rename(tmp_path / f"2026-11-{day}_{name_of(1)}")
    regex = check_regex(r"(?P<run>(?P<started_at>\d{4}-\d\d-\d\d))_.*")
    seen = discover([str(tmp_path)], places=Named(regex, {}))
    moments = {name: (f"{run.started_at:%d %H}", run.started_at_source, run.root) for name, run in seen.runs.items()}
    assert {
        "2026-11-20": ("20 00", "file name", str(tmp_path)), "2026-11-21": ("21 00", "file name", str(tmp_path))
    } == moments  # fmt: skip
    (tmp_path / "run.json").write_text('{"started_at": "2020-01-01T00:00:00Z"}')
    again = discover([str(tmp_path)], places=Named(regex, {}))
    assert {"run.json"} == {run.started_at_source for run in again.runs.values()}


def test_a_pattern_that_matches_nothing_is_told(tmp_path):
    """It is wrong then, most likely; where some match, the others are ignored."""
    paths = write_dumps(tmp_path / "r1", [1, 2])
    expected = (
        f"{paths[0]}: below its source its path does not match the pattern of runs, and neither does 1 other dump"
    )
    assert ([expected], 2) == ((seen := found(tmp_path, "{run}/{host}/module_*")).refused, seen.ignored_count)
    write_dumps(tmp_path / "r2" / "h1", [3])
    assert ([], 2) == ((seen := found(tmp_path, "{run}/{host}/module_*")).refused, seen.ignored_count)
