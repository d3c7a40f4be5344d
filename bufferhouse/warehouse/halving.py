"""Which files of a batch cannot be noted in the warehouse: found by halves, in loads of which nothing is kept."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bufferhouse.errors import told
from bufferhouse.tabulate.contracts import without
from bufferhouse.tabulate.tables import ParsedBatch, Sighting
from bufferhouse.warehouse.batch_catalog import is_of_content


class Tried(Exception):
    """Raised where a trial would have been committed, so that it is rolled back."""


def without_poison(parsed: ParsedBatch, attempt: Callable[[ParsedBatch], object]) -> dict[int, str]:
    """Return the sightings whose load fails, by `id`, each with what is said of it."""
    return _by_halves(parsed, parsed.sightings, attempt)


def _by_halves(
    parsed: ParsedBatch, sightings: Sequence[Sighting], attempt: Callable[[ParsedBatch], object]
) -> dict[int, str]:
    try:
        attempt(only_of(parsed, sightings))
    except Tried:
        return {}
    except Exception as error:
        if not is_of_content(error):
            raise
        if len(sightings) == 1:
            return {id(sightings[0]): f"{sightings[0].source_uri}: {told(error)}"}
        middle = len(sightings) // 2
        halves = (sightings[:middle], sightings[middle:])
        return {key: line for half in halves for key, line in _by_halves(parsed, half, attempt).items()}
    return {}  # it would add nothing


def only_of(parsed: ParsedBatch, sightings: Sequence[Sighting]) -> ParsedBatch:
    """Return a batch with some of its sightings, and the contents that they saw."""
    seen = {sighting.content.dump_id for sighting in sightings}
    files = {sighting.content.sha256: sighting.files for sighting in parsed.sightings if sighting.files}
    for sighting in sightings:  # of a content that was seen twice the first sighting has the bytes, if any
        sighting.files = sighting.files or files.get(sighting.content.sha256)
    unseen = set(parsed.tables.frames["dumps"]["dump_id"]) - seen
    return replace(parsed, tables=without(parsed.tables, unseen), sightings=list(sightings))
