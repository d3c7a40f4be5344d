"""Tar and zip files as sources: what is in them, what is refused, what is left of damaged ones."""

import gzip
import hashlib
import io
import json
import lzma
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest
import zstandard

from bufferhouse.ingest.archive_listings import Listings
from bufferhouse.sources.archive import Archive
from bufferhouse.sources.discover import Discovery, discover, read
from tests.command_line import call, run
from tests.ingests import SUFFIX, ingest, name_of
from tests.sources.beside import files_beside, told_beside
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import contents, counts, rows

KINDS = [".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".zip"]
# With a checksum, as the program zstd writes; the library leaves it out unless asked.
ZSTD = zstandard.ZstdCompressor(write_checksum=True)
PACK = {"gz": gzip.compress, "zst": ZSTD.compress, "xz": partial(lzma.compress, preset=0)}
PACK |= {f"t{kind}": PACK[kind] for kind in tuple(PACK)}


def member(name: str, data: bytes = b"", **facts) -> tuple[tarfile.TarInfo, bytes]:
    """A member of a tar, a file unless `facts` say otherwise."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mtime = 1_700_000_000
    for fact, value in facts.items():
        setattr(info, fact, value)
    return info, data


def tarred(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def archived(path: Path, files: dict[str, bytes]) -> Path:
    """Write an archive of the kind its name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path
    data = tarred(member(name, data) for name, data in files.items())
    path.write_bytes(PACK.get(path.suffix[1:], bytes)(data))
    return path


def test_a_directory_of_archives_is_a_directory_of_dumps(tmp_path, warehouse):
    """Archives that a walk comes by are opened where it finds no dump; beside dumps they are named and left alone."""
    box = tmp_path / "box"
    box.mkdir()
    archived(box / "a.tar.gz", {f"run_a/{name_of(1)}": small_dump(1)})
    archived(box / "b.zip", {f"run_b/{name_of(2)}": small_dump(2), "run_b/notes.md": b"-"})
    orphan = box / name_of(9).replace(SUFFIX, "-buffer-assignment-values.txt")
    orphan.write_bytes(b"-")
    found = discover([str(box)])
    assert [str(orphan)] == found.orphans
    assert (["run_a", "run_b"], 2, []) == ([dump.run_name for dump in found.dumps], found.ignored_count, found.archives)
    assert [small_dump(1), small_dump(2)] == [files["combined"] for _, files in read(found.dumps)]
    (box / name_of(3)).write_bytes(small_dump(3))
    outcome = call("ingest", box, "--warehouse", warehouse)
    assert (0, "1 dump of 1 run seen: 1 new, 0 known, 0 rejected; 3 other files ignored") == (
        outcome.code,
        outcome.out.split("\n")[0],
    )
    assert f"{box / 'a.tar.gz'} and 1 more: archives beside dumps are opened only when named" in outcome.err


def test_an_archive_inside_an_archive_is_named(tmp_path, warehouse):
    """It is not opened: whoever packed archives into one hears that what they hold is not loaded."""
    (tmp_path / "box").mkdir()
    inner = archived(tmp_path / "inner.tar.gz", {f"run_a/{name_of(1)}": small_dump(1)}).read_bytes()
    outer = archived(tmp_path / "box" / "outer.tar", {"inner.tar.gz": inner, f"run_b/{name_of(2)}": small_dump(2)})
    only = archived(tmp_path / "only.zip", {"inner.tar.gz": inner})
    for source, code in ((outer, 0), (outer.parent, 0), (only, 1)):
        outcome = call("ingest", source, "--warehouse", warehouse)
        path = f"{only if source == only else outer}!inner.tar.gz"
        assert code == outcome.code, outcome.err
        assert f"bufferhouse: {path}: archives inside archives are not opened; unpack them\n" in outcome.err


def test_a_compression_that_is_not_read_is_named(tmp_path, warehouse):
    """A dump or an archive that is called so is passed by, and whoever packed it hears that it is not loaded."""
    box = tmp_path / "box"
    box.mkdir()
    (box / name_of(1)).write_bytes(small_dump(1))
    for name in (f"{name_of(2)}.bz2", "old.tar.bz2", "old.tbz2", "notes.bz2"):
        (box / name).write_bytes(b"BZh9")
    packed = archived(tmp_path / "box.tar", {path.name: path.read_bytes() for path in sorted(box.iterdir())})
    for source, inside in ((box, f"{box}/"), (packed, f"{packed}!")):
        outcome = call("ingest", source, "--warehouse", warehouse)
        told = "this compression is not read, only .gz, .zst, .xz and .zip; decompress them"
        assert f"bufferhouse: {inside}{name_of(2)}.bz2 and 2 more: {told}\n" in outcome.err
        assert "4 other files ignored" in outcome.out
    assert 1 == call("ingest", box / f"{name_of(2)}.bz2", "--warehouse", warehouse).code


def small_dumps(numbers: Iterable[int], directory: str = "run") -> dict[str, bytes]:
    return {f"{directory}/{name_of(number)}": small_dump(number) for number in numbers}


def facts(warehouse: Path) -> dict[str, list[tuple]]:
    """All rows of a warehouse without what says where they come from."""
    found = contents(warehouse)
    found["observations"] = rows(
        warehouse,
        "SELECT run_name, relative_path, dump_id, program_id FROM raw.observations JOIN raw.runs USING (run_id)"
        " ORDER BY ALL",
    )
    found["runs"] = rows(warehouse, "SELECT run_name, compiler_version, labels FROM raw.runs ORDER BY ALL")
    return found


def files_of_fleet(fleet: Path) -> dict[str, bytes]:
    return {str(path.relative_to(fleet)): path.read_bytes() for path in sorted(fleet.rglob("*")) if path.is_file()}


def told(found: Discovery) -> tuple:
    """All that is read of what was discovered, without where it lies."""
    dumps = sorted((dump.run_name, dump.relative_path, files) for dump, files in read(found.dumps))
    return dumps, {name: run.facts for name, run in found.runs.items()}, found.ignored_count, found.refused


@pytest.mark.parametrize("kind", KINDS)
def test_an_archive_is_read_as_the_directory(fleet, tmp_path, kind):
    """The same dumps, byte for byte, of the same runs, run.json included."""
    expected = told(discover([fleet]))
    assert (126, []) == (len(expected[0]), expected[-1])
    assert expected == told(discover([archived(tmp_path / f"fleet{kind}", files_of_fleet(fleet))]))


@pytest.mark.parametrize("kind", [".TAR", ".TGZ", ".TAR.ZST", ".ZIP", ".Zip", ".Tar.Gz", ".tar.XZ"])
def test_an_archive_in_capitals_is_read_like_its_twin(tmp_path, kind):
    """Its run is called like it, without the ending."""
    inside = {f"{name_of(1)}.GZ": gzip.compress(small_dump(1)), f"{name_of(2)}.BZ2": b"BZh9"}
    path = archived(tmp_path / f"night{kind.lower()}", inside).rename(tmp_path / f"night{kind}")
    found = discover([tmp_path])
    assert [("night", {"combined": small_dump(1)})] == [(dump.run_name, files) for dump, files in read(found.dumps)]
    assert [f"{path}!{name_of(2)}.BZ2"] == found.archives


# Above, every kind is read as the directory is; `make soak` loads a zip file, too.
@pytest.mark.parametrize("kind", [".tar.gz", pytest.param(".zip", marks=pytest.mark.soak)])
def test_an_archive_holds_what_the_directory_holds(example_warehouse, warehouse, fleet, tmp_path, kind):
    """Every table has the rows it has from the directory, run.json included; members are called archive!member."""
    path = archived(tmp_path / f"fleet{kind}", files_of_fleet(fleet))
    code, summary = ingest(warehouse, path)
    assert (0, 126, 1) == (code, summary["new"], summary["ignored"])
    assert facts(example_warehouse) == facts(warehouse)
    uris = rows(warehouse, "SELECT source_uri FROM raw.observations ORDER BY ALL")
    assert f"{path}!seeds/000_f7d316536d8a2672.txt" in [uri for (uri,) in uris]
    code, summary = ingest(warehouse, path)
    assert (0, 0, 126) == (code, summary["new"], summary["known"])


# A stream, and an archive that is read anywhere; another stream differs in what decompresses it.
@pytest.mark.parametrize("kind", [".tar.gz", ".zip", pytest.param(".tar.zst", marks=pytest.mark.soak)])
def test_what_lies_beside_dumps_is_read_from_an_archive(warehouse, tmp_path, from_the_disk, kind):
    """Protos, options and module texts, also compressed ones and the proto of a dump without a text: as on the disk."""
    path = archived(tmp_path / f"night{kind}", dict(reversed(files_beside().items())))
    code, summary = ingest(warehouse, path)
    assert (0, 7, 7, 0, 0) == (code, *(summary[name] for name in ("seen", "new", "ignored", "rejected")))
    expected, rows_of_tables = from_the_disk
    assert rows_of_tables == summary["rows"]
    assert expected == told_beside(warehouse)
    assert ["donations"] == [table for table, found in expected[1].items() if not found]  # no text offers any
    assert {"known": 7, "new": 0} == {name: ingest(warehouse, path)[1][name] for name in ("known", "new")}


def test_a_zip_from_windows_has_its_folders(tmp_path):
    """Compress-Archive of Windows PowerShell parts names by `\\`: two runs were one, and no program had a name."""
    path = tmp_path / "nights.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (("dumps\\", b""), *((f"dumps\\n{n}\\{name_of(n)}", small_dump(n)) for n in (1, 2))):
            info = zipfile.ZipInfo(name)
            info.create_system = 0
            archive.writestr(info, data)
        archive.writestr("a\\b.txt", b"of a system where that is one name")
    found = discover([str(path)])
    assert [("n1", name_of(1)), ("n2", name_of(2))] == [(dump.run_name, dump.relative_path) for dump in found.dumps]
    assert ([], 1) == (found.refused, found.ignored_count)
    assert [{"combined": small_dump(1)}, {"combined": small_dump(2)}] == [files for _, files in read(found.dumps)]


def test_a_run_at_the_top_of_an_archive_is_called_like_it(tmp_path):
    """A run.json says what it is, like one beside the dumps; one further up holds for what is below."""
    top = archived(tmp_path / "nightly_7.tar.gz", {name_of(1): small_dump(1)})
    named = {**small_dumps([1], "a/b"), "a/run.json": json.dumps({"run_name": "inner", "track": "x"}).encode()}
    deep = archived(tmp_path / "all.zip", named)
    found = discover([top, deep])
    assert [("nightly_7", name_of(1)), ("inner", f"b/{name_of(1)}")] == [
        (dump.run_name, dump.relative_path) for dump in found.dumps
    ]
    assert {"nightly_7": f"{top}!", "inner": f"{deep}!a"} == {name: run.root for name, run in found.runs.items()}
    assert {"track": "x"} == found.runs["inner"].facts


def test_the_files_of_a_split_dump_may_lie_far_apart(tmp_path, fleet):
    """First all allocations, then all values, then all live ranges: each dump comes whole, with its own three."""
    source = fleet / "jaxlib-0.10.0"
    texts = {path.name: path.read_bytes() for path in source.glob("*.txt")}
    order = [SUFFIX, "-buffer-assignment-values.txt", "-live-range.txt"]
    names = [name for suffix in order for name in sorted(texts) if name.endswith(suffix)]
    assert sorted(texts) == sorted(names)
    path = archived(tmp_path / "apart.tar", {f"run/{name}": texts[name] for name in names})
    expected = {dump.relative_path: files for dump, files in read(discover([source]).dumps)}
    for memory in (64 << 20, 100):  # what waits for the rest does not fill the memory
        assert expected == {d.relative_path: files for d, files in read(discover([path]).dumps, waiting_bytes=memory)}
    assert {"allocations", "values", "live_range"} == set.union(*map(set, expected.values()))
    assert sorted(texts.values()) == sorted(text for files in expected.values() for text in files.values())


def test_a_tar_is_decompressed_once(tmp_path):
    """What is called like a dump is held when it is listed, and read from there; what is read twice, from the tar."""
    opened = []

    def file():
        opened.append(path)
        return path.open("rb")

    path = archived(tmp_path / "fleet.tar.gz", {**small_dumps(range(5)), "run/odd.log": small_dump(7)})
    archive = Archive(str(path), file)
    entries = {entry.path.rsplit("/", 1)[1]: entry for entry in archive.entries()}
    named = [entries[name_of(number)] for number in (3, 1)]
    assert ([small_dump(1), small_dump(3)], 1) == ([data for _, data in archive.read(named)], len(opened))
    both = [entries[name_of(1)], entries["odd.log"], entries[name_of(2)]]
    assert [small_dump(2), small_dump(1), small_dump(7)] == [data for _, data in archive.read(both)]
    assert 2 == len(opened)


# What is refused by name


def test_names_and_links_that_leave_the_archive_are_refused_by_name(warehouse, tmp_path):
    """Exit 1, each name is shown, nothing outside is read, and the other members load."""
    (tmp_path / "outside.txt").write_bytes(small_dump(9))
    link = {"type": tarfile.SYMTYPE}
    path = tmp_path / "odd.tar"
    path.write_bytes(
        tarred(
            [
                member(f"../up{SUFFIX}", small_dump(1)),
                member(f"run/../../up{SUFFIX}", small_dump(2)),
                member(f"/absolute{SUFFIX}", small_dump(3)),
                member(f"run/linked{SUFFIX}", linkname="../../outside.txt", **link),
                member(f"run/away{SUFFIX}", linkname=str(tmp_path / "outside.txt"), **link),
                member(f"run/nowhere{SUFFIX}", linkname="gone.txt", **link),
                member(f"run/round{SUFFIX}", linkname=f"trip{SUFFIX}", **link),
                member(f"run/trip{SUFFIX}", linkname=f"round{SUFFIX}", **link),
                member(f"./run/{name_of(4)}", small_dump(4)),
            ]
        )
    )
    outcome = call("ingest", path, "--warehouse", warehouse)
    assert 1 == outcome.code
    for line in (
        f"../up{SUFFIX}: the name leaves the archive",
        f"run/../../up{SUFFIX}: the name leaves the archive",
        f"/absolute{SUFFIX}: the name leaves the archive",
        f"run/linked{SUFFIX}: the link leaves the archive",
        f"run/away{SUFFIX}: the link leaves the archive",
        f"run/nowhere{SUFFIX}: the link leads to no dump in the archive",
        f"run/round{SUFFIX}: the link leads to no dump in the archive",
        f"run/trip{SUFFIX}: the link leads to no dump in the archive",
    ):
        assert f"unreadable: {path}!{line}" in outcome.out
    assert [(name_of(4), f"{path}!run/{name_of(4)}")] == rows(
        warehouse, "SELECT relative_path, source_uri FROM raw.observations"
    )


def test_links_inside_an_archive_are_followed(tmp_path):
    """tar stores a file with two names once: both are seen. So are symbolic links, in zip files, too."""
    tar, zipped = tmp_path / "links.tar", tmp_path / "links.zip"
    tar.write_bytes(
        tarred(
            [
                member(f"a/early{SUFFIX}", linkname=f"../b/{name_of(1)}", type=tarfile.SYMTYPE),
                member(f"b/{name_of(1)}", small_dump(1)),
                member(f"c/hard{SUFFIX}", linkname=f"b/{name_of(1)}", type=tarfile.LNKTYPE),
                member(f"d/to_link{SUFFIX}", linkname=f"../a/early{SUFFIX}", type=tarfile.SYMTYPE),
            ]
        )
    )
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr(f"b/{name_of(1)}", small_dump(1))
        info = zipfile.ZipInfo(f"a/early{SUFFIX}")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, f"../b/{name_of(1)}")
    for path, names in (
        (tar, [f"early{SUFFIX}", name_of(1), f"hard{SUFFIX}", f"to_link{SUFFIX}"]),
        (zipped, [f"early{SUFFIX}", name_of(1)]),
    ):
        found = discover([path])
        assert ([], sorted(names)) == (found.refused, sorted(dump.relative_path for dump in found.dumps))
        assert [{"combined": small_dump(1)}] * len(names) == [files for _, files in read(found.dumps)]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_run_file_that_is_a_link_is_read(tmp_path, kind):
    """As in a folder; one that leads to no run.json of the archive is named."""
    path = tmp_path / "nights.tar"
    facts = json.dumps({"track": "nightly"}).encode()
    target = {tarfile.SYMTYPE: "../a/run.json", tarfile.LNKTYPE: "a/run.json"}[kind]
    files = [member(f"{run}/{name_of(number)}", small_dump(number)) for number, run in enumerate("abc")]
    links = [("b", target), ("c", "../facts.json" if kind == tarfile.SYMTYPE else "facts.json")]
    links = [member(f"{run}/run.json", linkname=linked, type=kind) for run, linked in links]
    path.write_bytes(tarred([member("facts.json", facts), member("a/run.json", facts), *files, *links]))
    found = discover([path])
    assert {"a": "nightly", "b": "nightly", "c": None} == {
        run: one.facts.get("track") for run, one in found.runs.items()
    }
    assert [f"{path}!c/run.json: the link leads to no run.json in the archive; pack the file itself"] == found.refused


def test_the_last_of_members_with_one_name_counts(tmp_path):
    """As for tar itself, which appends what changed."""
    path = tmp_path / "appended.tar"
    changed = [small_dump(1), small_dump(2), small_dump(3) + b"\n"]
    path.write_bytes(tarred(member(f"run/{name_of(1)}", data) for data in changed))
    [(dump, files)] = read(discover([path]).dumps)
    assert ({"combined": changed[-1]}, len(changed[-1])) == (files, dump.size_bytes)


def test_a_member_that_is_no_dump_any_more_is_none(tmp_path):
    """The last of one name is what tar unpacks: a dump before it, which only its first line told, is not there."""
    path = tmp_path / "again.tar"
    again = [member("run/a.txt", data) for data in (small_dump(2), b"a note")]
    path.write_bytes(tarred([member(f"run/{name_of(1)}", small_dump(1)), *again]))
    found = discover([str(path)])
    assert ([name_of(1)], 1) == ([dump.relative_path for dump in found.dumps], found.ignored_count)


def test_the_limit_holds_for_members(warehouse, tmp_path, monkeypatch):
    """A member above the limit is named and not read."""
    monkeypatch.setenv("BUFFERHOUSE_DUMP_LIMIT", "5000")
    files = {**small_dumps([1, 3]), f"run/{name_of(2)}": small_dump(2) + b"\n" * 5000}
    for kind in (".tar.gz", ".zip"):
        path = archived(tmp_path / f"large{kind}", files)
        code, summary = ingest(warehouse, path)
        large = f"{path}!run/{name_of(2)}: more than 5000 bytes; $BUFFERHOUSE_DUMP_LIMIT, in bytes, raises the limit"
        assert (1, [large]) == (code, summary["unreadable"])
    assert 2 == counts(warehouse)["dumps"]


# Damage


def ingest_damaged(warehouse: Path, *paths: Path) -> dict[Path, list[str]]:
    """Ingest archives that must all be refused; return the names that loaded of each."""
    code, summary = ingest(warehouse, *paths)
    assert 1 == code
    for path in paths:
        assert [line for line in summary["unreadable"] if line.startswith(f"{path}: the archive is damaged: ")], path
    loaded = rows(warehouse, "SELECT source_uri, relative_path FROM raw.observations ORDER BY ALL")
    return {path: [name for uri, name in loaded if uri.startswith(f"{path}!")] for path in paths}


MEMBER = 3 * 512  # a header and a small dump in two blocks


# `.tgz` is another name for `.tar.gz`, and so on.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(".tar")])
def test_what_stands_before_the_end_of_a_cut_tar_loads(warehouse, tmp_path, kind):
    """Cut between two members, in a header, in a dump or in what fills it up: the archive is named, the rest loads."""
    expected = {}
    for place, whole in ((0, 10), (200, 10), (700, 10), (1200, 11)):
        path = tmp_path / f"cut-{place}{kind}"
        data = tarred(member(name, data) for name, data in small_dumps(range(20), f"run-{place}").items())
        assert small_dump(11) in data[11 * MEMBER : 12 * MEMBER]
        path.write_bytes(PACK.get(kind.rsplit(".", 1)[1], bytes)(data[: 10 * MEMBER + place]))
        expected[path] = [name_of(number) for number in range(whole)]
    assert expected == ingest_damaged(warehouse, *expected)


@pytest.mark.parametrize("kind", [".tar.gz", ".tar.zst", ".tar.xz"])
def test_what_stands_before_damaged_compression_loads(warehouse, tmp_path, kind):
    """Bytes that break off or hold a wrong bit are said, if only the checksum at the end tells; what is whole loads."""
    noise = {"run/noise": bytes(hashlib.shake_128(b"noise").digest(1 << 20))}
    paths = {}
    for damage in ("cut", "flipped"):
        text = small_dumps(range(20), damage) | noise | small_dumps(range(20, 30), damage)
        paths[damage] = archived(tmp_path / f"{damage}{kind}", text)
        data = bytearray(paths[damage].read_bytes())
        middle = len(data) // 2
        data[middle] ^= 0xFF
        paths[damage].write_bytes(data if damage == "flipped" else data[:middle])
    loaded = ingest_damaged(warehouse, *paths.values())
    assert [name_of(number) for number in range(20)] == loaded[paths["cut"]]
    assert [name_of(number) for number in range(20)] == loaded[paths["flipped"]][:20]


def test_rubbish_between_members_is_said(warehouse, tmp_path):
    """tar itself ends there without a word."""
    data = bytearray(tarred(member(name, data) for name, data in small_dumps(range(4)).items()))
    data[2 * MEMBER : 2 * MEMBER + 512] = b"rubbish." * 64
    path = tmp_path / "rubbish.tar"
    path.write_bytes(data)
    assert {path: [name_of(0), name_of(1)]} == ingest_damaged(warehouse, path)


def test_a_file_that_is_no_archive_is_said(warehouse, tmp_path):
    """Whatever its name promises; and its neighbors load."""
    paths = [tmp_path / f"{name}{kind}" for kind in KINDS for name in ("empty", "no")]
    for path in paths:
        path.write_bytes(b"" if path.name.startswith("empty") else b"no archive" * 100)
    good = archived(tmp_path / "good.tar", small_dumps([1]))
    code, summary = ingest(warehouse, *paths, good)
    assert (1, 1, len(paths)) == (code, summary["new"], len(summary["unreadable"]))
    for path in paths:
        assert [line for line in summary["unreadable"] if line.startswith(f"{path}: the archive is damaged: ")], path


@pytest.mark.parametrize(
    ("kind", "other", "what"),
    [
        (".tar", ".tar.gz", "a tar that is not compressed; name it ….tar"),
        (".tar", ".zip", "a tar that is not compressed; name it ….tar"),
        (".tar.gz", ".tar", "gzip data; name it ….gz"),
        (".tar.zst", ".tgz", "zstd data; name it ….zst"),
        (".zip", ".tar", "a zip archive; name it ….zip"),
    ],
)
def test_an_archive_that_is_called_like_another_kind_says_what_it_is(tmp_path, kind, other, what):
    """As a server that decompresses what it sends makes one."""
    path = archived(tmp_path / f"x{kind}", small_dumps([1]))
    archive = Archive(str(path.rename(tmp_path / f"other{other}")))
    assert [] == list(archive.entries())
    assert [(archive.path, f"the archive is damaged: {what}")] == archive.refused


def test_a_forged_header_takes_no_memory(tmp_path):
    """A long name of gigabytes is refused before it is read."""
    path = tmp_path / "forged.tar"
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 7 << 30
    path.write_bytes(tarred([member(f"run/{name_of(1)}", small_dump(1))])[:MEMBER] + header.tobuf() + b"x" * 5000)
    archive = Archive(str(path))
    assert [f"{path}!run/{name_of(1)}"] == [entry.path for entry in archive.entries()]
    assert [(str(path), f"the archive is damaged: expected a header, found one of {7 << 30} bytes")] == archive.refused


def test_members_of_a_zip_are_refused_one_by_one(warehouse, tmp_path):
    """A wrong checksum, a password, an unknown method, a date that is none: only what cannot be read is named."""
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(5):
            date = (1980, 0, 0, 0, 0, 0) if number == 4 else (2026, 1, 1, 0, 0, 0)
            archive.writestr(zipfile.ZipInfo(f"run/{name_of(number)}", date), small_dump(number))
    data = bytearray(path.read_bytes())
    data[data.index(small_dump(1)) + 100] ^= 1
    for number, place, value in ((2, 6, 1), (3, 8, 99)):  # flags and method, in the two headers of a member
        for mark, offset in ((b"PK\3\4", 0), (b"PK\1\2", 2)):
            at = [found for found in range(len(data)) if data[found : found + 4] == mark][number]
            struct.pack_into("<H", data, at + place + offset, value)
    path.write_bytes(data)
    code, summary = ingest(warehouse, path)
    assert (1, 5, 2, 3) == (code, summary["seen"], summary["new"], len(summary["unreadable"]))
    for number, reason in (
        (1, "Bad CRC-32"),
        (2, "encrypted with a password; unpack the archive first"),
        (3, "packed by a method that bufferhouse does not know; unpack the archive first"),
    ):
        [line] = [line for line in summary["unreadable"] if line.startswith(f"{path}!run/{name_of(number)}: ")]
        assert (number == 1) == ("damaged in the archive: " in line)
        assert reason in line


def locked(path: Path, files: dict[str, bytes]) -> Path:
    """Write a zip whose members say that they are encrypted."""
    data = bytearray(archived(path, files).read_bytes())
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        for at in range(len(data)):
            if data[at : at + 4] == mark:
                data[at + place] |= 1
    path.write_bytes(data)
    return path


def test_a_member_that_cannot_be_looked_into_is_named_where_it_may_be_a_dump(warehouse, tmp_path):
    """One that is called like text, as one in a folder is; what is called otherwise is a file like others."""
    path = locked(tmp_path / "locked.zip", {"run/000.txt": small_dump(1), "run/a.ll": b"ll"})
    outcome = call("ingest", path, "--warehouse", warehouse)
    lines = [line for line in outcome.out.split("\n") if line.startswith("unreadable: ")]
    assert (1, 1, True) == (outcome.code, len(lines), lines[0].startswith(f"unreadable: {path}!run/000.txt: "))
    assert lines[0].endswith(": encrypted with a password; unpack the archive first")
    assert "nothing loaded; seen: 1 .ll" in outcome.out
    again = [discover([str(path)], entries_of=Listings(tmp_path / "kept").entries).refused for _ in range(2)]
    assert [[lines[0].removeprefix("unreadable: ")]] * 2 == again
    named = discover([str(path)], look_inside=False)
    assert ([], 2) == (named.refused, named.ignored_count)


def test_a_run_file_that_cannot_be_read_in_an_archive_says_why(warehouse, tmp_path):
    """The dumps of its run are left out, and no word says that no file was there."""
    path = locked(tmp_path / "locked.zip", {"run/run.json": b"{}", f"run/{name_of(1)}": small_dump(1)})
    outcome = call("ingest", path, "--warehouse", warehouse)
    [line] = [line for line in outcome.out.split("\n") if line.startswith("unreadable: ")]
    why = "encrypted with a password; unpack the archive first; 1 dump left out"
    assert (1, f"unreadable: {path}!run/run.json: {why}") == (outcome.code, line)
    assert "nothing loaded; what is there cannot be read" in outcome.out


# Memory

INGEST = """
import sys
from pathlib import Path
from benchmarks.memory import peak_mb
from bufferhouse.commands.ingest_run import run_ingest
warehouse, *sources = sys.argv[1:]
for source in sources:
    summary = run_ingest([source], Path(warehouse))
    print()  # behind a bar that DuckDB may have drawn
    print(summary.seen, summary.new, peak_mb())
"""


def write_repeats(path: Path, texts: list[bytes], count: int) -> None:
    """Write an archive of many dumps with few contents, member by member."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for number in range(count):
                archive.writestr(f"run/{name_of(number)}", texts[number % len(texts)])
        return
    with gzip.open(path, "wb", 1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        for number in range(count):
            info, data = member(f"run/{name_of(number)}", texts[number % len(texts)])
            archive.addfile(info, io.BytesIO(data))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [".tar.gz", pytest.param(".zip", marks=pytest.mark.soak)])
def test_memory_does_not_grow_with_the_archive(blank_warehouse, tmp_path, kind):
    """150 MB of dumps, most of them repeats as in a fleet, take what 30 MB took, and less than 600 MB in all.

    The smaller one comes first, with imports, models and one batch; the rest of the larger archive would be 120 MB
    if it were kept.
    """
    texts = [dump_text([Slot(0, 2, 64 * i, 64) for i in range(2000)]) + b"\n" * number for number in range(8)]
    warehouse, paths, counts_of = shutil.copy(blank_warehouse, tmp_path / "w.duckdb"), [], []
    for size in (30 << 20, 150 << 20):
        counts_of.append(size // len(texts[0]))
        paths.append(tmp_path / f"{size}{kind}")
        write_repeats(paths[-1], texts, counts_of[-1])
    outcome = run(warehouse, *paths, code=INGEST, timeout=300)
    assert 0 == outcome.code, outcome.err
    told = [list(map(int, line.split())) for line in outcome.out.splitlines() if line[:1].isdigit()]
    assert [[counts_of[0], len(texts)], [counts_of[1], 0]] == [line[:2] for line in told]
    (_, _, small), (_, _, large) = told
    assert large < small + 60
    assert large < 600
