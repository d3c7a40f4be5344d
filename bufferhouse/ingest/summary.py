"""What an ingest did, in numbers."""

from dataclasses import dataclass, field

from bufferhouse.warehouse.load import Loaded


@dataclass(slots=True)
class Summary:
    """What an ingest did; `as_dict` is what `ingest --format json` prints."""

    seen: int = 0
    new: int = 0
    known: int = 0
    ignored: int = 0
    rejected: int = 0
    known_rejected: int = 0
    unreadable: list[str] = field(default_factory=list)
    reject_lines: list[str] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    head_faults: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    seconds: float = 0.0
    runs: list[str] = field(default_factory=list)
    last_load_id: int = 0
    conflicts: int | None = None
    retries: int | None = None

    def add(self, loaded: Loaded) -> None:
        """Count one load in."""
        if loaded.rows:  # else it added nothing, and there is no load of that number
            self.last_load_id = loaded.load_id
        self.new += loaded.new_count
        self.known += loaded.known_count
        self.rejected += len(loaded.rejects)
        self.known_rejected += loaded.known_reject_count
        self.bytes += loaded.text_bytes
        self.reject_lines += [f"{s.source_uri}:{refusal}" if refusal.line else f"{s.source_uri}: {refusal}"
                              for s, refusal in loaded.rejects]  # fmt: skip
        self.unreadable += loaded.unreadable
        self.head_faults += loaded.head_faults
        for name, count in loaded.warnings.items():
            self.warnings[name] = self.warnings.get(name, 0) + count
        for table, count in loaded.rows.items():
            self.rows[table] = self.rows.get(table, 0) + count
        self.add_tries(loaded)

    def add_tries(self, other: "Loaded | Summary") -> None:
        """Count in how often a commit met another one, and a load was done anew; None where nobody else writes."""
        for name in ("conflicts", "retries"):
            if (count := getattr(other, name)) is not None:
                setattr(self, name, (getattr(self, name) or 0) + count)

    @property
    def exit_code(self) -> int:
        """1 when something was refused or could not be read, else 0."""
        return 1 if self.rejected or self.unreadable else 0

    def as_dict(self) -> dict:
        """Return the summary as JSON knows it."""
        names = ("seen", "new", "known", "ignored", "rejected", "known_rejected", "unreadable", "rows", "bytes",
                 "seconds", "runs", "warnings")  # fmt: skip
        tries = ("conflicts", "retries") if self.conflicts is not None else ()
        return {name: getattr(self, name) for name in (*names, *tries)}
