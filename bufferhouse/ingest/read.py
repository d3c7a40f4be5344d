"""Read and hash dumps, and put them into batches: each has about as many new contents as one transaction loads."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from bufferhouse.dump.identity import content_of, key_of, read_file_name
from bufferhouse.engine import interrupts
from bufferhouse.errors import given_number, told
from bufferhouse.ingest.beside import compile_flags_of, module_text_of, proto_of
from bufferhouse.sources.compression import CompressionError
from bufferhouse.sources.discover import read
from bufferhouse.sources.found import Found, FoundDumps
from bufferhouse.tabulate.batch import Refusal, Sighting
from bufferhouse.tabulate.contents import Work
from bufferhouse.warehouse.warehouse import Warehouse

Hold = Callable[[Found, Mapping[str, bytes] | Exception], bool]


@dataclass(frozen=True)
class Limits:
    """How large a batch gets: new contents, bytes of new text, files, and bytes held beside the texts (stack frames).

    The transaction of a batch takes a third of a second, however small it is; the bytes decide how much memory it
    takes.
    """

    dumps: int = 2000
    text_bytes: int = 16 << 20
    sightings: int = 50_000
    held_bytes: int = 64 << 20

    @classmethod
    def of_environment(cls) -> Self:
        """Return the limits of $BUFFERHOUSE_BATCH_DUMPS and $BUFFERHOUSE_BATCH_BYTES, or the defaults.

        Raises:
            UsageError: such a variable is no number of at least 1.
        """
        return cls(
            given_number("BUFFERHOUSE_BATCH_DUMPS", cls.dumps), given_number("BUFFERHOUSE_BATCH_BYTES", cls.text_bytes)
        )

    def of_a_chunk(self, batch: "ReadBatch") -> "Limits":
        """Return how much is read before the warehouse is asked which contents are new.

        It is what still fits into the batch if all contents are new, and at least a quarter of a batch, because the
        question takes a lake a tenth of a second.
        """
        return replace(
            self,
            dumps=max(self.dumps // 4, self.dumps - len(batch.new)),
            text_bytes=max(self.text_bytes // 4, self.text_bytes - batch.new_bytes),
            sightings=min(10_000, self.sightings),
        )

    def reached(self, dumps: int, text_bytes: int, sightings: int, held_bytes: int) -> bool:
        """Return whether a batch of this size has reached one of the limits."""
        is_large = text_bytes >= self.text_bytes or held_bytes >= self.held_bytes
        return is_large or dumps >= self.dumps or sightings >= self.sightings


@dataclass(slots=True)
class ReadBatch:
    """Files that were read and hashed: sightings, refusals of damaged files, and files that cannot be read.

    `known` gives SHA-256 and signature id of contents that the warehouse has; only new contents keep their bytes.
    `awaited` has the contents that an earlier batch brings, which is not loaded yet, with their sightings in that
    batch.
    """

    sightings: list[Sighting] = field(default_factory=list)
    refusals: dict[int, Refusal] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)
    known: dict[int, tuple[str, int]] = field(default_factory=dict)
    new: dict[int, Sighting] = field(default_factory=dict)
    awaited: dict[int, Sighting] = field(default_factory=dict)
    new_bytes: int = 0
    held_bytes: int = 0

    def is_full(self, limits: Limits) -> bool:
        """Return whether the batch is large enough to be loaded."""
        return limits.reached(len(self.new), self.new_bytes, len(self.sightings), self.held_bytes)

    @property
    def work(self) -> Work:
        """The contents to parse: each new one once."""
        return [(sighting.content, sighting.files) for sighting in self.new.values()]

    def clear(self) -> None:
        """Free what was read, once it is loaded."""
        for held in (self.sightings, self.refusals, self.known, self.new, self.awaited):
            held.clear()

    def stored(self, dump_id: int) -> str | None:
        """Return the SHA-256 of the content with an id if it is new in this batch, awaited or known; else None."""
        if dump_id in self.known:
            return self.known[dump_id][0]
        first = self.new.get(dump_id) or self.awaited.get(dump_id)
        return first.content.sha256 if first else None

    def take(self, sighting: Sighting) -> None:
        """Add a sighting of a new content or of a repeat; refuse a content that has the id of another content."""
        self.sightings.append(sighting)
        self.held_bytes += sighting.held_bytes
        content = sighting.content
        if content.dump_id in self.refusals:
            return
        stored = self.stored(content.dump_id)
        if stored is None:
            self.new[content.dump_id] = sighting
            self.new_bytes += sighting.text_bytes
        elif stored == content.sha256:
            sighting.files = None
        else:
            # Equal first 63 bits of two contents: the second is refused, under a key that no content has.
            key = -1 - len(self.sightings)
            sighting.content = content._replace(dump_id=key)
            self.refusals[key] = Refusal("identity", "a dump_id of its own", f"that of the content {stored}")


class Reader:
    """Reads and hashes dumps in order. `batch` is the batch being filled; refusals and unreadable files go there, too.

    `hold` gets the bytes of a dump, or the error that prevents reading it; a dump for which it returns true is skipped.
    """

    def __init__(self, dumps: FoundDumps | Sequence[Found], limits: Limits, hold: Hold | None = None) -> None:
        self.dumps = dumps
        self.limits = limits
        self.hold = hold
        self.batch = ReadBatch()

    def chunks(self) -> Iterator[list[Sighting]]:
        """Yield sightings in chunks small enough to hold in memory until it is known which contents are new."""
        chunk: list[Sighting] = []
        count = size = held = 0
        limits = self.limits.of_a_chunk(self.batch)
        for dump, files in read(self.dumps):
            sighting = self._sighting(dump, files)
            if sighting is None:
                continue
            chunk.append(sighting)
            held += sighting.held_bytes
            if self.batch.stored(sighting.content.dump_id) == sighting.content.sha256:
                sighting.files = None  # a repeat: what it costs is a row
            else:
                count += 1
                size += sighting.text_bytes
            if limits.reached(count, size, len(chunk), held):
                yield chunk
                chunk, count, size, held = [], 0, 0, 0
                limits = self.limits.of_a_chunk(self.batch)
        if chunk:
            yield chunk

    def _sighting(self, dump: Found, files: Mapping[str, bytes] | Exception) -> Sighting | None:
        """Return the sighting of a dump; None if it is held back or cannot be read."""
        try:
            if self.hold is not None and dump.content is None and self.hold(dump, files):
                return None
            if not isinstance(files, Exception):
                return _sighting(dump, files)
        except Exception as error:
            files = error
        if isinstance(files, CompressionError):
            sighting = _sighting(dump, {"proto" if "proto" in dump.parts else "combined": files.data})
            refusal = Refusal("compression", "readable compressed data", str(files), role=files.role)
            # A key that no content has: under another name the same bytes may be a dump, or be refused otherwise.
            key = -1 - key_of(sighting.content.sha256, refusal.role, refusal.found)
            sighting.content = sighting.content._replace(dump_id=key)
            self.batch.refusals[key] = refusal
            return sighting
        self.batch.unreadable.append(f"{dump.unread_uri or dump.uri}: {told(files)}")
        return None


def _sighting(dump: Found, files: Mapping[str, bytes]) -> Sighting:
    module_text = flags = proto = None
    if not dump.is_alone:
        module_text, flags, proto = module_text_of(dump, files), compile_flags_of(dump), proto_of(dump, files)
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
        module_text,
        dump.did_not_fit,
        flags,
        proto,
    )


def read_batches(
    warehouse: Warehouse,
    dumps: FoundDumps | Sequence[Found],
    limits: Limits = Limits(),
    *,
    hold: Hold | None = None,
    in_flight: Collection[ReadBatch] = (),
) -> Iterator[ReadBatch]:
    """Read and hash dumps as `Reader` does; yield a batch whenever new contents have filled one.

    Contents fill a batch, not files: most files of a fleet repeat a content, and a repeat costs only a row. Load a
    batch before you ask for the next one, which looks up the contents that are known by then, or keep it in `in_flight`
    until it is loaded. Load batches in order, each after `settle`.
    """
    reader = Reader(dumps, limits, hold)
    for sightings in reader.chunks():
        interrupts.check()
        batch = reader.batch
        unasked = {s.content.dump_id for s in sightings} - batch.known.keys() - batch.new.keys()
        batch.known.update(warehouse.known_contents(unasked))
        for other in in_flight:
            batch.awaited.update({key: other.new[key] for key in unasked & other.new.keys()})
        for sighting in sightings:
            batch.take(sighting)
        if batch.is_full(limits):
            yield batch
            reader.batch = ReadBatch()
    if reader.batch.sightings or reader.batch.unreadable:
        yield reader.batch
