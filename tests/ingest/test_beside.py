"""What lies beside a dump is read once where it repeats."""

import pytest

from bufferhouse.dump.errors import DumpError
from bufferhouse.ingest import beside
from tests.sources.module_texts import DATA, ENDING


def test_tables_of_stack_frames_are_read_once(monkeypatch):
    """Equal tables below another first line give the same frames, unread; a damaged head is read, and told."""
    path = next((DATA / "jaxlib-0.9.0").glob(f"*{ENDING}"))
    head = path.read_bytes()
    head = head[: head.index(b"\n\n", head.index(b"StackFrames\n")) + 2]
    frames = beside._frames_of(head)
    assert frames[0]
    monkeypatch.setattr(beside, "read_stack_frames", lambda _: pytest.fail("it was read again"))
    assert frames == beside._frames_of(head.replace(b"HloModule ", b"HloModule other_", 1))
    monkeypatch.undo()
    for damaged in (head.replace(b"HloModule", b"HloModul"), head[:-1], head.replace(b"StackFrames", b"StackFrame")):
        for _ in range(2):
            with pytest.raises(DumpError):
                beside._frames_of(damaged)
