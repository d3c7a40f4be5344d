"""The house as its imports make it: its rooms, who imports whom, its floors; and a picture of it (`make docs`).

A room is a folder of `bufferhouse/`, or `schemas/`, or `flows/`; a module directly in `bufferhouse/` is a room of its
own. A room stands above all rooms that it imports, imports inside functions counted. `tests/system/test_floors.py`
holds the house to its rules.
"""

import ast
import re
from collections import defaultdict
from functools import cache
from html import escape
from pathlib import Path

from bufferhouse.paths import CHECKOUT

PICTURE = Path(__file__).parent / "images" / "house.svg"
WIDTH, ROOM_WIDTH, ROOM_HEIGHT, FLOOR_HEIGHT = 1000, 236, 46, 84
# Every room may use these; arrows to them would say nothing.
_GROUND = {"bufferhouse.errors", "bufferhouse.paths", "bufferhouse.redaction", "bufferhouse.version"}


def module_name(path: Path) -> str:
    """Return the dotted name of a module of this checkout."""
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {
    module_name(path): path
    for folder in ("bufferhouse", "schemas", "flows")
    for path in sorted((CHECKOUT / folder).rglob("*.py"))
}


@cache
def imports(name: str) -> set[str]:
    """Return all modules that a module imports anywhere in it; of our own the module, not the name in it."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update((inside & MODULES.keys()) or {node.module})
    return found


def room(name: str) -> str:
    """Return the room of a module: a folder of the core by its own name, else the package or the module itself."""
    parts = name.split(".")
    if parts[0] != "bufferhouse" or len(parts) == 1:
        return parts[0]
    is_folder = len(parts) > 2 or MODULES[name].name == "__init__.py"
    return parts[1] if is_folder else name


def module_graph() -> dict[str, set[str]]:
    """Return which of our own modules each module imports."""
    return {name: {other for other in imports(name) if other in MODULES and other != name} for name in MODULES}


def room_graph() -> dict[str, set[str]]:
    """Return which rooms each room imports."""
    graph: dict[str, set[str]] = {room(name): set() for name in MODULES}
    for importer, imported in module_graph().items():
        graph[room(importer)] |= {room(other) for other in imported} - {room(importer)}
    return graph


def below(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return all that is reached from a room or a module, itself where it stands in a circle."""
    found, to_do = set(), [start]
    while to_do:
        new = graph[to_do.pop()] - found
        found |= new
        to_do += new
    return found


def floors(graph: dict[str, set[str]]) -> dict[str, int]:
    """Return the floor of each room: 1 is the ground. The graph has no circle."""
    found: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in found:
            found[name] = 1 + max(map(floor, graph[name]), default=0)
        return found[name]

    for name in graph:
        floor(name)
    return found


def picture() -> str:
    """Return the house as SVG: floors from the ground up, and an arrow where no longer way says the same."""
    graph = room_graph()
    graph = {name: others - _GROUND for name, others in graph.items() if name not in {*_GROUND, "bufferhouse"}}
    rows = defaultdict(list)
    for name, floor in floors(graph).items():
        rows[floor].append(name)
    height = FLOOR_HEIGHT * len(rows) + 24
    places = {
        name: (WIDTH * (at + 1) / (len(names) + 1), height - FLOOR_HEIGHT * floor + ROOM_HEIGHT / 2)
        for floor, names in rows.items()
        for at, name in enumerate(sorted(names))
    }
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#888"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    for name, others in sorted(graph.items()):
        for other in sorted(others - set().union(*(below(graph, between) for between in others))):
            (x1, y1), (x2, y2) = places[name], places[other]
            ends = f'x1="{x1:.0f}" y1="{y1 + ROOM_HEIGHT / 2:.0f}" x2="{x2:.0f}" y2="{y2 - ROOM_HEIGHT / 2:.0f}"'
            lines.append(f'<line {ends} stroke="#888" marker-end="url(#tip)"/>')
    for name, (x, y) in sorted(places.items()):
        label = name.removeprefix("bufferhouse.") + (".py" if name.startswith("bufferhouse.") else "/")
        lines += [
            f'<rect x="{x - ROOM_WIDTH / 2:.0f}" y="{y - ROOM_HEIGHT / 2:.0f}" width="{ROOM_WIDTH}"'
            f' height="{ROOM_HEIGHT}" rx="5" fill="#e8f0fa" stroke="#4a78b0"/>',
            f'<text x="{x:.0f}" y="{y - 2:.0f}" text-anchor="middle" font-size="15">{escape(label)}</text>',
            f'<text x="{x:.0f}" y="{y + 14:.0f}" text-anchor="middle" font-size="11" fill="#555">'
            f"{escape(_purpose(name).replace('`', ''))}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def _purpose(name: str) -> str:
    """Return what the docstring of a room begins with."""
    path = MODULES.get(name) or MODULES[f"bufferhouse.{name}"]
    return re.split(r"[:.;](?:\s|$)", ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), maxsplit=1)[0]


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
