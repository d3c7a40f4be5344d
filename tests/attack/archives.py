"""Archives that lie: sizes, times, names, maps of holes, links, and compression that has no end.

Each is read by itself, and then all of them in one ingest: what stands before the lie is loaded, what lies is named,
and nothing else happens.
"""

import gzip
import io
import lzma
import os
import signal
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.sources import compression
from bufferhouse.sources.discover import discover, read
from tests.attack.counts import Count
from tests.ingests import name_of
from tests.synthetic import small_dump

BLOCK = 512
END = bytes(2 * BLOCK)
ODD = "odd-buffer-assignment.txt"
_HANG_SECONDS = 120  # beyond it a reader is said to hang


_PLACES = {"name": 0, "size": 124, "mtime": 136, "checksum": 148, "sparse": 386, "extended": 482, "real size": 483}


def header(
    name: str = ODD, size: int = 0, kind: bytes = b"0", link: str = "", lies: dict[str, bytes] | None = None
) -> bytes:
    """Return a tar header; `lies` are bytes that stand in the place of what is right."""
    info = tarfile.TarInfo(name[:90])
    info.size, info.type, info.linkname = size, kind, link
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[148:156] = b" " * 8
    for field, data in (lies or {}).items():
        block[_PLACES[field] : _PLACES[field] + len(data)] = data
    if "checksum" not in (lies or {}):
        block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def member(name: str = ODD, data: bytes = b"BufferAssignment:\n", **fields: object) -> bytes:
    return header(name, len(data), **fields) + padded(data)


def good(number: int) -> bytes:
    return member(name_of(number), small_dump(number))


def pax(kind: bytes = b"x", raw: bytes | None = None, **records: bytes | str) -> bytes:
    """Return a header of PAX records, whose names have `_` for `.`."""
    data = b""
    for name, value in records.items():
        line = b" %s=%s\n" % (name.replace("_", ".").encode(), value.encode() if isinstance(value, str) else value)
        length = len(line) + 1
        while len(str(length)) + len(line) != length:
            length += 1
        data += str(length).encode() + line
    return member("pax", data if raw is None else raw, kind=kind)


def number256(number: int) -> bytes:
    """Return a number as GNU tar writes those that are too large or below zero."""
    return (b"\x80" if number >= 0 else b"\xff") + (number % (1 << 88)).to_bytes(11, "big")


def holes(version: str, **records: str) -> bytes:
    major, minor = version
    return pax(GNU_sparse_major=major, GNU_sparse_minor=minor, GNU_sparse_name=ODD, **records)


NUMBERS = ["inf", "-inf", "nan", "1e12", "1e300", str(2**63 - 1), str(2**63), str(2**70), str(-(2**70)), "-1", "",
           "x", "1_0", "9" * 5000, "10000000000"]  # fmt: skip
PATHS = [b"../x" + ODD.encode(), b"/" + ODD.encode(), b"a\0" + ODD.encode(), b"\xff\xfe" + ODD.encode(), b"", b".",
         b"a\n\x1b[2J" + ODD.encode(), b"_" * 60_000 + ODD.encode(), b"d/" * 30_000 + ODD.encode(),
         b"module_1." + b"_" * 60_000 + b"x.cpu_after_optimizations-buffer-assignment.txt"]  # fmt: skip
RECORDS = [b"", b"0 a=b\n", b"-1 a=b\n", b"99999999 a=b\n", b"9" * 5000 + b" a=b\n", b"5 a=\n5 a=\n", b"no length\n",
           b"8 a b c\n", b"1\n", b"\xff" * 100, b"11 mtime=1\n" * 5000, b"21 hdrcharset=BINARY\n14 path=\xff\xff\xff\n",
           b"21 hdrcharset=nonsens\n"]  # fmt: skip


def tars() -> Iterator[tuple[str, bytes]]:
    """Yield what stands between a good member and another one, each with its name."""
    for value in NUMBERS:
        yield f"pax mtime {value[:20]}", pax(mtime=value) + member()
        yield f"pax size {value[:20]}", pax(size=value) + member()
        yield f"global pax mtime {value[:20]}", pax(b"g", mtime=value) + member()
    for number, path in enumerate(PATHS):
        yield f"pax path {number}", pax(path=path) + member()
        yield f"pax link {number}", pax(linkpath=path) + header(kind=b"2")
    for number, records in enumerate(RECORDS):
        yield f"pax records {number}", pax(raw=records) + member()
    yield "pax on pax", pax(mtime="1") * 3000 + member()
    for number in (-1, -(2**70), 2**70, 2**63):
        yield f"size {number}", _lying("size", number256(number))
        yield f"mtime {number}", _lying("mtime", number256(number))
    yield "size that is none", _lying("size", b"no number\0")
    yield "mtime that is none", _lying("mtime", b"no number\0")
    yield "checksum", _lying("checksum", b"000000\0 ")
    yield "name that is no UTF-8", _lying("name", b"\xff\xfe\xfd")
    yield "rubbish", b"rubbish!" * 640
    for kind in (b"Z", b"3", b"4", b"6", b"7", b"D", b"M", b"V", b"\0", b"\xff"):
        yield f"type {kind!r}", header(size=BLOCK, kind=kind) + bytes(BLOCK)
    for kind in (b"L", b"K", b"x", b"g", b"X"):
        yield f"header {kind!r} of gigabytes", header(size=7 << 30, kind=kind) + bytes(BLOCK)
        yield f"header {kind!r} before nothing", member(data=b"name", kind=kind)
    yield from links()
    yield from sparse()
    run_file = '{"labels": ' + "[" * 200_000 + "]" * 200_000 + "}"
    yield "deep run.json", member("run/run.json", run_file.encode()) + member("run/" + ODD)
    yield "run.json of 9 MB", member("a/run.json", bytes(9 << 20)) + member("a/" + ODD)
    yield "run.json that is a link", header("a/run.json", kind=b"2", link="/dev/zero") + member("a/" + ODD)


def _lying(field: str, data: bytes) -> bytes:
    body = b"BufferAssignment:\n"
    return header(size=len(body), lies={field: data}) + padded(body)


def links() -> Iterator[tuple[str, bytes]]:
    """Yield links that lead to themselves, on, out, or nowhere."""
    for kind in (b"1", b"2"):
        yield f"link {kind!r} to itself", header(kind=kind, link=ODD)
        yield f"link {kind!r} in a circle", header(kind=kind, link="b" + ODD) + header("b" + ODD, kind=kind, link=ODD)
        yield f"link {kind!r} out", header(kind=kind, link="../../etc/passwd")
        yield f"link {kind!r} with bytes", header(kind=kind, size=1000) + bytes(1024)
    chain = (header(f"{n}{ODD}", kind=b"2", link=f"{n + 1}{ODD}") for n in range(2000))
    yield "a chain of links", b"".join(chain)


def sparse() -> Iterator[tuple[str, bytes]]:
    """Yield maps of holes that are broken, or as long as they say."""
    for number, cells in enumerate(["1,2,3", "x,y", "0," + str(2**70), "-1,-1", "9" * 5000 + ",1", "0,1," * 200_000]):
        yield f"sparse map {number}", pax(GNU_sparse_map=cells, GNU_sparse_size="99999999999") + member()
    for number, data in enumerate(
        [b"1000000000\n", b"-5\n", b"x\n", b"", b"2\n0\n", b"9" * 5000 + b"\n", b"1\n" * 9000]
    ):
        records = {"GNU_sparse_realsize": str(2**60)}
        yield f"sparse 1.0 {number}", holes("10", **records) + member(data=data)
    yield "sparse 0.0", pax(GNU_sparse_size=str(2**62), GNU_sparse_offset="0", GNU_sparse_numblocks="9") + member()
    yield "sparse 0.0 without offsets", pax(GNU_sparse_numbytes="5", GNU_sparse_size="5") + member()
    endless = header(kind=b"S", lies={"extended": b"\1"}) + bytes(504) + b"\1" + bytes(7)
    yield "an old map without end", endless + (bytes(504) + b"\1" + bytes(7)) * 5000
    yield "an old map of rubbish", header(kind=b"S", lies={"sparse": b"\xff" * 96})
    yield "an old sparse member of 2^60 bytes", header(kind=b"S", lies={"real size": number256(2**60)})


def packed() -> Iterator[tuple[str, bytes]]:
    """Yield compressed tars that are cut, are damaged, or ask for memory, by the ends of their names."""
    whole = good(1) + good(2) + END
    zipped, frames, xz = gzip.compress(whole), zstandard.compress(whole), lzma.compress(whole)
    yield "empty.tar", b""
    yield "zeros.tar", bytes(1 << 20)
    yield "cut in a header.tar", whole[: BLOCK + BLOCK // 2]
    yield "cut in a member.tar", whole[: BLOCK + 100]
    for number, place in enumerate(range(1, len(zipped), len(zipped) // 8)):
        yield f"cut {number}.tar.gz", zipped[:place]
        yield f"hit {number}.tgz", zipped[:place] + bytes([zipped[place] ^ 0xFF]) + zipped[place + 1 :]
    yield "checksum.tar.gz", zipped[:-8] + bytes(8)
    yield "rubbish behind.tar.gz", zipped + b"rubbish" * 100
    yield "zipped twice.tar.gz", gzip.compress(zipped)
    yield "cut.tar.zst", frames[: len(frames) // 2]
    yield "a window of gigabytes.tar.zst", b"\x28\xb5\x2f\xfd\x00" + bytes([0xFF]) + frames[6:]
    yield "frames to be skipped.tar.zst", b"\x50\x2a\x4d\x18\xff\xff\xff\xff" + frames
    yield "cut.tar.xz", xz[: len(xz) // 2]
    yield "a dictionary of gigabytes.tar.xz", xz[:15] + b"\x28" + xz[16:]


def zips() -> Iterator[tuple[str, bytes]]:
    """Yield zip files whose directory lies about their members."""
    sound = zipped({name_of(1): small_dump(1), ODD: b"BufferAssignment:\n"})
    at = sound.rindex(b"PK\1\2")  # the entry of the second member
    local = sound.rindex(b"PK\3\4")
    end = sound.rindex(b"PK\5\6")

    def with_bytes(*changes: tuple[int, bytes]) -> bytes:
        data = bytearray(sound)
        for place, new in changes:
            data[place : place + len(new)] = new
        return bytes(data)

    utf8 = struct.pack("<H", 0x800)
    yield (
        "a name that is no UTF-8",
        with_bytes((at + 8, utf8), (local + 6, utf8), (at + 46, b"\xff"), (local + 30, b"\xff")),
    )
    yield "a name that is another", with_bytes((local + 30, b"x"))
    yield "a name with a zero", with_bytes((at + 46, b"\0"), (local + 30, b"\0"))
    yield "encrypted", with_bytes((at + 8, b"\1\0"), (local + 6, b"\1\0"))
    yield "an unknown method", with_bytes((at + 10, b"\x63\0"), (local + 8, b"\x63\0"))
    yield "a day that is none", with_bytes((at + 12, b"\xff" * 4))
    yield "a checksum", with_bytes((at + 16, b"\0" * 4), (local + 14, b"\0" * 4))
    yield "more bytes than there are", with_bytes((at + 24, b"\xff\xff\xff\x7f"))
    yield "fewer bytes than there are", with_bytes((at + 24, b"\1\0\0\0"))
    yield "packed in more than there is", with_bytes((at + 20, b"\xff\xff\xff\x7f"))
    yield "a place behind the end", with_bytes((at + 42, b"\xff\xff\xff\x7f"))
    yield "two members in one place", with_bytes((at + 42, b"\0\0\0\0"))
    yield "an extra field that is cut", with_bytes((at + 30, b"\x10\0"))
    yield "sizes beyond 2^63", with_bytes((at + 24, b"\xff" * 4))
    yield "a directory of more entries", with_bytes((end + 8, b"\xff\x7f\xff\x7f"))
    yield "a directory elsewhere", with_bytes((end + 16, b"\xff\xff\xff\x7f"))
    yield "a directory of gigabytes", with_bytes((end + 12, b"\xff\xff\xff\x7f"))
    yield "cut", sound[: len(sound) // 2]
    yield "without directory", sound[:at]
    yield "rubbish", b"PK\3\4" + b"rubbish" * 100
    yield "a long name", zipped({"_" * 65_000 + ODD: b"BufferAssignment:\n"})
    for number, name in enumerate(["../" + ODD, "/" + ODD, "a\\..\\" + ODD, "C:/" + ODD, "a\n\x1b[2J" + ODD]):
        yield f"a name {number}", zipped({name: b"BufferAssignment:\n"})
    yield "many run.json", zipped({f"{n}/run.json": bytes(1 << 20) for n in range(80)} | {f"9/{ODD}": b"x"})
    for number, target in enumerate([bytes(8 << 20), b"../../etc/passwd", b"\xff\xfe", b"", b"\0", ODD.encode()]):
        yield f"a link {number}", zipped({ODD: target}, mode=stat.S_IFLNK | 0o777)


def zipped(files: dict[str, bytes], mode: int = stat.S_IFREG | 0o644) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return buffer.getvalue()


def bombs(limit_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Yield files that are small and hold more than the limit."""
    zeros = b"".join(_deflated(limit_bytes + (1 << 20)))
    yield f"bomb-{ODD}.gz", zeros
    yield "bomb.tar.gz", gzip.compress(good(1) + header(size=limit_bytes + (1 << 20))) + zeros
    frames = zstandard.ZstdCompressor(level=1).compress(bytes(min(limit_bytes, 64 << 20)))
    yield f"bomb-{ODD}.zst", frames * (limit_bytes // min(limit_bytes, 64 << 20) + 1)
    yield (
        f"bomb-{ODD}.xz",
        lzma.compress(bytes(min(limit_bytes + 1, 64 << 20)), preset=0) * (limit_bytes // (64 << 20) + 1),
    )


def _deflated(count: int) -> Iterator[bytes]:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    piece = bytes(1 << 20)
    for _ in range(count >> 20):
        yield packer.compress(piece)
    yield packer.flush()


def write_all(folder: Path, *, is_short: bool) -> dict[Path, bool]:
    """Write all archives, each with whether the good member at its beginning must be loaded."""
    found: dict[Path, bool] = {}

    def write(name: str, data: bytes, *, has_good: bool) -> None:
        path = folder / "".join(char if char.isalnum() or char in ".-" else "_" for char in name)[-100:]
        assert path not in found, path
        path.write_bytes(data)
        found[path] = has_good

    for number, (name, middle) in enumerate(tars()):
        write(f"{number:03} {name}.tar", good(1) + middle + good(2) + END, has_good=True)
    for name, data in packed():
        write(name, data, has_good=False)
    for number, (name, data) in enumerate(zips()):
        write(f"{number:03} {name}.zip", data, has_good=False)
    for name, data in bombs(1 << 20 if is_short else compression.LIMIT_BYTES):
        write(name, data, has_good=False)
    return found


def _within(seconds: int, what: Callable[[], None]) -> str | None:
    """Do something; return what it raised, or that it did not end."""

    def hung(*_: object) -> None:
        raise TimeoutError(f"no end after {seconds} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(seconds)
    try:
        what()
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return None


def attack(is_short: bool) -> Iterator[Count]:
    """Read each archive alone, then all in one ingest."""
    with TemporaryDirectory() as name:
        if is_short:
            os.environ["BUFFERHOUSE_DUMP_LIMIT"] = str(1 << 20)
        try:
            folder = Path(name, "archives")
            folder.mkdir()
            archives = write_all(folder, is_short=is_short)
            yield _one_by_one(archives)
            yield _together(archives, Path(name))
        finally:
            if is_short:
                os.environ.pop("BUFFERHOUSE_DUMP_LIMIT")


def _one_by_one(archives: dict[Path, bool]) -> Count:
    count = Count("archives read one by one")
    for path, has_good in archives.items():
        names: list[str] = []

        def look(path: Path = path, names: list[str] = names) -> None:
            for dump, files in read(discover([path]).dumps):
                names += [dump.relative_path] if not isinstance(files, Exception) else []

        fault = _within(_HANG_SECONDS, look)
        count.attempt(f"{path.name}: {fault or names}", fault is None and (name_of(1) in names or not has_good))
    return count


def _together(archives: dict[Path, bool], folder: Path) -> Count:
    count = Count("archives in one ingest beside a good one")
    last = folder / "last.tar"
    last.write_bytes(good(3) + END)
    found = {}

    def ingest() -> None:
        summary = run_ingest([*map(str, archives), str(last)], folder / "warehouse.duckdb")
        found.update(new=summary.new, lines=len(summary.unreadable), runs=len(summary.runs))

    fault = _within(10 * _HANG_SECONDS, ingest)
    is_loaded = found.get("new", 0) >= 3 and found["lines"] >= 100
    count.attempt(f"{fault or found}", fault is None and is_loaded)
    return count
