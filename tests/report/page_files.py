"""What tests of pages in a browser share: which pages there are, and questions to a page in its own language."""

import shutil
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.report.compare.data import read_comparison
from bufferhouse.report.compare.page import compare_page
from bufferhouse.report.fleet.data import read_fleet
from bufferhouse.report.fleet.page import fleet_page
from bufferhouse.report.program.data import read_program
from bufferhouse.report.program.page import program_page
from bufferhouse.report.run.data import read_run
from bufferhouse.report.run.page import run_page
from bufferhouse.report.whatif.data import read_change
from bufferhouse.report.whatif.page import change_page
from bufferhouse.whatif.edits import read_edit
from tests.report.pages import HOSTILE
from tests.synthetic import Slot, dump_text

TPU = "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"
OF_THE_PROGRAM = (
    "dump_id = (SELECT dump_id FROM marts.observations_v1"
    f" WHERE program_name = 'jit_transformer2_fwd' AND run_name = '{TPU}')"
)
OPERATION = HOSTILE.replace('"', '\\"') + "x" * 4000  # as XLA would write it

# Text that is hard to read: its contrast with what lies behind it is below 4.5 (WCAG 2.2, 1.4.3).
UNREADABLE = """
(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [], weigh = (text, ink, element) => {
    const [one, other] = [light(numbers(ink)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    seen += 1;
    if (contrast < 4.5) found.push([text.slice(0, 40), contrast]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0, labels = 0;
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || element.closest("script, noscript, title") || !element.checkVisibility()) continue;
    weigh(node.data, element.closest("svg") ? style.fill : style.color, element);
  }
  for (const { map } of document.querySelectorAll(".map")) {
    const context = map.canvas.getContext("2d"), write = context.fillText;
    context.fillText = (text, ...where) => {
      labels += 1;
      // A canvas turns its colors into #rrggbb.
      const ink = context.fillStyle.match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16));
      weigh(text, `rgb(${ink})`, map.canvas);
      write.call(context, text, ...where);
    };
    map.draw();
    delete context.fillText;
  }
  return { seen, labels, found };
})()
"""
MAP = 'document.querySelector(".map").map'
TABLE = 'document.querySelector("table#{0}")'
CELLS = "[...{0}.tBodies[0].rows].map((row) => [...row.cells].map((cell) => [cell.textContent, cell.title]))"


class PageFiles:
    """Pages of reports as files, each made when it is asked for first."""

    def __init__(self, folder: Path, example_warehouse: Path, blank_warehouse: Path) -> None:
        self._folder, self._example, self._blank = folder, example_warehouse, blank_warehouse
        self._made: dict[str, Path] = {}

    def __getitem__(self, name: str) -> Path:
        """Return the file of one of PAGES."""
        if name not in self._made:
            path = self._folder / f"{name}.html"
            path.write_text(PAGES[name](self), encoding="utf-8")
            self._made[name] = path
        return self._made[name]

    @property
    def example(self) -> Path:
        """The warehouse of the example fleet."""
        return self._example

    @property
    def empty(self) -> Path:
        """A warehouse without rows."""
        return self._blank

    @cached_property
    def hostile(self) -> Path:
        """A warehouse of one dump whose names would do harm."""
        metadata = f'custom-call(), metadata={{op_name="{OPERATION}" source_file="{OPERATION}.py" source_line=3}}'
        text = dump_text([Slot(0, 3, 0, 640), Slot(1, 3, 640, 128), Slot(3, 5, 0, 320)]).decode()
        name = "module_0001.jit_<img src=x onerror=alert(1)>\"'&\x1b\u202e.cpu_after_optimizations"
        folder = self._new("hostile")
        written = text.replace("custom-call()", metadata).replace("v2", "v" * 4000)
        (folder / f"{name}-buffer-assignment.txt").write_text(written)
        return self._ingested("hostile", {HOSTILE: folder})

    @cached_property
    def hostile_runs(self) -> Path:
        """A warehouse of two runs of three programs whose names would do harm."""
        runs = {}
        for run in ("a", "b"):
            runs[run + HOSTILE] = folder = self._new(f"hostile-{run}")
            for number in range(3):
                size = 640 + number if run == "a" else 700
                name = f"module_{number}.jit_{number}<img src=x onerror=alert(1)>\"'&\x1b\u202e.cpu_after_optimizations"
                text = dump_text([Slot(0, 5, 0, size), Slot(1, 3, size, 128)])
                (folder / f"{name}-buffer-assignment.txt").write_bytes(text)
        return self._ingested("hostile-runs", runs)

    @cached_property
    def rejects(self) -> Path:
        """A warehouse of one run whose only dump was refused."""
        folder = self._new("broken")
        (folder / "module_1-buffer-assignment.txt").write_text(f"BufferAssignment:\n{HOSTILE}\n")
        return self._ingested("rejects", {"broken": folder})

    def _new(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir()
        return folder

    def _ingested(self, name: str, runs: dict[str, Path]) -> Path:
        path = Path(shutil.copy(self._blank, self._folder / f"{name}.duckdb"))
        for run, folder in runs.items():
            run_ingest([str(folder)], path, run_name=run)
        return path


PAGES: dict[str, Callable[[PageFiles], str]] = {
    "fleet": lambda of: fleet_page(read_fleet(of.example)),
    "program": lambda of: program_page(read_program(of.example, "jit_transformer2_fwd", run=TPU)),
    "alone": lambda of: program_page(read_program(of.example, "jit_donate_swap", run="jaxlib-0.8.0")),
    "whatif": lambda of: change_page(
        read_change(of.example, "jit_transformer2_fwd", [read_edit("shrink:type=f32:bf16")], run=TPU, is_mapped=True)
    ),
    "run": lambda of: run_page(read_run(of.example, TPU)),
    "compare": lambda of: compare_page(read_comparison(of.example, "jaxlib-0.4.38", "jaxlib-0.6.0")),
    "hostile-fleet": lambda of: fleet_page(read_fleet(of.hostile)),
    "hostile-program": lambda of: program_page(read_program(of.hostile, "")),
    "hostile-run": lambda of: run_page(read_run(of.hostile_runs, "a")),
    "hostile-compare": lambda of: compare_page(read_comparison(of.hostile_runs, "a", "b</")),
    "empty": lambda of: fleet_page(read_fleet(of.empty)),
    "rejects": lambda of: fleet_page(read_fleet(of.rejects)),
    "rejected-run": lambda of: run_page(read_run(of.rejects, "broken")),
}
WITHOUT_CHARTS = {"whatif", "hostile-fleet", "empty", "rejects", "rejected-run"}
