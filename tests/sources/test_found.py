"""However many files a source has, a portion of them is held at a time, and what is found is the same."""

import random

from bufferhouse.dump.compile_flags import ORIGINS
from bufferhouse.sources.discover import OOM_MARK, discover, read
from tests.synthetic import small_dump

SUFFIXES = ("-buffer-assignment.txt", "-buffer-assignment-values.txt", "-live-range.txt", ".txt", ".hlo.pb")
ENTRY = ("path", "base", "size_bytes", "mtime_ns", "is_explicit", "begins_like_a_dump", "is_head_only")
FACTS = ("started_at", "started_at_source", "root", "labels", "is_named_by_place")


def write_tree(root, rng):
    """Write runs, one in another, of dumps in one to four files, with and without what may lie beside them."""
    for run in range(12):
        folder = root / "/".join(rng.choice("abc") for _ in range(rng.randint(1, 3))) / f"r{run % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(rng.randint(0, 6)):
            stamp = "1700000000000000." if rng.random() < 0.2 else ""
            module = f"{stamp}module_{number:04}.jit_f"
            stem = f"{module}.{rng.choice(['cpu', 'gpu'])}_after_optimizations"
            for ending in rng.sample([*ORIGINS, f"{OOM_MARK}txt"], rng.choice([0, 0, 1, 2])):
                (folder / f"{module}{ending}").write_text("")
            for suffix in rng.sample(SUFFIXES, rng.randint(1, 4)):
                (folder / f"{stem}{suffix}").write_bytes(small_dump(number))
        (folder / "notes.md").write_text("no dump")
        if rng.random() < 0.3:
            (folder / "run.json").write_text(rng.choice(['{"track": "nightly"}', '{"labels": 1}', "{"]))


def told(found):
    """Return all that a discovery says, in an order that does not depend on portions."""
    dumps = sorted(
        (dump.run_name, dump.relative_path, dump.size_bytes, dump.mtime_ns, dump.did_not_fit is True, [*dump.parts],
         [*dump.flags], *(entry and [getattr(entry, name) for name in ENTRY] for entry in
         (dump.module_text, dump.proto, *dump.entries)))
        for dump in found.dumps
    )  # fmt: skip
    runs = {name: [getattr(run, fact) for fact in FACTS] for name, run in sorted(found.runs.items())}
    return dumps, runs, found.ignored_count, sorted(found.orphans), sorted(found.refused), found.endings


def test_portions_change_nothing(tmp_path):
    """Trees at random, in portions of one file and more: equal dumps, runs, orphans, refusals and bytes."""
    for seed in range(12):
        rng = random.Random(seed)
        root = tmp_path / str(seed)
        write_tree(root, rng)
        sources = [root] if seed % 3 else [root, root / "a", *sorted(root.rglob("*-buffer-assignment.txt"))[:3]]
        run_name = "one" if seed % 4 == 3 else None
        whole = discover(sources, run_name=run_name)
        texts = sorted((dump.uri, files) for dump, files in read(whole.dumps))
        for portion in (1, 3, 10):
            some = discover(sources, run_name=run_name, portion=portion)
            assert told(whole) == told(some)
            assert texts == sorted((dump.uri, files) for dump, files in read(some.dumps))


def test_no_more_than_a_portion_is_held(tmp_path):
    """A source of many directories comes in pieces, in the order of the walk; some of it can be chosen by number."""
    for run in range(30):
        (tmp_path / f"r{run:02}").mkdir()
        for number in range(4):
            (tmp_path / f"r{run:02}" / f"module_{number:04}.jit_f.cpu-buffer-assignment.txt").write_bytes(small_dump(0))
    dumps = discover([tmp_path], portion=10).dumps
    sizes = [len(portion) for portion in dumps.portions()]
    assert (120, True) == (sum(sizes), max(sizes) <= 2 * 10 + 4)
    numbers = [dump.number for dump in dumps]
    assert list(range(120)) == numbers
    chosen = dumps.only(numbers[5::7])
    assert [(n, f"r{n // 4:02}", 17) for n in numbers[5::7]] == [(d.number, d.run_name, len(chosen)) for d in chosen]
