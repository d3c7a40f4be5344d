"""The whole fleet of real dumps: 14,603 files of 40 runs, ingested, known again, proved, given back, made small."""

import hashlib
import io
import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.command_line import CHECKOUT, Outcome, call, run
from tests.system.documents import commands
from tests.system.test_documents import follow
from tests.warehouses import counts, rows

pytestmark = [pytest.mark.slow, pytest.mark.corpus]

INGEST = """
import json, sys
from pathlib import Path
from benchmarks.memory import peak_mb
from bufferhouse.commands.ingest_run import run_ingest
summary = run_ingest(sys.argv[2:], Path(sys.argv[1]))
print("\\n" + json.dumps({**summary.as_dict(), "megabytes": peak_mb(), "exit_code": summary.exit_code}))
"""


def said(outcome: Outcome) -> dict:
    """The summary that INGEST printed: the last line, as DuckDB draws bars of progress in a process without a file."""
    assert 0 == outcome.code, outcome.err
    return json.loads(outcome.out.splitlines()[-1])


@pytest.fixture(scope="module")
def archive(corpus) -> Path:
    path = corpus / "fleet" / "gpu-sm80-history.tar.gz"
    if not path.exists():
        pytest.skip("the archive of the fleet is not in the corpus")
    return path


@pytest.fixture(scope="module")
def ingested(archive, tmp_path_factory) -> tuple[Path, dict]:
    """A warehouse of the fleet, and what the ingest said. To be read, never written."""
    path = tmp_path_factory.mktemp("whole") / "fleet.duckdb"
    return path, said(run(path, archive, code=INGEST, timeout=900))


def test_each_content_once_and_each_sighting(ingested):
    """14,603 files of 40 runs, of which 1,903 contents; nothing is refused or ignored; memory stays below 600 MB."""
    path, summary = ingested
    numbers = [summary[key] for key in ("exit_code", "seen", "new", "known", "rejected", "ignored")]
    assert [0, 14_603, 1_903, 12_700, 0, 0] == numbers
    tables = counts(path)
    assert (40, 14_603, 1_903) == tuple(tables[table] for table in ("runs", "observations", "dumps"))
    assert summary["megabytes"] < 600
    assert 0 == call("check", "--warehouse", path).code


# Where every file is read again it is known, too: tests/ingest/test_pipeline.py says so of the example fleet.
@pytest.mark.parametrize("words", [[], pytest.param(["--rehash"], marks=pytest.mark.soak)], ids=" ".join)
def test_again_it_is_known(ingested, archive, words):
    """Nothing new, no row, not even one of raw.loads; also where every file is read again."""
    path, _ = ingested
    before = counts(path)
    outcome = call("ingest", archive, *words, "--warehouse", path, "--format", "json")
    summary = json.loads(outcome.out)
    assert (0, 0, 14_603) == (outcome.code, summary["new"], summary["known"])
    assert before == counts(path)


@pytest.mark.soak  # those of the example fleet are proved in tests/warehouse/test_verify.py
def test_every_dump_is_proved(ingested):
    """`verify` renders all of them to what was read."""
    assert "1,903 of 1,903 dumps proved\n" == call("verify", "--warehouse", ingested[0]).out


@pytest.mark.soak  # files of every layout and compression come back in tests/warehouse/test_export.py
def test_the_archive_comes_back(ingested, archive, tmp_path):
    """`export --all` gives the archive's paths and hashes, run by run."""
    outcome = call("export", "--all", "-o", tmp_path, "--warehouse", ingested[0])
    assert (0, f"14,603 files written to {tmp_path}\n") == (outcome.code, outcome.out)
    with tarfile.open(archive) as members:
        expected = {
            member.name.split("/", 1)[1]: hashlib.sha256(members.extractfile(member).read()).hexdigest()
            for member in members
            if member.isfile()
        }
    found = {
        str(path.relative_to(tmp_path)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert 14_603 == len(expected)
    assert expected == found


def test_its_history_is_as_written(ingested, tmp_path, monkeypatch):
    """Every command of docs/fleet-history.md prints what is shown there."""
    shutil.copy(ingested[0], tmp_path / "warehouse.duckdb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("BUFFERHOUSE_WAREHOUSE", raising=False)
    shown = list(commands(CHECKOUT / "docs" / "fleet-history.md"))
    assert len(shown) == 6
    for one in shown:
        follow(one)


@pytest.mark.soak
def test_memory_does_not_grow_with_the_fleet(ingested, archive, tmp_path):
    """Three times the fleet, every content of it a new one, take what one takes and 5 KB for each further file."""
    path = tmp_path / "three.tar"
    with tarfile.open(archive) as members, tarfile.open(path, "w") as several:
        for member in filter(tarfile.TarInfo.isfile, members):
            top, run_name, name = member.name.split("/", 2)
            text = members.extractfile(member).read()
            for number in range(3):
                other = tarfile.TarInfo(f"{top}/{run_name}_{number}/{name}")
                other.mtime, other.size = member.mtime, len(text) + number
                several.addfile(other, io.BytesIO(text + b"\n" * number))
    summary = said(run(tmp_path / "three.duckdb", path, code=INGEST, timeout=900))
    assert (3 * 14_603, 3 * 1_903) == (summary["seen"], summary["new"])
    assert summary["megabytes"] < ingested[1]["megabytes"] + 2 * 14_603 * 5 / 1000
    assert summary["megabytes"] < 600


def test_it_is_small(ingested, tmp_path):
    """Compacted, the fleet takes at most 65 % of the bytes of its distinct dumps."""
    assert share_after_compact(Path(shutil.copy(ingested[0], tmp_path))) <= 0.65


def share_after_compact(path: Path) -> float:
    """Compact a warehouse and return its bytes as a share of those of its distinct dumps."""
    assert 0 == call("compact", "--warehouse", path).code
    [(text_bytes,)] = rows(path, "SELECT SUM(text_bytes) FROM raw.dumps")
    return path.stat().st_size / text_bytes


@pytest.mark.soak
def test_all_the_corpus_is_smaller(ingested, corpus, tmp_path):
    """Fleet, builds and large dumps together take at most 21 % of the bytes of their distinct dumps; only the
    dumps of TensorFlow 1.15 are refused, each by name; the largest dump, 37 MB, takes less than 1.5 GB of memory."""
    path = tmp_path / "all.duckdb"
    archives = [
        str(path) for folder in ("fleet", "builds", "large") for path in sorted((corpus / folder).glob("*.tar.gz"))
    ]
    summary = said(run(path, *archives, code=INGEST, timeout=900))
    refused = rows(path, "SELECT DISTINCT run_name, found FROM raw.rejects JOIN raw.runs USING (run_id)")
    assert ({"tensorflow-1.15.0"}, True) == (
        {name for name, _ in refused},
        all(re.search("pre-2019-09 dialect", found) for _, found in refused),
    )
    assert 18 == summary["rejected"]
    assert summary["megabytes"] < 1500
    assert share_after_compact(path) <= 0.21
    proved = counts(path)["dumps"]
    assert f"{proved:,} of {proved:,} dumps proved\n" == call("verify", "--warehouse", path).out
