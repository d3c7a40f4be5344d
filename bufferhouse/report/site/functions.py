"""The pages of functions: all programs of one, and their history over the runs; and the list of all functions."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter

from bufferhouse.compare.groups import by
from bufferhouse.errors import counted
from bufferhouse.query.statements import Answer, Record
from bufferhouse.report.html.frame import Frame, Shared
from bufferhouse.report.html.page import page
from bufferhouse.report.site.addresses import function_address, run_address, slug
from bufferhouse.report.site.build import Made
from bufferhouse.report.site.figures import figures, script
from bufferhouse.report.site.inventory import Inventory, Point
from bufferhouse.report.site.manifest import code, fingerprint
from bufferhouse.report.site.programs import SMALL_BYTES
from bufferhouse.report.text.columns import Column
from bufferhouse.report.text.figures import compiler_said, human_bytes, printable, space_title
from bufferhouse.report.text.sections import Section

LIST = "programs/index.html"
_DIGITS = 8  # of a program_id, where several programs have one name
_HISTORY = [
    Column("run_name", "run", link="run_link"),
    Column("program", "program", link="program_link"),
    Column("memory_space", "memory space", "count"),
    Column("reserved_bytes", "reserved", "bytes"),
    Column("reserved_change_bytes", "change", "change", link="step_link"),
    Column("occupied_peak_bytes", "occupied peak", "bytes"),
    Column("layout_padding_bytes", "layout padding", "bytes"),
    Column("compiler_version", "compiler", limit=30),
    Column("platform", "platform"),
    Column("track", "track", limit=30),
    Column("compile_target", "target", limit=20),
    Column("variant_count", "contents", "count"),
    Column("dump_count", "dumps", "count"),
]
_TOLD = [
    *(column.name for column in _HISTORY),
    *(column.link for column in _HISTORY if column.link),
    *("run_order", "started_at", "program_id", "device_kind", "dump_id", "figure"),
]
_SAID = ("run_name", "compiler", "compiler_version", "started_at", "run_order")  # of a run, in a page


class Functions:
    """The pages of all functions."""

    def __init__(self, inventory: Inventory, signatures: Sequence[Record], shared: Shared) -> None:
        self._inventory, self._shared = inventory, shared
        self._signatures = {row["program_id"]: row["entry_signature"] for row in signatures}
        self._of_address = {function_address(name): name for name in inventory.functions}
        self._runs = {run["run_id"]: {name: run[name] for name in _SAID} for run in inventory.runs}
        self.wanted = {address: self._shows(name) for address, name in self._of_address.items()}

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the pages."""
        for address in addresses:
            yield self._page(address, self._of_address[address])

    def _shows(self, name: str) -> str:
        points = self._inventory.functions[name]
        pages = [(point, self._inventory.page_of[point.compiled], self._step(point)) for point in points]
        runs = [self._runs[run_id] for run_id in sorted({point.run_id for point in points})]
        return fingerprint(code(), name, pages, runs)

    def _step(self, point: Point) -> str | None:
        """Return the step that led to a point of a series, if it has a page."""
        before = self._numbered.get((*point.series, point.run_number - 1))
        return self._inventory.step_of.get((before, point.run_id)) if before is not None else None

    @cached_property
    def _numbered(self) -> dict[tuple, int]:
        """The run_id of each point, by series and number of the run."""
        return {(*point.series, point.run_number): point.run_id for point in self._inventory.points}

    def _page(self, address: str, name: str) -> Made:
        points = self._inventory.functions[name]
        charts = dict(sorted(by(_figure, points).items(), key=lambda one: (-_most(one[1]), str(one[0]))))
        places = {figure: place for place, figure in enumerate(charts)}
        programs = by(attrgetter("program_id"), points)
        records = [self._record(point, places[_figure(point)], len(programs) > 1) for point in points]
        records.sort(key=lambda row: (row["figure"], -row["run_order"]))
        answer = Answer.of([{name: row[name] for name in _TOLD} for row in records])
        frame = Frame(address, "Programs", self._shared, [("Programs", LIST)])
        text = page(
            "site_function.html",
            f"Program memory: {printable(name, 120)}",
            {"function_history": answer},
            scripts=["figure", "history"],
            shared_texts=("function_history",),
            frame=frame,
            name=printable(name, 120),
            programs=[self._program(program_id, own) for program_id, own in programs.items()],
            charts=_charts(charts),
            run_count=len({point.run_id for point in points}),
            history=Section("History over runs", (), _HISTORY, records, "history", "function_history"),
        )
        signatures = Answer(["program_id", "entry_signature"], [(one, self._signatures.get(one)) for one in programs])
        return Made(
            address, text, figures(address, {"function_name": name}, {"programs": signatures, "history": answer})
        )

    def _record(self, point: Point, figure: int, has_several: bool) -> Record:
        run = self._runs[point.run_id]
        label = printable(point.program_name, 40) + (f" #{str(point.program_id)[:_DIGITS]}" if has_several else "")
        return {
            "run_name": run["run_name"],
            "run_order": run["run_order"],
            "started_at": run["started_at"],
            "compiler_version": compiler_said(run) or None,
            "program_id": point.program_id,
            "program": label,
            "figure": figure,
            **point._asdict(),
            "run_link": run_address(run["run_name"]),
            "program_link": self._inventory.page_of[point.compiled],
            "step_link": self._step(point),
        }

    def _program(self, program_id: int, points: Sequence[Point]) -> Record:
        """Return what the page lists about a program: its signature, and its pages in the order of the runs.

        If a run has several pages of it, each also says its compile target.
        """
        pages: dict[str, Point] = {}
        runs = self._inventory.run_of
        for point in sorted(points, key=lambda point: runs[point.run_id]["run_order"]):
            pages.setdefault(self._inventory.page_of[point.compiled], point)
        counts = Counter(point.run_id for point in pages.values())
        listed = []
        for address, point in reversed(pages.items()):
            target = [point.compile_target or "unknown target"] * (counts[point.run_id] > 1)
            listed.append(
                (" · ".join(printable(one, 60) for one in (runs[point.run_id]["run_name"], *target)), address)
            )
        return {"program_id": program_id, "signature": self._signatures.get(program_id) or "", "pages": listed}


def _figure(point: Point) -> tuple:
    """Return the key of a chart: it shows the programs of a function on one kind of device, in one memory space."""
    return point.series[2:]


def _most(points: Sequence[Point]) -> int:
    return max(point.reserved_bytes for point in points)


def _charts(charts: Mapping[tuple, Sequence[Point]]) -> list[Record]:
    found = []
    for place, ((target, platform, track, device, space), points) in enumerate(charts.items()):
        words = [platform if platform != target else None, target, track, device, space_title(platform, space)]
        run_count = len({point.run_id for point in points})
        found.append(
            {
                "place": place,
                "heading": " · ".join(printable(word, 60) for word in words if word),
                "is_small": _most(points) < SMALL_BYTES and len(charts) > 1,
                "has_line": run_count > 1,
                "said": f"{counted(run_count, 'run')}, at most {human_bytes(_most(points))} reserved",
            }
        )
    return found


class FunctionList:
    """The list of all functions, and the names for the search of the index: ten thousand are a few hundred KB."""

    def __init__(self, inventory: Inventory, shared: Shared) -> None:
        self._shared = shared
        # Most names are their own addresses; for the others the address is written.
        self._names = [
            [name, slug(name) if slug(name) != name else 0, *_sizes(inventory, points)]
            for name, points in inventory.functions.items()
        ]
        self._names.sort(key=lambda row: (-row[2], row[0]))
        self.wanted = {LIST: fingerprint(code(), self._names)}

    def make(self, addresses: Sequence[str]) -> Iterator[Made]:
        """Yield the page."""
        frame = Frame(LIST, "Programs", self._shared, scripts=["list.js"])
        text = page(
            "site_functions.html",
            "Programs",
            {},
            scripts=["search"],
            frame=frame,
            names=[(name, function_address(name)) for name, *_ in self._names],
        )
        columns = ["function_name", "slug", "reserved_bytes", "program_count"]
        answer = Answer(columns, [(name, address or name, *more) for name, address, *more in self._names])
        told = {**figures(LIST, {}, {"functions": answer}), **script("programs/list.html", "functions", self._names)}
        yield Made(LIST, text, told)


def _sizes(inventory: Inventory, points: Sequence[Point]) -> tuple[int, int]:
    """Return the most bytes that the newest run of a series reserves, and how many programs there are."""
    keys = {point.series for point in points}
    return max(inventory.newest[key].reserved_bytes for key in keys), len({key[0] for key in keys})
