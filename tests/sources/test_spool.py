"""Parts that wait for others, in memory or beyond it."""

import errno
import io
import tempfile

import pytest

from bufferhouse.sources.spool import Spool


@pytest.mark.parametrize("memory_bytes", [0, 10, 1000])
def test_parts_come_back_wherever_they_waited(memory_bytes):
    """Whatever fits is held in memory, the rest in a file; each comes back as it was, in any order."""
    parts = [bytes([number]) * number for number in range(20)]
    waiting = Spool(memory_bytes)
    places = [waiting.put(part) for part in parts]
    held = sum(len(place) for place in places if isinstance(place, bytes))
    assert held <= memory_bytes
    assert list(reversed(parts)) == [waiting.take(place) for place in reversed(places)]


def test_memory_is_given_back():
    """What was taken makes room for what comes."""
    waiting = Spool(10)
    for _ in range(3):
        place = waiting.put(b"0123456789")
        assert b"0123456789" == place
        assert isinstance(waiting.put(b"0"), tuple)
        waiting.take(place)


def test_a_full_disk_is_told_with_its_folder(monkeypatch):
    """The folder is that for temporary files, which nobody has named: the message does, and how to choose another."""
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: io.FileIO("/dev/full", "r+"))
    with pytest.raises(OSError, match=r"\$TMPDIR") as caught:
        Spool().put(b"x")
    assert (errno.ENOSPC, tempfile.gettempdir()) == (caught.value.errno, caught.value.filename)
