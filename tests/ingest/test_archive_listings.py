"""Listings of archives: kept between passes, and never in the way of what has changed."""

import io
import json
import os
import shutil
import tarfile

import pytest

from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.ingest.arrivals import Rules
from bufferhouse.ingest.source import Source, look
from bufferhouse.sources.discover import read
from tests.command_line import call
from tests.ingests import name_of
from tests.synthetic import small_dump

LONG_AGO = 1_700_000_000


def add(archive, name, data, link=None):
    header = tarfile.TarInfo(name)
    header.size, header.mtime = len(data), LONG_AGO
    if link:
        header.type, header.linkname = tarfile.LNKTYPE, link
    archive.addfile(header, io.BytesIO(data))


@pytest.fixture
def archive(tmp_path):
    """An archive of a run with a description, a dump under two names, one that was written twice, and a bystander."""
    path = tmp_path / "runs.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        add(tar, "r1/run.json", json.dumps({"run_name": "described"}).encode())
        for number in (1, 2, 2):
            add(tar, f"r1/{name_of(number)}", small_dump(number + tar.offset))
        add(tar, f"r1/{name_of(3)}", b"", link=f"r1/{name_of(1)}")
        add(tar, "r1/notes.txt", b"\xff")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


@pytest.fixture
def listings(tmp_path):
    return Listings.beside(tmp_path / "warehouse.duckdb")


def seen(archive, listings):
    """Return what one look into the archive finds, as values that can be compared."""
    found = look(
        Source("one", [str(archive)], Rules(settle=1), look_inside=False, is_configured=True), listings
    ).discovery
    dumps = [(dump.run_name, dump.relative_path, dump.size_bytes, dump.mtime_ns) for dump in found.dumps]
    return found, (dumps, found.ignored_count, found.refused, {name: run.root for name, run in found.runs.items()})


def spoil(archive):
    """Make rubbish of an archive without a change of its size or time: whoever opens it notices."""
    stat = archive.stat()
    archive.write_bytes(b"\0" * stat.st_size)
    os.utime(archive, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_an_archive_that_is_as_it_was_is_not_opened(archive, listings):
    """The second look finds the same dumps, runs and bystanders, though the archive cannot be read any more."""
    _, expected = seen(archive, listings)
    assert (["described"] * 3, 1, []) == ([dump[0] for dump in expected[0]], *expected[1:3])
    spoil(archive)
    assert expected == seen(archive, listings)[1]
    assert [] == seen(archive, None)[1][0]


def test_members_are_read_by_a_kept_listing(archive, listings):
    """The last of two with one name, and what a link leads to: the bytes are those of a listing just made."""
    expected = {dump.relative_path: data for dump, data in read(seen(archive, None)[0].dumps)}
    seen(archive, listings)
    assert 3 == len(expected)
    assert expected == {dump.relative_path: data for dump, data in read(seen(archive, listings)[0].dumps)}


@pytest.mark.parametrize("change", ["time", "size"])
def test_an_archive_that_changed_is_listed_anew(archive, listings, change):
    """Another time or another size is enough."""
    seen(archive, listings)
    spoil(archive)
    if change == "size":
        archive.write_bytes(b"\0")
    os.utime(archive, (LONG_AGO, LONG_AGO + (change == "time")))
    assert [] == seen(archive, listings)[1][0]


def test_what_is_kept_may_be_damaged_or_in_the_way(archive, listings):
    """Rubbish in the folder, or a file where the folder should be, costs a listing and nothing else."""
    _, expected = seen(archive, listings)
    (kept,) = listings.folder.iterdir()
    for rubbish in (b"", b"[]", b"{}", kept.read_bytes()[:-9]):
        kept.write_bytes(rubbish)
        assert expected == seen(archive, listings)[1]
    shutil.rmtree(listings.folder)
    listings.folder.write_bytes(b"")
    assert expected == seen(archive, listings)[1]


def test_a_damaged_archive_is_refused_each_time(archive, listings):
    """It is not kept: what it lacks may be there again under the same size and time."""
    archive.write_bytes(archive.read_bytes()[:-20])
    os.utime(archive, (LONG_AGO, LONG_AGO))
    refused = [seen(archive, listings)[1][2] for _ in range(2)]
    assert refused[0] == refused[1]
    assert f"{archive}: the archive is damaged" in refused[0][0]


def test_what_no_pass_has_come_by_for_a_month_is_forgotten(archive, listings, tmp_path):
    """When another listing is kept; one that is in use stays, however old it is."""
    seen(archive, listings)
    (kept,) = listings.folder.iterdir()
    os.utime(kept, (LONG_AGO, LONG_AGO))
    seen(archive, listings)
    second = shutil.copy2(archive, tmp_path / "second.tar.gz")
    seen(second, listings)
    assert 2 == len(list(listings.folder.iterdir()))
    os.utime(kept, (LONG_AGO, LONG_AGO))
    seen(shutil.copy2(archive, tmp_path / "third.tar.gz"), listings)
    assert (2, False) == (len(list(listings.folder.iterdir())), kept.exists())


def test_a_pass_finds_the_members_of_an_archive_known(archive, warehouse):
    """The configured pass keeps listings; what is known by then, the warehouse says: a removed run is loaded again."""
    config = archive.parent / "bufferhouse.toml"
    config.write_text(f'[[sources]]\nname = "one"\npaths = ["{archive.name}"]\n[warehouse]\npublish = false\n')
    words = ("ingest", "--config", config)
    assert "3 dumps of 1 run seen: 2 new, 1 known" in call(*words).out
    content = archive.read_bytes()
    spoil(archive)
    assert "3 dumps of 1 run seen: 0 new, 3 known" in call(*words).out
    archive.write_bytes(content)
    os.utime(archive, (LONG_AGO, LONG_AGO))
    assert 0 == call("runs", "rm", "--yes", "described", "--warehouse", warehouse).code
    assert "3 dumps of 1 run seen: 2 new, 1 known" in call(*words).out
