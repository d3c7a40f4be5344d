"""What is a dump, which run it belongs to, and which files are one dump."""

import gzip
import os
import tarfile
from pathlib import Path

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.sources import discover as sources
from bufferhouse.sources.discover import Discovery, discover
from tests.synthetic import small_dump

NAME = "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
STEM = NAME.removesuffix("-buffer-assignment.txt")


def write(path: Path, text: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text or small_dump(0))
    return path


def paths(found: Discovery) -> list[tuple[str, str]]:
    return [(dump.run_name, dump.relative_path) for dump in found.dumps]


def test_a_walk_takes_dumps_by_name_or_first_line_and_counts_the_rest(tmp_path):
    """Names end in buffer-assignment.txt, compressed or not, or the text says it; other files are ignored."""
    named = [NAME, f"x/{NAME}.gz", f"x/{NAME}.zst", f"x/{NAME}.xz", "odd-buffer-assignment.txt", "renamed.log"]
    for name in named:
        write(tmp_path / "run" / name)
    write(tmp_path / "run" / "run.json", b'{"run_name": "run"}')
    write(tmp_path / "run" / "notes.txt", b"BufferAssignment: see below\n")
    write(tmp_path / "run" / "module_0001.jit_f.cpu_after_optimizations.txt", b"HloModule jit_f\n")
    write(tmp_path / "run" / "empty", b"\n")
    found = discover([tmp_path / "run"])
    assert sorted(named) == sorted(path for _, path in paths(found))
    assert 2 == found.ignored_count
    beside = {dump.module_text.path for dump in found.dumps if dump.module_text}
    assert {str(tmp_path / "run" / "module_0001.jit_f.cpu_after_optimizations.txt")} == beside


def test_a_file_named_explicitly_is_always_a_candidate(tmp_path):
    """Whatever it is called and holds: it is for the reader to refuse it."""
    notes = write(tmp_path / "notes.md", b"no dump\n")
    found = discover([notes])
    assert ([(tmp_path.name, "notes.md")], 0) == (paths(found), found.ignored_count)


def test_sources_that_do_not_exist_are_a_wrong_call(tmp_path):
    """A path that is not there, and a pattern that matches nothing, are named."""
    with pytest.raises(UsageError, match="gone: no such file or directory"):
        discover([tmp_path / "gone"])
    with pytest.raises(UsageError, match="the pattern matches no file"):
        discover([f"{tmp_path}/*.txt"])


def test_a_pattern_names_files_and_directories(tmp_path):
    """Files a glob matches are explicit, directories are walked."""
    write(tmp_path / "run_1" / NAME)
    write(tmp_path / "run_1" / "notes.txt", b"no dump\n")
    write(tmp_path / "run_2.txt", b"no dump either\n")
    found = discover([f"{tmp_path}/run_*"])
    assert [("run_1", NAME), (tmp_path.name, "run_2.txt")] == paths(found)


@pytest.mark.parametrize(
    "second", ["{0}", "{0}/", "{0}/.", "{0}/../run", "{0}/deep", "{0}/deep/{1}", "{0}/**", "relative", "link"]
)
def test_a_file_that_two_sources_hold_is_one_dump(tmp_path, monkeypatch, second):
    """Neither another spelling of a path nor a source inside another makes a file count twice."""
    run = tmp_path / "run"
    write(run / NAME)
    write(run / "deep" / NAME)
    write(run / "run.json", b'{"run_name": "run"}')
    (tmp_path / "link").symlink_to(run)
    monkeypatch.chdir(tmp_path)
    other = {"relative": "run", "link": str(tmp_path / "link")}.get(second, second.format(run, NAME))
    assert [("run", f"deep/{NAME}"), ("run", NAME)] == sorted(paths(discover([run, other])))


def test_include_and_exclude_match_names_and_relative_paths(tmp_path):
    """Only what matches a pattern of include and none of exclude; the rest counts as ignored."""
    for path in ("a/x-buffer-assignment.txt", "a/y-buffer-assignment.txt", "b/x-buffer-assignment.txt"):
        write(tmp_path / "run" / path)
    write(tmp_path / "run" / "run.json", b'{"run_name": "run"}')

    def taken(**options) -> tuple[list[str], int]:
        found = discover([tmp_path / "run"], **options)
        return [path for _, path in paths(found)], found.ignored_count

    assert (["a/x-buffer-assignment.txt", "b/x-buffer-assignment.txt"], 2) == taken(include=["x-*"])
    assert (["b/x-buffer-assignment.txt"], 3) == taken(include=["b/*"])
    assert (["b/x-buffer-assignment.txt"], 3) == taken(include=["x-*", "y-*"], exclude=["a/*"])


def test_include_and_exclude_concern_what_a_glob_finds(tmp_path):
    """As in a walk; a file that is named is taken."""
    for name in ("a-buffer-assignment.txt", "b-buffer-assignment.txt"):
        write(tmp_path / "run" / name)
    glob = f"{tmp_path}/run/*.txt"
    for options in ({"exclude": ["b-*"]}, {"include": ["a-*"]}):
        found = discover([glob], **options)
        assert ([("run", "a-buffer-assignment.txt")], 1) == (paths(found), found.ignored_count)
        assert 1 == len(discover([tmp_path / "run" / "b-buffer-assignment.txt"], **options).dumps)
    # An archive that cannot be read stays, and would be told at each look.
    (cut := tmp_path / "run" / "cut.tar.gz").write_bytes(b"no archive")
    for source, exclude, told in ((f"{tmp_path}/run/*.gz", ["cut*"], (0, 1)), (cut, ["cut*"], (1, 0))):
        found = discover([source], exclude=exclude)
        assert told == (len(found.refused), found.ignored_count)


def test_exclude_concerns_what_cannot_be_looked_at(tmp_path, monkeypatch):
    """Pipes, links that lead out, folders that may not be listed: they stay, and would be told at each look."""
    write(tmp_path / "run" / "x-buffer-assignment.txt")
    os.mkfifo(tmp_path / "run" / "pipe-buffer-assignment.txt")
    (tmp_path / "run" / "latest").symlink_to("/")
    write(tmp_path / "run" / os.fsdecode(b"\xff-buffer-assignment.txt"))
    closed = tmp_path / "run" / "lost+found"
    closed.mkdir()
    scandir = os.scandir

    def scan(path):  # root may list any folder
        if os.fspath(path) == str(closed):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)

    def told(*exclude: str) -> tuple[int, int]:
        found = discover([tmp_path / "run"], exclude=exclude)
        assert 4 == len(found.refused) + found.ignored_count
        return len(found.dumps), len(found.refused)

    assert (1, 4) == told()
    assert (1, 3) == told("pipe-*")
    assert [(1, 3)] * 3 == [told(pattern) for pattern in ("lost+found", "lost+found/*", "lost*")]
    assert (1, 0) == told("pipe-*", "latest", "lost+found/*", os.fsdecode(b"\xff*"))


def test_include_leaves_what_lies_beside_a_dump(tmp_path):
    """Flags, marks of a failure, logs and archives have names of their own; exclude takes them away, too."""
    write(tmp_path / "run" / NAME)
    flags, log = f"{STEM.split('.cpu')[0]}.debug_options", "train.log"
    for name in (flags, f"{STEM.split('.cpu')[0]}.oom_intermediate_module.txt", log):
        write(tmp_path / "run" / name, b"BufferAssignment:\n" if name == log else b"x\n")
    found = discover([tmp_path / "run"], include=["*buffer-assignment*"])
    [dump] = found.dumps
    assert (True, [f"{tmp_path}/run/{flags}"]) == (dump.did_not_fit, [entry.path for entry in dump.flags.values()])
    assert [f"{tmp_path}/run/{log}"] == [one.entry.path for one in found.logs]
    assert ({}, []) == (
        next(iter((some := discover([tmp_path / "run"], exclude=["*.debug*", "*.log"])).dumps)).flags,
        some.logs,
    )
    with tarfile.open(tmp_path / "night.tar", "w") as archive:
        for name in ("a-buffer-assignment.txt", "b-buffer-assignment.txt"):
            archive.add(tmp_path / "run" / NAME, name)
    (tmp_path / "archives").mkdir()
    (tmp_path / "night.tar").rename(tmp_path / "archives" / "night.tar")
    assert [("night", "a-buffer-assignment.txt")] == paths(discover([tmp_path / "archives"], include=["a-*"]))


def test_what_a_glob_matched_and_is_no_file_is_refused_alone(tmp_path):
    """It is gone by the time it is looked at, or a pipe; the others are taken."""
    write(tmp_path / "run" / NAME)
    (tmp_path / "run" / "gone-buffer-assignment.txt").symlink_to("nowhere")
    os.mkfifo(tmp_path / "run" / "pipe-buffer-assignment.txt")
    found = discover([f"{tmp_path}/run/*.txt"])
    assert [("run", NAME)] == paths(found)
    assert [
        f"{tmp_path}/run/gone-buffer-assignment.txt: No such file or directory",
        f"{tmp_path}/run/pipe-buffer-assignment.txt: expected a file, found a pipe, a socket or a device",
    ] == found.refused


def test_a_hidden_file_is_another_one_than_its_namesake(tmp_path, monkeypatch):
    """In the working directory, whose path is a dot."""
    monkeypatch.chdir(write(tmp_path / "run" / NAME).parent)
    write(Path(f".{NAME}"), small_dump(1))
    assert [("run", f".{NAME}"), ("run", NAME)] == paths(discover([f".{NAME}", NAME]))


def test_links_stay_inside_the_tree(tmp_path):
    """A link to a file inside the tree is a file; one that leaves it is refused; linked directories are not walked."""
    outside = write(tmp_path / "outside" / "secret-buffer-assignment.txt")
    write(tmp_path / "run" / "deep" / NAME)
    (tmp_path / "run" / "inside-buffer-assignment.txt").symlink_to(Path("deep") / NAME)
    (tmp_path / "run" / "leaving-buffer-assignment.txt").symlink_to(outside)
    (tmp_path / "run" / "again").symlink_to("deep")
    (tmp_path / "run" / "loop").symlink_to("loop")
    (tmp_path / "run" / "itself").symlink_to(".")
    (tmp_path / "run" / "deep" / "up").symlink_to("..")
    write(tmp_path / "run" / "run.json", b'{"run_name": "run"}')
    found = discover([tmp_path / "run"])
    assert [("run", f"deep/{NAME}"), ("run", "inside-buffer-assignment.txt")] == paths(found)
    assert [f"{tmp_path}/run/leaving-buffer-assignment.txt: the link leaves {tmp_path}/run"] == found.refused


def test_a_directory_called_like_a_dump_is_walked(tmp_path):
    """What is a directory is no file, whatever its name."""
    write(tmp_path / "run-buffer-assignment.txt" / NAME)
    assert [("run-buffer-assignment.txt", NAME)] == paths(discover([tmp_path]))


# Split dumps


def parts(found: Discovery) -> list[dict[str, str]]:
    return [{role: Path(part.path).name for role, part in dump.parts.items()} for dump in found.dumps]


def test_the_files_of_a_split_dump_are_one_dump(tmp_path):
    """Three files of one stem are one dump, in fixed order, compressed or not; sizes add up, the newest dates it."""
    files = [
        write(tmp_path / "run" / f"{STEM}-live-range.txt.gz", b"12"),
        write(tmp_path / "run" / f"{STEM}-buffer-assignment.txt", b"1234"),
        write(tmp_path / "run" / f"{STEM}-buffer-assignment-values.txt", b"12345678"),
    ]
    for second, path in enumerate(files, 1):
        os.utime(path, (second, second))
    found = discover([tmp_path / "run"])
    names = {"allocations": files[1].name, "values": files[2].name, "live_range": files[0].name}
    assert [names] == parts(found)
    assert ["allocations", "values", "live_range"] == list(next(iter(found.dumps)).parts)
    assert (14, 3 * 10**9, 0) == (
        next(iter(found.dumps)).size_bytes,
        next(iter(found.dumps)).mtime_ns,
        found.ignored_count,
    )


@pytest.mark.parametrize("ending", [".GZ", ".Gz"])
@pytest.mark.parametrize("is_named", [False, True])
def test_what_lies_beside_a_dump_in_capitals_is_found(tmp_path, is_named, ending):
    """Each file that some tool for Windows called `.GZ` is of its dump, which a walk finds as one named."""
    names = ("-buffer-assignment.txt", "-buffer-assignment-values.txt", ".txt")
    main, values, text = (write(tmp_path / f"{STEM}{name}{ending}", gzip.compress(b"-")) for name in names)
    found = discover([main if is_named else tmp_path])
    assert [{"allocations": main.name, "values": values.name}] == parts(found)
    assert [str(text)] == [dump.module_text.path for dump in found.dumps]


def test_siblings_of_a_file_named_explicitly_are_found(tmp_path):
    """Naming the allocations of a split dump is enough."""
    write(tmp_path / f"{STEM}-buffer-assignment-values.txt", b"\n")
    main = write(tmp_path / f"{STEM}-buffer-assignment.txt")
    assert [{"allocations": main.name, "values": f"{STEM}-buffer-assignment-values.txt"}] == parts(discover([main]))


def test_a_split_dump_that_lies_there_plain_and_compressed_is_two(tmp_path):
    """Each takes siblings of its own kind before others; a sibling that both need is read once, for both."""
    for suffix, text in (("", b"plain"), (".gz", gzip.compress(b"compressed"))):
        write(tmp_path / "run" / f"{STEM}-buffer-assignment.txt{suffix}", text)
        write(tmp_path / "run" / f"{STEM}-buffer-assignment-values.txt{suffix}", text)
    write(tmp_path / "run" / f"{STEM}-live-range.txt", b"both")
    found = discover([tmp_path / "run"])
    read = {dump.relative_path: data for dump, data in sources.read(found.dumps)}
    kinds = {"": b"plain", ".gz": b"compressed"}
    assert {
        NAME + suffix: {"allocations": text, "values": text, "live_range": b"both"} for suffix, text in kinds.items()
    } == read


def test_missing_siblings_leave_a_dump_and_a_sibling_alone_is_none(tmp_path):
    """Allocations without values are a dump; values or a live range without allocations are ignored."""
    write(tmp_path / "run" / f"{STEM}-buffer-assignment.txt")
    write(tmp_path / "run" / "other-buffer-assignment-values.txt", b"\n")
    write(tmp_path / "run" / "other-live-range.txt", b"\n")
    found = discover([tmp_path / "run"])
    assert ([{"combined": NAME}], 2) == (parts(found), found.ignored_count)


def test_reading_gives_the_bytes_by_role(tmp_path):
    """Found files are read decompressed, or the reason why they cannot be is given in their place."""
    write(tmp_path / "run" / NAME, b"BufferAssignment:\n")
    gone = write(tmp_path / "run" / "gone-buffer-assignment.txt")
    found = discover([tmp_path / "run"])
    gone.unlink()
    read = {dump.relative_path: data for dump, data in sources.read(found.dumps)}
    assert {"combined": b"BufferAssignment:\n"} == read[NAME]
    assert isinstance(read["gone-buffer-assignment.txt"], FileNotFoundError)


# Runs


def test_a_run_is_a_directory_with_dumps_or_the_nearest_above_with_a_run_file(tmp_path):
    """run.json makes everything below it one run, up to the next run.json; none above the source counts."""
    write(tmp_path / "run.json", b'{"run_name": "not asked for"}')
    write(tmp_path / "all" / "plain" / NAME)
    write(tmp_path / "all" / "named" / "run.json", b'{"run_name": "nightly"}')
    write(tmp_path / "all" / "named" / "host_0" / NAME)
    write(tmp_path / "all" / "named" / "host_1" / NAME)
    write(tmp_path / "all" / "named" / "other" / "run.json", b'{"track": "x"}')
    write(tmp_path / "all" / "named" / "other" / NAME)
    found = discover([tmp_path / "all"])
    expected = [("nightly", f"host_0/{NAME}"), ("nightly", f"host_1/{NAME}"), ("other", NAME), ("plain", NAME)]
    assert expected == sorted(paths(found))
    assert str(tmp_path / "all" / "named") == found.runs["nightly"].root


def test_a_given_name_makes_one_run_of_everything(tmp_path, monkeypatch):
    """With run_name, paths are relative to what all sources have in common, relative and absolute ones mixed."""
    write(tmp_path / "a" / NAME)
    write(tmp_path / "b" / "deep" / NAME)
    monkeypatch.chdir(tmp_path)
    found = discover(["a", tmp_path / "b"], run_name="one")
    assert [("one", f"a/{NAME}"), ("one", f"b/deep/{NAME}")] == sorted(paths(found))
    assert str(tmp_path) == found.runs["one"].root


def test_two_directories_of_one_name_take_their_parents_along(tmp_path):
    """Runs are told apart by name."""
    write(tmp_path / "a" / "nightly" / NAME)
    write(tmp_path / "b" / "nightly" / NAME)
    assert [("a/nightly", NAME), ("b/nightly", NAME)] == sorted(paths(discover([tmp_path])))


def test_two_directories_that_are_given_one_name_are_refused(tmp_path):
    """Both directories and the way out are named."""
    for name in ("a", "b"):
        write(tmp_path / name / "run.json", b'{"run_name": "nightly"}')
        write(tmp_path / name / NAME)
    with pytest.raises(UsageError, match="two directories are called 'nightly'") as error:
        discover([tmp_path])
    for text in (str(tmp_path / "a"), str(tmp_path / "b"), "--run", "run.json"):
        assert text in str(error.value)


@pytest.mark.parametrize(("source", "name"), [(".", "here"), ("..", "above"), ("../here", "here"), ("./", "here")])
def test_a_run_is_called_by_its_directory_however_it_is_spelled(tmp_path, monkeypatch, source, name):
    """`bufferhouse ingest .` names the run after the directory one stands in."""
    write(tmp_path / "above" / "here" / NAME)
    write(tmp_path / "above" / NAME)
    monkeypatch.chdir(tmp_path / "above" / "here")
    assert name in [run for run, _ in paths(discover([source]))]
