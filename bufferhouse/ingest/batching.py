"""Read and hash dumps, and put together batches of them: about as many new contents each as one transaction loads."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bufferhouse.dump.identity import Content, content_of, read_file_name
from bufferhouse.engine import interrupts
from bufferhouse.errors import told
from bufferhouse.ingest.workers import Work
from bufferhouse.sources.compression import CompressionError
from bufferhouse.sources.discover import Found, read
from bufferhouse.tabulate.collecting import collector_paused
from bufferhouse.tabulate.tables import Refusal, Sighting
from bufferhouse.warehouse.observations import module_text_of
from bufferhouse.warehouse.warehouse import Warehouse

# One transaction: a third of a second goes into each, however small. It is bytes that memory hangs on.
BATCH_DUMPS = int(os.environ.get("BUFFERHOUSE_BATCH_DUMPS", 4000))
BATCH_BYTES = int(os.environ.get("BUFFERHOUSE_BATCH_BYTES", 16 << 20))
_MOST_SIGHTINGS = 50_000
_CHUNK_SIGHTINGS = 10_000
_CHUNK_DUMPS = min(1000, BATCH_DUMPS)
_CHUNK_BYTES = min(4 << 20, BATCH_BYTES)
_MOST_HELD_BYTES = 64 << 20  # of stack frames, which a batch holds beside its texts


@dataclass(slots=True)
class ReadBatch:
    """Files that were read and hashed: sightings, refusals of damaged files, what cannot be read.

    `known` gives SHA-256 and signature id of contents the warehouse has; only new contents keep their bytes.
    `awaited` are contents that a batch brings which was read before and is not loaded yet, as they were sighted there.
    """

    sightings: list[Sighting] = field(default_factory=list)
    refusals: dict[int, Refusal] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    known: dict[int, tuple[str, int]] = field(default_factory=dict)
    new: dict[int, Sighting] = field(default_factory=dict)
    awaited: dict[int, Sighting] = field(default_factory=dict)
    new_bytes: int = 0
    held_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Say whether it is time to load the batch."""
        is_large = self.new_bytes >= BATCH_BYTES or self.held_bytes >= _MOST_HELD_BYTES
        return is_large or len(self.new) >= BATCH_DUMPS or len(self.sightings) >= _MOST_SIGHTINGS

    @property
    def work(self) -> Work:
        """What there is to parse: each new content once."""
        return [(sighting.content, sighting.files) for sighting in self.new.values()]

    def stored(self, dump_id: int) -> str | None:
        """Return the SHA-256 of the content with an id, where its bytes are here, on their way or in the warehouse."""
        if dump_id in self.known:
            return self.known[dump_id][0]
        first = self.new.get(dump_id) or self.awaited.get(dump_id)
        return first.content.sha256 if first else None

    def has(self, content: Content) -> bool:
        """Say whether the bytes of a content need not be kept again."""
        return self.stored(content.dump_id) == content.sha256


Hold = Callable[[Found, Mapping[str, bytes] | Exception], bool]
InFlight = Callable[[], Collection[ReadBatch]]


def read_own_batches(
    warehouse: Warehouse, dumps: Sequence[Found], hold: Hold | None, in_flight: InFlight = tuple
) -> Iterator[ReadBatch]:
    batch = ReadBatch()
    current = [batch]  # what is read while a chunk fills belongs to the batch of that moment
    chunks = read_chunks(dumps, current, hold)
    while sightings := _next(chunks):
        interrupts.check()
        unasked = {s.content.dump_id for s in sightings} - batch.known.keys() - batch.new.keys()
        batch.known.update(warehouse.known_contents(unasked))
        for other in in_flight():
            batch.awaited.update({key: other.new[key] for key in unasked & other.new.keys()})
        for sighting in sightings:
            sort_in(batch, sighting)
        if batch.is_full:
            yield batch
            batch = current[0] = ReadBatch()
    if batch.sightings or batch.unreadable:
        yield batch


@collector_paused()
def _next(chunks: Iterator[list[Sighting]]) -> list[Sighting] | None:
    return next(chunks, None)


def read_chunks(dumps: Sequence[Found], batch: list[ReadBatch], hold: Hold | None = None) -> Iterator[list[Sighting]]:
    """Read and hash dumps, in pieces small enough to hold before it is known which of them are new."""
    chunk: list[Sighting] = []
    count = size = held = 0
    for dump, files in read(dumps):
        try:
            if hold is not None and dump.content is None and hold(dump, files):
                continue
            sighting = None if isinstance(files, Exception) else _sighting(dump, files)
        except Exception as error:
            files = error
        if isinstance(files, CompressionError):
            data = {"combined": files.data}
            batch[0].refusals[content_of(data).dump_id] = Refusal(
                "compression", "readable compressed data", str(files), role=files.role
            )
            sighting = _sighting(dump, data)
        elif isinstance(files, Exception):
            batch[0].unreadable.append(f"{dump.uri}: {told(files)}")
            continue
        chunk.append(sighting)
        held += sighting.module_text.held_bytes if sighting.module_text is not None else 0
        if batch[0].has(chunk[-1].content):
            chunk[-1].files = None  # a repeat: what it costs is a row
        else:
            count += 1
            size += chunk[-1].text_bytes
        is_large = size >= _CHUNK_BYTES or held >= _MOST_HELD_BYTES
        if is_large or count >= _CHUNK_DUMPS or len(chunk) >= _CHUNK_SIGHTINGS:
            yield chunk
            chunk, count, size, held = [], 0, 0, 0
    if chunk:
        yield chunk


def _sighting(dump: Found, files: Mapping[str, bytes]) -> Sighting:
    return Sighting(
        dump.run_name,
        dump.relative_path,
        dump.uri,
        dump.size_bytes,
        dump.mtime_ns,
        dump.content or content_of(files),
        read_file_name(dump.relative_path),
        sum(map(len, files.values())),
        files,
        module_text_of(dump),
    )


def sort_in(batch: ReadBatch, sighting: Sighting) -> None:
    """Put a sighting into the batch, as a new content, a repeat, or a refused collision of two contents."""
    batch.sightings.append(sighting)
    batch.held_bytes += sighting.module_text.held_bytes if sighting.module_text is not None else 0
    content = sighting.content
    if content.dump_id in batch.refusals:
        return
    stored = batch.stored(content.dump_id)
    if stored is None:
        batch.new[content.dump_id] = sighting
        batch.new_bytes += sighting.text_bytes
    elif stored == content.sha256:
        sighting.files = None
    else:
        # Equal first 63 bits of two contents: the second is refused, under a key that no content has.
        key = -1 - len(batch.sightings)
        sighting.content = content._replace(dump_id=key)
        batch.refusals[key] = Refusal("identity", "a dump_id of its own", f"that of the content {stored}")
