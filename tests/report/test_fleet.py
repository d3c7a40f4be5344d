"""The fleet report on the terminal, over a warehouse of the example fleet."""

import json
import re
import shutil
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from rich.cells import cell_len

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.paths import CHECKOUT, REPORTS
from bufferhouse.report.fleet import data as reading
from bufferhouse.report.fleet.data import Fleet, read_fleet
from bufferhouse.report.fleet.page import fleet_page
from bufferhouse.report.fleet.text import counted_for, fleet_text, left_out, moved_line
from bufferhouse.report.text.figures import human_bytes
from bufferhouse.warehouse.open import writing
from tests.command_line import call
from tests.ingests import SUFFIX, write_dumps
from tests.synthetic import Slot, dump_text, small_dump

FLEET = CHECKOUT / "examples" / "fleet"
HOSTILE = "</script><img src=x onerror=alert(1)>\"&' \x1b[31m\x07\u202e" + "模" * 4000


def rows(path: Path, sql: str) -> list[tuple]:
    """Ask a warehouse that nobody has open."""
    with duckdb.connect(str(path), read_only=True) as con:
        con.execute("SET TimeZone = 'UTC'")
        return con.execute(sql).fetchall()


def all_series(path: Path) -> dict[tuple, dict[tuple, list[tuple[str, int]]]]:
    """By table and series, the runs with their reserved bytes in order, straight from the mart."""
    tables: dict[tuple, dict[tuple, list]] = defaultdict(lambda: defaultdict(list))
    for *table, name, program_id, target, run_name, reserved in rows(
        path,
        "SELECT platform, track, memory_space, program_name, program_id, compile_target, run_name, reserved_bytes"
        " FROM marts.memory_space_trend_v2 ORDER BY run_number",
    ):
        tables[tuple(table)][name, program_id, target].append((run_name, reserved))
    return tables


def steps(runs: list[tuple[str, int]]) -> list[int]:
    """The absolute changes from run to run."""
    return [abs(after - before) for (_, before), (_, after) in pairwise(runs)]


def expected_order(table: dict[tuple, list[tuple[str, int]]]) -> list[tuple]:
    """Movers by net change, largest step and size, then series of one run by size; ties by name."""
    movers = [series for series, runs in table.items() if any(steps(runs))]
    single = [series for series, runs in table.items() if len(runs) == 1]
    movers.sort(
        key=lambda s: (-abs(table[s][-1][1] - table[s][0][1]), -max(steps(table[s])), -table[s][-1][1], s[0], s[1])
    )
    single.sort(key=lambda s: (-table[s][-1][1], s[0], s[1]))
    return movers + single


def shown(fleet: Fleet) -> dict[tuple, list[tuple]]:
    """By table, the series a report shows."""
    return {
        (space.facts["platform"], space.facts["track"], space.facts["memory_space"]): [
            (row["program_name"], row["program_id"], row["compile_target"])
            for series in space.series
            for row in [next(iter(series.by_run.values()))]
        ]
        for space in fleet.spaces
    }


@pytest.fixture(scope="module")
def shaken(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example fleet and one more track: 40 programs of 20 names that jump and come back over 30 runs."""
    path = Path(shutil.copy(example_warehouse, tmp_path_factory.mktemp("shaken") / "shaken.duckdb"))
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TEMP TABLE dumps AS SELECT dump_id, ROW_NUMBER() OVER (ORDER BY dump_id) n FROM raw.dumps")
        con.execute(
            "INSERT INTO raw.runs SELECT r.* REPLACE (100 + i AS run_id, 'night_' || i AS run_name, 'nightly' AS track,"
            " started_at + to_days(CAST(i % 7 AS INTEGER)) AS started_at)"
            " FROM raw.runs AS r, range(30) AS t(i) WHERE run_name = 'jaxlib-0.9.0'"
        )
        con.execute(
            "INSERT INTO raw.observations SELECT o.* REPLACE (100 + i AS run_id, p || '.txt' AS relative_path,"
            " 1000 + p AS program_id, 'jit_f' || p % 20 AS program_name, d.dump_id AS dump_id)"
            " FROM (SELECT * FROM raw.observations ORDER BY ALL LIMIT 1) AS o, range(30) AS t(i), range(40) AS u(p),"
            " dumps AS d WHERE d.n = 1 + (p * 37 + i // (1 + p % 9) * 11) % 120"
        )
    return path


@pytest.fixture(scope="module")
def fleets(example_fleet: Fleet, shaken: Path) -> list[Fleet]:
    """What the report has to say of both warehouses. To be read, never changed."""
    return [example_fleet, read_fleet(shaken)]


def printed(path: Path, *words: object) -> str:
    """What a report prints."""
    said = call("report", "fleet", "--warehouse", path, *words)
    assert 0 == said.code, said.err
    return said.out


def test_biggest_movers_first(example_warehouse: Path, shaken: Path, fleets: list[Fleet]):
    """Tables hold their movers by net change, then series of one run by size, and never a series that stood still."""
    for path, fleet in zip((example_warehouse, shaken), fleets, strict=True):
        expected = {table: expected_order(series)[: reading.SHOWN_SERIES] for table, series in all_series(path).items()}
        assert expected == shown(fleet)


def test_net_change_is_from_the_first_run_to_the_last(shaken: Path, fleets: list[Fleet]):
    """The net change of a series takes in runs that no column shows."""
    tables = all_series(shaken)
    expected, actual = {}, {}
    for space in fleets[1].spaces:
        table = tables[space.facts["platform"], space.facts["track"], space.facts["memory_space"]]
        for series in space.series:
            row = next(iter(series.by_run.values()))
            runs = table[row["program_name"], row["program_id"], row["compile_target"]]
            expected[space.facts["track"], space.facts["memory_space"], series.rank] = runs[-1][1] - runs[0][1]
            actual[space.facts["track"], space.facts["memory_space"], series.rank] = series.net_change_bytes
    assert expected == actual


def test_every_series_is_counted_once(shaken: Path, fleets: list[Fleet]):
    """Moved, unchanged and of one run: together they are all series of the table, and what is not shown is said."""
    tables = all_series(shaken)
    for space in fleets[1].spaces:
        table = tables[space.facts["platform"], space.facts["track"], space.facts["memory_space"]].values()
        counts = (
            len(table),
            sum(any(steps(runs)) for runs in table),
            sum(len(runs) > 1 and not any(steps(runs)) for runs in table),
            sum(len(runs) == 1 for runs in table),
        )
        assert counts == (
            space.facts["series_count"],
            space.facts["moved_count"],
            space.facts["unchanged_count"],
            space.facts["single_run_count"],
        )
        said = re.match(r"([0-9]+) more program", left_out(space))
        assert len(table) - len(space.series) == (int(said[1]) if said else 0)


def test_columns_are_all_runs_in_the_order_of_the_series(shaken: Path, fleets: list[Fleet]):
    """A run stands in its table even where only programs that stood still were seen, in the order of the series."""
    expected = defaultdict(list)
    for *table, run_name in rows(
        shaken,
        "SELECT t.platform, t.track, t.memory_space, r.run_name"
        " FROM marts.memory_space_trend_v2 AS t JOIN staging.runs AS r USING (run_id)"
        " GROUP BY t.platform, t.track, t.memory_space, r.run_name, r.started_at, r.natural_name, r.run_id"
        " ORDER BY r.started_at, r.natural_name, r.run_id",
    ):
        expected[tuple(table)].append(run_name)
    spaces = fleets[1].spaces
    actual = {
        (s.facts["platform"], s.facts["track"], s.facts["memory_space"]): [run["run_name"] for run in s.runs]
        for s in spaces
    }
    assert dict(expected) == actual


def test_programs_of_one_name_are_told_apart(fleets: list[Fleet]):
    """A label names one series of its table; programs that share a name carry the first digits of their id."""
    for space in [space for fleet in fleets for space in fleet.spaces]:
        labels = [series.label for series in space.series]
        assert sorted(set(labels)) == sorted(labels)
    seeds = next(space for space in fleets[0].spaces if space.facts["track"] == "seeds")
    ids = [str(row["program_id"]) for series in seeds.series for row in series.by_run.values()]
    assert [f"(unnamed) #{program_id[:6]}" for program_id in ids] == [series.label for series in seeds.series]


def test_padding_on_two_devices_is_told_apart(warehouse: Path, tmp_path: Path):
    """A program that two kinds of device compile has a row and a label for each."""
    text = dump_text([Slot(0, 2, 0, 4096, shape="f32[8,100]{1,0:T(8,128)}")])
    for device in ("v5e", "v4"):
        write_dumps(tmp_path / device, [1], lambda _: text)
        words = ("--run", f"run-{device}", "--label", f"device_kind={device}")
        assert 0 == call("ingest", tmp_path / device, *words, "--warehouse", warehouse).code
    [space] = read_fleet(warehouse).spaces
    assert [("jit_f v4", "run-v4", 896), ("jit_f v5e", "run-v5e", 896)] == [
        (row["label"], row["run_name"], row["layout_padding_bytes"]) for row in space.padding
    ]


def test_a_memory_space_that_a_program_left_keeps_no_bytes(warehouse: Path, tmp_path: Path):
    """Its newest run takes 0 bytes there, and pads nothing: it moved, and does not stand there with its last bytes."""
    slots = [Slot(0, 2, 0, 64), Slot(0, 2, 0, 4096, 1, "f32[8,100]{1,0:T(8,128)}")]
    headers = [", preallocated-temp", ", color 1, preallocated-temp"]
    for number, count in enumerate((2, 1)):
        write_dumps(tmp_path / f"run{number}", [1], lambda _, n=count: dump_text(slots[:n], headers[:n]))
    assert 0 == call("ingest", *sorted(tmp_path.glob("run*")), "--warehouse", warehouse).code
    fleet = read_fleet(warehouse)
    [space] = [space for space in fleet.spaces if space.facts["memory_space"] == 1]
    assert (["run0", "run1"], 1, []) == (
        [run["run_name"] for run in space.runs],
        space.facts["moved_count"],
        space.padding,
    )
    [series] = space.series
    assert (-4096, [4096, 0]) == (series.net_change_bytes, [row["reserved_bytes"] for row in series.by_run.values()])
    [program] = [row for row in fleet.answers["fleet_programs"].records if row["memory_space"] == 1]
    figures = ("run_name", "reserved_bytes", "occupied_peak_bytes", "layout_padding_bytes")
    assert ("run1", 0, 0, 0) == tuple(program[name] for name in figures)
    assert [] == fleet.answers["fleet_tiles"].records


@pytest.mark.parametrize("width", [60, 80, 160])
def test_the_report_fits_the_terminal(fleets: list[Fleet], width: int, monkeypatch: pytest.MonkeyPatch):
    """No line is wider than the terminal, and every mover stands there with its net change, whole."""
    monkeypatch.setenv("COLUMNS", str(width))
    for fleet in fleets:
        lines = fleet_text(fleet, "table").splitlines()
        assert [] == [line for line in lines if cell_len(line) > width]
        nets = [
            human_bytes(series.net_change_bytes, signed=True) if series.net_change_bytes else "±0 B"
            for space in fleet.spaces
            for series in space.series
            if series.has_moved
        ]
        # At the end of a line, or before the main cause.
        net = re.compile(r"  ((?:[+-][0-9.]+|±0) [KMGi]*B)(?:  +(?:–|[a-z][a-z ]+ [+-][0-9.]+ [KMGi]*B))?$")
        assert nets == [found[1] for line in lines if (found := net.search(line))]
        assert width < 160 or [line for line in lines if line.endswith("  net change  main cause")]


def test_figures_in_the_columns_are_those_of_the_mart(
    example_warehouse: Path, fleets: list[Fleet], monkeypatch: pytest.MonkeyPatch
):
    """In a wide terminal all runs stand in order, each with its reserved bytes and which way they went."""
    monkeypatch.setenv("COLUMNS", "200")
    out = fleet_text(fleets[0], "table")
    lines = out.split("cpu · release · memory space 0 (default)\n")[1].split("\n\n")[0].splitlines()
    series = {name: runs for (name, _, _), runs in all_series(example_warehouse)["cpu", "release", 0].items()}
    assert ["program", *(run for run, _ in series["jit_fft"]), "trend", "net", "change", "main", "cause"] == (
        lines[1].split()
    )
    expected, actual = {}, {}
    for line in lines[2:12]:
        name = line.split()[0]
        before = [series[name][0][1], *(reserved for _, reserved in series[name])]
        expected[name] = [
            f"{human_bytes(now)}{'▲' if now > then else '▼' if now < then else ''}"
            for (_, now), then in zip(series[name], before, strict=False)
        ]
        line = re.split("[▁-█]", line)[0]  # what follows is the net change
        figures = re.findall(r"([0-9.]+ [KMi]*B)(?: ([▲▼]))?(?=  )", line)
        actual[name] = ["".join(figure) for figure in figures]
    assert expected == actual


def test_what_has_no_room_is_said(fleets: list[Fleet], monkeypatch: pytest.MonkeyPatch):
    """Where not all runs fit, the newest do, and the report says how many of how many."""
    monkeypatch.setenv("COLUMNS", "80")
    out = fleet_text(fleets[0], "table")
    assert "reserved bytes: 10 of 13 programs moved, 3 unchanged; the newest 3 of 8 runs\n" in out
    assert "\n3 more programs unchanged\n" in out
    heading = out.split("the newest 3 of 8 runs\n")[1].splitlines()[:2]
    assert [["jaxlib-"] * 3, ["program", "0.8.0", "0.9.0", "0.10.0", "trend", "net", "change"]] == [
        line.split() for line in heading
    ]


def test_what_the_warehouse_holds(example_warehouse: Path, monkeypatch: pytest.MonkeyPatch):
    """The first lines count runs, dumps, contents, programs and rejects, and name the newest run."""
    monkeypatch.setenv("COLUMNS", "160")
    [(runs, dumps, contents, programs)] = rows(
        example_warehouse,
        "SELECT COUNT(DISTINCT run_id), COUNT(DISTINCT (run_id, relative_path)), COUNT(DISTINCT dump_id),"
        " COUNT(DISTINCT program_id) FROM raw.observations",
    )
    [(name, moment)] = rows(
        example_warehouse, "SELECT run_name, started_at FROM raw.runs ORDER BY started_at DESC LIMIT 1"
    )
    expected = [
        f"{runs} runs, {dumps} dumps, {contents} distinct contents, {programs} programs, no rejects",
        f"newest run of all: {name}, {moment:%Y-%m-%d %H:%M} UTC (run.json)",
    ]
    assert expected == printed(example_warehouse).splitlines()[:2]


def test_names_give_the_terminal_no_orders(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Names with escape sequences, turned text and 4,000 wide characters are shown, cut, within the width."""
    for number in range(3):  # a program that moves, and one that does not
        for dump, name in zip(write_dumps(tmp_path / f"run{number}", [0, 1 + number]), "gf", strict=True):
            dump.rename(dump.with_name(dump.name.replace("jit_f", f"jit_{name}_step")))
    run_ingest([str(tmp_path / f"run{number}") for number in range(3)], warehouse)
    with duckdb.connect(str(warehouse)) as con:
        con.execute("UPDATE raw.runs SET run_name = $1 || run_name, track = $1 || track", [HOSTILE])
        con.execute("UPDATE raw.observations SET program_name = $1 || program_name", [HOSTILE])
    fleet = read_fleet(warehouse)
    for width in (60, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = fleet_text(fleet, "table").splitlines()
        assert [] == [line for line in lines if cell_len(line) > width or not line.isprintable()]
        assert any("_step" in line for line in lines)


def test_an_empty_warehouse_says_how_to_fill_it(tmp_path: Path):
    """A warehouse without runs names the command that loads some, on the terminal and on the page."""
    path, page = tmp_path / "empty.duckdb", tmp_path / "empty.html"
    with writing(path):
        pass
    printed(path, "--html", page)
    out = printed(path)
    assert "empty.duckdb holds no runs yet" == out.splitlines()[0]
    assert "bufferhouse ingest SOURCE" in out
    assert "bufferhouse ingest SOURCE" in page.read_text()


def test_one_dump_is_shown_without_a_trend(fleet_of_one: Path):
    """One dump has its bytes, no change, and the advice to load another run."""
    page = fleet_of_one.with_suffix(".html")
    printed(fleet_of_one, "--html", page)
    out = printed(fleet_of_one)
    assert "1 run, 1 dump, 1 distinct content, 1 program, no rejects" == out.splitlines()[0]
    assert "reserved bytes: 1 program, one run\n" in out
    assert ["jit_fft", "5.7", "KiB"] == next(line for line in out.splitlines() if "jit_fft" in line).split()
    assert "net change" not in out
    assert "a trend needs a second run" in out
    assert "a trend needs a second run" in page.read_text()


@pytest.fixture
def fleet_of_one(tmp_path: Path) -> Path:
    """A warehouse of a single dump."""
    (source,) = (FLEET / "jaxlib-0.8.0").glob("*jit_fft*-buffer-assignment.txt")
    (tmp_path / "alone").mkdir()
    shutil.copy(source, tmp_path / "alone")
    run_ingest([str(tmp_path / "alone")], tmp_path / "one.duckdb")
    return tmp_path / "one.duckdb"


def test_a_warehouse_of_rejects_shows_why(tmp_path: Path):
    """Where every dump was refused, the report counts them and says where the fault of the last ones is."""
    folder, page = tmp_path / "broken", tmp_path / "broken.html"
    folder.mkdir()
    for number in range(5):
        (folder / f"module_{number}-buffer-assignment.txt").write_text(f"BufferAssignment:\n<b>nonsense {number}\n")
    run_ingest([str(folder)], tmp_path / "rejects.duckdb")
    printed(tmp_path / "rejects.duckdb", "--html", page)
    out = printed(tmp_path / "rejects.duckdb")
    assert "1 run, 0 dumps, 0 distinct contents, 0 programs, 5 rejects" == out.splitlines()[0]
    assert "no dump could be read" in out
    assert 3 == len(re.findall(r"^rejected: broken/module_[0-9]-buffer-assignment.txt:", out, re.MULTILINE))
    assert 5 == len(re.findall(r"<li>.*&lt;b&gt;nonsense", page.read_text()))


def test_the_path_of_the_page_is_the_output(blank_warehouse: Path, tmp_path: Path):
    """With a page the one line on standard output is its path, unbroken however long it is."""
    page = tmp_path / ("long-name" * 20 + ".html")
    assert f"report: {page}\n" == printed(blank_warehouse, "--html", page)
    assert page.is_file()


def test_moved_line_of_one_run(fleets: list[Fleet]):
    """A table of a single run speaks of no movement."""
    spaces = {(s.facts["track"], s.facts["memory_space"]): s for s in fleets[0].spaces if s.facts["platform"] is None}
    assert "5 programs, one run" == moved_line(spaces["seeds", 0])


def test_a_program_that_the_newest_run_lacks_is_not_only_called_unchanged(warehouse: Path, tmp_path: Path):
    """Its dump may have been refused: what nobody saw in the newest run is counted beside what moved."""
    for track, runs in {"whole": ("abc", "abc"), "lacking": ("abc", "abc", "a")}.items():
        for number, programs in enumerate(runs):
            folder = tmp_path / f"{track}-{number}"
            folder.mkdir()
            (folder / "run.json").write_text(json.dumps({"track": track}))
            for name in programs:
                (folder / f"module_0001.jit_{name}.cpu_after_optimizations{SUFFIX}").write_bytes(small_dump(0))
    assert 0 == call("ingest", *sorted(tmp_path.glob("*-?")), "--warehouse", warehouse).code
    said = "0 of 3 programs moved, 3 unchanged"
    fleet = read_fleet(warehouse)
    lacking = f"{said}; 2 are not in the newest run of cpu · lacking"
    assert {"whole": (0, said), "lacking": (2, lacking)} == {
        space.facts["track"]: (space.facts["absent_count"], moved_line(space)) for space in fleet.spaces
    }
    assert fleet_text(fleet, "table").splitlines()[1].startswith("newest run of all: ")
    assert "Newest run of all: " in fleet_page(fleet)


def test_a_newest_run_without_a_dump_is_not_what_did_not_move(warehouse: Path, tmp_path: Path):
    """The tables are of runs with dumps: that all is unchanged there says nothing about the night that was refused."""
    for name, damaged in {"n1": False, "n2": False, "n3": True}.items():
        [path] = write_dumps(tmp_path / name, [1])
        if damaged:
            path.write_text("damaged")
        call("ingest", tmp_path / name, "--warehouse", warehouse)
        said = printed(warehouse).splitlines()[1]
        assert (True, damaged) == (
            said.startswith(f"newest run: {name}, "), said.endswith("; no dump of it could be read"),
        )  # fmt: skip
    with duckdb.connect(str(warehouse)) as con:
        con.execute("UPDATE raw.rejects SET role = 'log'")  # a refused message of a log is no dump
    assert printed(warehouse).splitlines()[1].endswith(" UTC (file time)")


def test_a_program_of_a_table_counts_for_each_target_and_device(warehouse: Path, tmp_path: Path):
    """A table that holds a program more than once says for what, on a terminal, in Markdown and on the page."""
    runs = {"a": ("v4", ("sm_8.0",)), "b": ("v4", ("sm_8.0", "sm_9.0")), "c": ("v5", ("sm_9.0",))}
    expected = {
        "a": "",
        "ab": "A program counts once for each compile target.",
        "abc": "A program counts once for each compile target and kind of device.",
    }
    folders = []
    for track in expected:
        for run in track:
            device, names = runs[run]
            folders.append(tmp_path / f"{track}-{run}")
            folders[-1].mkdir()
            (folders[-1] / "run.json").write_text(json.dumps({"track": track, "device_kind": device}))
            for name in names:
                path = f"module_0001.jit_f.{name}_gpu_after_optimizations-buffer-assignment.txt"
                (folders[-1] / path).write_bytes(small_dump(1))
    assert 0 == call("ingest", *folders, "--warehouse", warehouse).code
    fleet = read_fleet(warehouse)
    assert expected == {space.facts["track"]: counted_for(space) for space in fleet.spaces}
    for text in (fleet_text(fleet, "table"), fleet_text(fleet, "markdown"), fleet_page(fleet)):
        assert [1, 1] == [text.count(said) for said in expected.values() if said]
        assert 2 == text.count("A program counts once for each")


def test_statements_say_their_purpose_and_pin_their_marts():
    """Every statement of a report begins with its purpose and grain and names marts with their version."""
    statements = sorted(REPORTS.glob("fleet_*.sql"))
    assert 14 == len(statements)
    for path in statements:
        sql = path.read_text()
        assert re.match(r"-- [A-Z].+\n(-- .+\n)*?(?<=\.\n)-- grain: .+\n", sql), path.name
        marts = re.findall(r"\bmarts\.(\w+)", sql)
        assert [name for name in marts if re.search(r"_v[0-9]+$", name)] == marts, path.name
