"""Standard streams that are closed or take no more, and a working directory that is gone: told, without a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from bufferhouse.paths import CHECKOUT

QUERY = "query 'SELECT 5 AS n' --format csv"


def shell(command: str, folder: Path, warehouse: Path) -> tuple[int, str, str]:
    """Run `bufferhouse` as a shell starts it: `$B` is the command, `$W` names the warehouse."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120,
        env={
            "B": f"{sys.executable} -m bufferhouse.cli", "W": f"--warehouse {warehouse}", "PYTHONPATH": str(CHECKOUT),
            "PATH": "/usr/bin:/bin", "HOME": str(folder),
        },
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", ["--version", pytest.param("--help", marks=pytest.mark.soak), "programs $W"])
def test_an_output_that_takes_no_more_is_told(example_warehouse, tmp_path, words):
    """Exit 3, as with every full disk."""
    code, _, err = shell(f"$B {words} > /dev/full", tmp_path, example_warehouse)
    assert 3 == code, err
    assert "bufferhouse: where the output goes: No space left on device; make space and run" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("$B verify --sample 1 $W 2> /dev/full", "1 of 1 dump proved\n"),
        # The next one leaves it even less.
        pytest.param(f"$B {QUERY} $W -o a.csv <&- 2>&- && cat a.csv", "n\n5\n", marks=pytest.mark.soak),
        (f"$B {QUERY} $W -o a.csv <&- >&- 2>&- && cat a.csv", "n\n5\n"),
        (f"$B {QUERY} $W <&- 2>&-", "n\n5\n"),
    ],
)
def test_who_hears_nothing_gets_the_answer_all_the_same(example_warehouse, tmp_path, command, expected):
    """What is told beside the work may be lost; the answer and the exit code may not."""
    assert (0, expected, "") == shell(command, tmp_path, example_warehouse)


def test_names_on_a_standard_input_that_is_closed_are_none(example_warehouse, tmp_path):
    """As with an empty one."""
    closed, empty = (shell(f"$B ingest - --warehouse w.duckdb {how}", tmp_path, example_warehouse)
                     for how in ("<&-", "</dev/null"))  # fmt: skip
    assert empty == closed
    assert (1, True) == (closed[0], "no dump found" in closed[1])


@pytest.mark.parametrize(
    "words",
    ["query 'SELECT 1' -o a.csv", pytest.param("stats", marks=pytest.mark.soak), "report fleet $W --html a.html"],
)
def test_a_working_directory_that_is_gone_is_named(example_warehouse, tmp_path, words):
    """No name of a file could say what is missing."""
    command = f"mkdir gone && cd gone && rmdir ../gone && $B {words}"
    assert (2, "", "bufferhouse: the working directory: No such file or directory\n") == shell(
        command, tmp_path, example_warehouse
    )


def test_a_folder_whose_name_is_not_utf_8_is_named(example_warehouse, tmp_path):
    """DuckDB takes no such path."""
    command = 'd=$(printf "bad\\376") && mkdir "$d" && cd "$d" && $B query "SELECT 1" --warehouse w.duckdb'
    code, _, err = shell(command, tmp_path, example_warehouse)
    assert (2, True) == (code, "expected words in UTF-8, found" in err), err
