"""What edits do to one memory space as one HTML page: the bytes, the edits, and the map before and after."""

from bufferhouse.report.html.page import page
from bufferhouse.report.program.savings import with_drawn_slots
from bufferhouse.report.text.figures import space_title
from bufferhouse.report.whatif.data import Change
from bufferhouse.report.whatif.text import change_lines, change_sections, change_title


def change_page(change: Change) -> str:
    """Return the whole page of a change that was read with its map."""
    subject = change.subject
    number = subject.space.memory_space
    space = {"memory_space": number, "name": space_title(subject.dump["platform"], number)}
    return page(
        "whatif.html",
        change_title(change),
        with_drawn_slots(change.answers),
        warehouse=subject.warehouse,
        scripts=["map", "map_view", "map_draw"],
        shared_texts=("program_map",),
        heading=change_title(change),
        lines=change_lines(change),
        sections=[section for section in change_sections(change) if section.records],
        mapped=[space],
    )
