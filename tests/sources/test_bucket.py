"""s3:// against a real S3 server on the loopback: the same rows, retries, and what is said when it goes away."""

import gzip
import json
import logging
import os
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR

import boto3
import duckdb
import pytest
from moto.server import ThreadedMotoServer

from bufferhouse.config.load import Config
from bufferhouse.errors import UsageError
from bufferhouse.ingest.freshness import freshness
from bufferhouse.paths import cache_folder
from bufferhouse.sources import bucket
from bufferhouse.sources.discover import discover, read
from bufferhouse.sources.s3 import configuration
from tests.command_line import call
from tests.ingests import SUFFIX, ingest, name_of, write_dumps
from tests.oom.specimens import FOLDER
from tests.sources.beside import TPU, files_beside, told_beside
from tests.sources.module_texts import DATA
from tests.sources.test_archive import archived, facts, told
from tests.synthetic import small_dump
from tests.warehouses import contents, counts, rows, unproved

KEYS = {"aws_access_key_id": "who", "aws_secret_access_key": "secret"}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an S3 server."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def fleet_bucket(server, fleet) -> str:
    """A bucket with the example fleet below `fleet/`, and some other things."""
    client = client_of(server)
    client.create_bucket(Bucket="dumps")
    for path in sorted(fleet.rglob("*")):
        if path.is_file():
            client.put_object(Bucket="dumps", Key=f"fleet/{path.relative_to(fleet)}", Body=path.read_bytes())
    client.put_object(Bucket="dumps", Key="fleet-2/notes.txt", Body=b"not asked for")
    return "s3://dumps"


def client_of(url: str):
    return boto3.client("s3", endpoint_url=url, region_name="us-east-1", **KEYS)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path, server):
    """What AWS tools read, and nothing that this machine has of its own."""
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_folder().parent))  # where the blank warehouse lies
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "who")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


DROPPED, CUT = -1, -2  # no answer at all; an answer whose body breaks off in the middle
FORBIDDEN = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>AccessDenied</Code><Message>Not yours</Message><Resource>/x</Resource></Error>"""


@contextmanager
def before(url: str, answer: Callable[[int, str], int | None]) -> Iterator[str]:
    """A server in front of another one: `answer(number, path)` gives the status of a request that it refuses.

    Beside a status it may be DROPPED or CUT.
    """
    requests: list[str] = []
    lock = threading.Lock()
    host = url.removeprefix("http://")

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with lock:
                requests.append(self.path)
                status = answer(len(requests), self.path)
            if status == DROPPED:
                self.connection.shutdown(SHUT_RDWR)
                self.close_connection = True
                return
            if status is not None and status > 0:
                self.reply(status, {}, FORBIDDEN if status == 403 else b"")
                return
            behind = HTTPConnection(host, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            behind.request(self.command, self.path, headers=headers)
            response = behind.getresponse()
            self.reply(response.status, dict(response.getheaders()), response.read(), is_cut=status == CUT)
            behind.close()

        do_HEAD = do_GET

        def reply(self, status: int, headers: dict[str, str], body: bytes, *, is_cut: bool = False) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = headers.get("Content-Length", str(len(body))) if self.command == "HEAD" else str(len(body))
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: len(body) // 2] if is_cut else body)
            self.close_connection = self.close_connection or is_cut

        def log_message(self, *words: object) -> None:
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}"
    finally:
        proxy.shutdown()
        proxy.server_close()


def test_a_prefix_holds_what_the_directory_holds(example_warehouse, fleet_bucket, warehouse):
    """Every table has the rows it has from the disk, run.json included; objects are known by size and time after."""
    code, summary = ingest(warehouse, f"{fleet_bucket}/fleet")
    assert (0, 126, 1) == (code, summary["new"], summary["ignored"])
    assert facts(example_warehouse) == facts(warehouse)
    assert [(f"{fleet_bucket}/fleet/seeds",)] == rows(warehouse, "SELECT root FROM raw.runs WHERE run_name = 'seeds'")
    code, summary = ingest(warehouse, f"{fleet_bucket}/fleet/")
    assert (0, 0, 126) == (code, summary["new"], summary["known"])


def test_one_object_and_its_siblings(warehouse, fleet_bucket, fleet, server):
    """An object that is named is a dump, compressed ones and split ones too; its run is its prefix."""
    [main] = (fleet / "jaxlib-0.10.0").glob(f"*scalar_add*{SUFFIX}")
    code, summary = ingest(warehouse, f"{fleet_bucket}/fleet/jaxlib-0.10.0/{main.name}")
    assert (0, 1, 1) == (code, summary["seen"], summary["new"])
    assert [("split", "present")] == rows(warehouse, "SELECT file_layout, live_range_state FROM raw.dumps")
    client_of(server).put_object(Bucket="dumps", Key="one/plain.gz", Body=gzip.compress(small_dump(1)))
    code, summary = ingest(warehouse, f"{fleet_bucket}/one/plain.gz")
    assert (0, 1) == (code, summary["new"])
    assert {("jaxlib-0.10.0", main.name), ("one", "plain.gz")} == set(
        rows(warehouse, "SELECT run_name, relative_path FROM raw.observations JOIN raw.runs USING (run_id)")
    )


def test_module_texts_lie_in_buckets(warehouse, fleet_bucket, server):
    """Beside one object that is named, and below a prefix when they come later; of a large one only the head comes."""
    client = client_of(server)
    files = {path.name: path.read_bytes() for path in (DATA / "jaxlib-0.9.0").iterdir()}
    [text] = [name for name in files if not name.endswith(SUFFIX)]
    [dump] = files.keys() - {text}
    for place, names in (("texts/named", [dump, text]), ("texts/late", [dump])):
        for name in names:
            client.put_object(Bucket="dumps", Key=f"{place}/{name}", Body=files[name])
    asked = "SELECT run_name, stack_frames_id IS NULL FROM raw.observations JOIN raw.runs USING (run_id) ORDER BY ALL"
    assert 0 == ingest(warehouse, f"{fleet_bucket}/texts/named/{dump}", "--run", "named")[0]
    assert 0 == ingest(warehouse, f"{fleet_bucket}/texts/late")[0]
    assert [("late", True), ("named", False)] == rows(warehouse, asked)
    sizes = []
    client.put_object(Bucket="dumps", Key=f"texts/late/{text}", Body=files[text] + b" " * (8 << 20))
    read_before = bucket._RemoteFile.readinto

    def counted(file, buffer) -> int:
        sizes.append(read_before(file, buffer))
        return sizes[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket._RemoteFile, "readinto", counted)
        code, summary = ingest(warehouse, f"{fleet_bucket}/texts/late")
    assert (0, 1, {}) == (code, summary["known"], summary["warnings"])
    assert [("late", False), ("late", True), ("named", False)] == rows(warehouse, asked)
    assert 0 < sum(sizes) < 1 << 17


def test_what_lies_beside_dumps_is_read_from_a_bucket(tmp_path, blank_warehouse, from_the_disk, fleet_bucket, server):
    """Protos, options and module texts, also compressed ones and the proto of a dump without a text: as on the disk.

    Below a prefix, and beside one object that is named.
    """
    client = client_of(server)
    for name, data in files_beside().items():
        client.put_object(Bucket="dumps", Key=f"night/{name}", Body=data)
    below, named = (shutil.copy(blank_warehouse, tmp_path / f"{number}.duckdb") for number in range(2))
    code, summary = ingest(below, f"{fleet_bucket}/night")
    assert (0, 7, 7, 0) == (code, *(summary[name] for name in ("seen", "new", "ignored")))
    assert from_the_disk[0] == told_beside(below)
    assert 7 == ingest(below, f"{fleet_bucket}/night")[1]["known"]
    names = [name for name in files_beside() if name.endswith(SUFFIX) or name.startswith("alone/")]
    code, summary = ingest(named, *(f"{fleet_bucket}/night/{name}" for name in names))
    assert (0, 7, 7) == (code, summary["seen"], summary["new"])
    assert from_the_disk[0] == told_beside(named)


# Archives on the disk hold the same every day, and below one is streamed from a bucket.
@pytest.mark.soak
def test_what_lies_beside_dumps_is_read_from_an_archive_in_a_bucket(
    tmp_path, warehouse, from_the_disk, fleet_bucket, server
):
    """As below a prefix."""
    client_of(server).upload_file(
        str(archived(tmp_path / "night.tar.gz", files_beside())), "dumps", "packed/night.tar.gz"
    )
    code, summary = ingest(warehouse, f"{fleet_bucket}/packed/night.tar.gz")
    assert (0, 7, 7, 0) == (code, *(summary[name] for name in ("seen", "new", "ignored")))
    assert from_the_disk[0] == told_beside(warehouse)
    assert 7 == ingest(warehouse, f"{fleet_bucket}/packed/night.tar.gz")[1]["known"]


def test_a_proto_of_a_bucket_comes_late_or_is_damaged(warehouse, fleet_bucket, server):
    """It is read when it comes, and a damaged one is a warning; a proto first and its text later are one dump."""
    client = client_of(server)
    files = {name: data for name, data in files_beside().items() if name.startswith(TPU)}
    [proto] = [name for name in files if name.endswith(".pb")]
    [text] = files.keys() - {proto}
    told = "SELECT COUNT(*), COUNT(heap_events_id), COUNT(proto_fault) FROM staging.observations"
    for key, data, expected in (
        (proto, files[proto], (1, 1, 0)),
        (text, files[text], (1, 1, 0)),
        (proto, files[proto][:-100], (1, 0, 1)),
        (proto, files[proto], (1, 1, 0)),
    ):
        client.put_object(Bucket="dumps", Key=f"late/{key}", Body=data)
        code, summary = ingest(warehouse, f"{fleet_bucket}/late")
        assert (0, 1) == (code, summary["seen"])
        assert [expected] == rows(warehouse, told)
    assert [] == unproved(warehouse)


@pytest.mark.parametrize("kind", [".tar.gz", ".zip"])
def test_an_archive_in_a_bucket_is_streamed(warehouse, tmp_path, fleet_bucket, server, kind):
    """Its members are called s3://bucket/archive!member."""
    path = archived(tmp_path / f"night{kind}", {name_of(number): small_dump(number) for number in range(3)})
    client_of(server).upload_file(str(path), "dumps", path.name)
    code, summary = ingest(warehouse, f"{fleet_bucket}/{path.name}")
    assert (0, 3) == (code, summary["new"])
    assert [("night", f"{fleet_bucket}/{path.name}!{name_of(0)}")] == rows(
        warehouse, "SELECT run_name, MIN(source_uri) FROM raw.observations JOIN raw.runs USING (run_id) GROUP BY ALL"
    )


def test_a_large_bucket_is_read_piece_by_piece(warehouse, fleet_bucket, monkeypatch):
    """However small the piece, all objects come, in order."""
    monkeypatch.setattr(bucket, "_MOST_BYTES_AHEAD", 1)
    whole = discover([f"{fleet_bucket}/fleet/seeds"])
    assert [dump.relative_path for dump in whole.dumps] == [dump.relative_path for dump, _ in read(whole.dumps)]


# A server that fails


def test_a_server_that_fails_every_third_request_is_asked_again(fleet_bucket, fleet, server, monkeypatch):
    """With 500 or 503, without an answer, or with half of one: the dumps are the same, and nobody hears of it."""
    refused = []
    ways = [500, 503, DROPPED, CUT]

    def third(number: int, path: str) -> int | None:
        if number % 3:
            return None
        refused.append(path)
        return ways[len(refused) % len(ways)]

    with before(server, third) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        found = told(discover([f"{fleet_bucket}/fleet"]))
    expected = told(discover([fleet]))
    assert (126, []) == (len(expected[0]), expected[-1])
    assert expected == found
    assert len(refused) > 50


def test_an_archive_in_a_bucket_that_was_packed_anew_is_loaded(tmp_path, warehouse, fleet_bucket, server):
    """Retention removed its run; the members keep the times that they had, so that the time of the object tells."""
    (tmp_path / "bufferhouse.toml").write_text(f'[[sources]]\nname = "a"\npaths = ["{fleet_bucket}/anew"]\n')
    archive = str(archived(tmp_path / "night.tar.gz", {name_of(1): small_dump(1)}))
    client_of(server).upload_file(archive, "dumps", "anew/night.tar.gz")

    def one_pass() -> dict:
        return json.loads(call("ingest", "--config", tmp_path / "bufferhouse.toml", "--format", "json").out)

    assert 1 == one_pass()["new"]
    assert 0 == call("prune", "--keep-runs", 0, "--yes", "--warehouse", warehouse).code
    assert 1 == len(one_pass()["pruned"])
    with duckdb.connect(str(warehouse)) as con:  # as if the object, whose time is in seconds, had come later
        con.execute("UPDATE raw.pruned_runs SET pruned_at = pruned_at - INTERVAL 1 HOUR")
    assert (1, {}) == tuple(one_pass()[name] for name in ("new", "pruned"))


@pytest.fixture
def hundred(fleet_bucket, server, tmp_path, monkeypatch) -> str:
    """An archive in the bucket, of a hundred dumps; it is fetched in small pieces."""
    monkeypatch.setattr(bucket, "_PIECE_BYTES", 4096)
    texts = {name_of(number): small_dump(number) for number in range(100)}
    client_of(server).upload_file(str(archived(tmp_path / "hundred.tar", texts)), "dumps", "hundred.tar")
    return f"{fleet_bucket}/hundred.tar"


def test_an_archive_from_a_server_that_fails_every_third_request(warehouse, hundred, server, monkeypatch):
    """It is streamed over many requests, and none that fails is missed."""
    ways = [500, 503, DROPPED, CUT]
    with before(server, lambda number, _: None if number % 3 else ways[number // 3 % 4]) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        code, summary = ingest(warehouse, hundred)
    assert (0, 100, []) == (code, summary["new"], summary["unreadable"])


# To refuse and to drop stop the batches below, too; half of an answer could be taken for the end of an archive.
@pytest.mark.parametrize("way", [CUT, *(pytest.param(way, marks=pytest.mark.soak) for way in (503, DROPPED))])
def test_an_archive_from_a_server_that_goes_away(warehouse, hundred, server, monkeypatch, way):
    """Exit 3, and the half of the archive that came is no whole one: nothing of it is loaded, or refused."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    asked = []
    with before(server, lambda number, _: asked.append(number)) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        assert 0 == call("ingest", hundred, "--warehouse", warehouse, "--plan").code
    with before(server, lambda number, _: way if number > 0.8 * len(asked) else None) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        outcome = call("ingest", hundred, "--warehouse", warehouse)
    assert (3, "") == (outcome.code, outcome.out)
    assert "cannot be reached: " in outcome.err
    assert (0, 0, 0) == tuple(counts(warehouse)[table] for table in ("dumps", "rejects", "loads"))


@pytest.mark.slow
@pytest.mark.parametrize("way", [DROPPED, pytest.param(503, marks=pytest.mark.soak)])
def test_a_server_that_goes_away_leaves_whole_batches(warehouse, fleet_bucket, server, monkeypatch, way):
    """Exit 3 with the object that could not be read; what was committed is whole, the same command ends the work."""
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "25")
    with before(server, lambda number, _: way if number > 80 else None) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        outcome = call("ingest", f"{fleet_bucket}/fleet", "--warehouse", warehouse)
    assert (3, "") == (outcome.code, outcome.out)
    assert "cannot be reached: " in outcome.err
    assert "what was committed is kept, try again later" in outcome.err
    tables = counts(warehouse)
    assert 0 < tables["dumps"] < 126
    assert [(tables["dumps"], tables["observations"])] == rows(
        warehouse, "SELECT SUM(new_count), SUM(new_count + known_count) FROM raw.loads"
    )
    assert [] == unproved(warehouse)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    monkeypatch.delenv("BUFFERHOUSE_BATCH_DUMPS")
    outcome = call("ingest", f"{fleet_bucket}/fleet", "--warehouse", warehouse)
    assert 0 == outcome.code, outcome.err
    assert 126 == counts(warehouse)["observations"]


def test_a_server_that_is_not_there_is_said_before_anything_is_loaded(warehouse, monkeypatch):
    """Exit 3, and the warehouse is as it was."""
    before_it = contents(warehouse)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for source in ("s3://dumps/fleet", "s3://dumps/x.tar.gz"):
        outcome = call("ingest", source, "--warehouse", warehouse)
        assert (3, "") == (outcome.code, outcome.out)
        assert "cannot be reached: " in outcome.err
    assert before_it == contents(warehouse)


def test_one_object_that_is_forbidden_stops_only_itself(warehouse, fleet_bucket, server, monkeypatch):
    """It is named, exit 1, and the others load; where nothing may be listed, the call is wrong."""
    for number in range(3):
        client_of(server).put_object(Bucket="dumps", Key=f"run/{name_of(number)}", Body=small_dump(number))
    forbidden = name_of(1)

    def guard(_: int, path: str) -> int | None:
        return 403 if path.endswith(forbidden) else None

    with before(server, guard) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        code, summary = ingest(warehouse, f"{fleet_bucket}/run")
    assert (1, 2, 1) == (code, summary["new"], len(summary["unreadable"]))
    assert summary["unreadable"][0].startswith(f"{fleet_bucket}/run/{forbidden}: ")
    # What the server said is told once, without its XML.
    assert summary["unreadable"][0].endswith("403 Forbidden: AccessDenied: Not yours; give keys that may do this")
    with before(server, lambda *_: 403) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
        outcome = call("ingest", f"{fleet_bucket}/fleet", "--warehouse", warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert "403" in outcome.err


# Wrong calls, and who one is


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("s3://no-such-bucket/x", "no such bucket"),
        ("s3://no-such-bucket", "no such bucket"),
        ("s3://dumps/nothing/here", "no object of that name"),
        ("s3://dumps/nothing.zip", "no object of that name"),
        ("s3://dumps/*.zip", "no object of that name; a glob is not taken there, name the prefix before it"),
        ("s3://dumps/*/here", "or below it; a glob is not taken there, name the prefix before it"),
        ("s3://", "expected s3://BUCKET/PREFIX"),
    ],
)
def test_what_is_not_there_is_a_wrong_call(warehouse, fleet_bucket, source, message):
    """Exit 2, naming it: trying again would not help."""
    outcome = call("ingest", source, "--warehouse", warehouse)
    assert (2, "") == (outcome.code, outcome.out)
    assert message in outcome.err


def profile_files(home: Path, **files: str) -> None:
    (home / ".aws").mkdir()
    for name, text in files.items():
        (home / ".aws" / name).write_text(text)


def test_a_profile_says_who_one_is(warehouse, fleet_bucket, server, tmp_path, monkeypatch):
    """Keys, region and endpoint from ~/.aws, by $AWS_PROFILE, when the environment says nothing."""
    for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_PROFILE", "night")
    profile_files(
        tmp_path,
        config=f"[profile night]\nregion = us-east-1\nendpoint_url = {server}\n",
        credentials="[night]\naws_access_key_id = who\naws_secret_access_key = se%cret\n",
    )
    assert {
        "access_key_id": "who", "secret_access_key": "se%cret", "region": "us-east-1", "endpoint": server,
    } == configuration()  # fmt: skip
    code, summary = ingest(warehouse, f"{fleet_bucket}/fleet/seeds")
    assert (0, 5) == (code, summary["new"])


def test_the_environment_is_stronger_than_a_profile(tmp_path, monkeypatch, server):
    """And keys are never half of one and half of the other."""
    profile_files(
        tmp_path,
        config="[default]\nregion = eu-west-1\n",
        credentials="[default]\naws_access_key_id = other\naws_secret_access_key = x\naws_session_token = old\n",
    )
    assert {
        "access_key_id": "who", "secret_access_key": "secret", "region": "us-east-1", "endpoint": server,
    } == configuration()  # fmt: skip
    for name in ("AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    expected = {"access_key_id": "other", "secret_access_key": "x", "session_token": "old", "region": "eu-west-1"}
    assert {**expected, "endpoint": server} == configuration()


def test_a_profile_that_is_not_there_is_a_wrong_call(monkeypatch):
    """As AWS tools say."""
    monkeypatch.setenv("AWS_PROFILE", "gone")
    with pytest.raises(UsageError, match="no profile 'gone'"):
        configuration()


def test_logs_in_a_bucket_are_read_beside_their_dumps(server, warehouse):
    """By `oom`, and by an ingest, which keeps their messages; an object that is a log is one."""
    client = client_of(server)
    client.create_bucket(Bucket="failures")
    for path in sorted((FOLDER / "libtpu-0.0.33" / "kv").iterdir()):
        client.put_object(Bucket="failures", Key=f"kv/{path.name}", Body=path.read_bytes())
    said = call("oom", "s3://failures/kv", "--format", "json")
    [finding] = [one for one in json.loads(said.out)["findings"] if one["is_failure"]]
    assert (1, "s3://failures/kv/stderr.txt") == (said.code, finding["log"])
    assert finding["dump"].startswith("s3://failures/kv/module_0001.")
    alone = call("oom", "s3://failures/kv/stderr.txt", "--format", "json")
    assert [None] == [one["dump"] for one in json.loads(alone.out)["findings"] if one["is_failure"]]
    assert 0 == call("ingest", "s3://failures/kv", "--warehouse", warehouse).code
    assert [("stderr.txt", True)] == rows(
        warehouse, "SELECT log_path, is_reproduced FROM marts.oom_v1 WHERE is_failure"
    )


def test_the_mark_of_a_folder_is_no_dump(server, tmp_path, warehouse):
    """Consoles make an empty object whose key ends in a slash. Below a prefix archives are opened as in a folder."""
    client = client_of(server)
    client.create_bucket(Bucket="folders")
    [dump] = write_dumps(tmp_path / "r1", [1])
    for key, data in (("night/", b""), ("night/r1/", b""), (f"night/r1/{dump.name}", dump.read_bytes())):
        client.put_object(Bucket="folders", Key=key, Body=data)
    for source in ("s3://folders/night", "s3://folders/night/", "s3://folders"):
        found = discover([source])
        assert ([("r1", dump.name)], []) == ([(one.run_name, one.relative_path) for one in found.dumps], found.refused)
    with tarfile.open(tmp_path / "r2.tar", "w") as archive:
        archive.add(dump, dump.name)
    client.put_object(Bucket="folders", Key="archives/r2.tar", Body=(tmp_path / "r2.tar").read_bytes())
    assert [("r2", dump.name)] == [
        (one.run_name, one.relative_path) for one in discover(["s3://folders/archives"]).dumps
    ]
    of_one = Config(sources=[{"name": "one", "paths": [f"s3://folders/night/r1/{dump.name}"]}])
    assert 0 == call("ingest", *of_one.sources[0]["paths"], "--warehouse", warehouse).code
    with duckdb.connect(str(warehouse), read_only=True) as con:
        assert 1 == freshness(con, of_one)["one"].observation_count


def test_a_key_that_is_no_path_is_named(server):
    """Trying again would not help: obstore takes no such key."""
    client = client_of(server)
    client.create_bucket(Bucket="odd")
    client.put_object(Bucket="odd", Key="a//b.txt", Body=b"x")
    with pytest.raises(UsageError, match=r'^s3://odd: .*"a//b\.txt"'):
        discover(["s3://odd"])


def test_without_keys_they_are_asked_for(monkeypatch):
    """A machine outside EC2 has no role of its own; the address where one is asked for is nobody's business."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(UsageError, match=r"^the S3 keys: expected .* found one of them alone$"):
        discover(["s3://dumps"])
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(UsageError, match=r"^s3://dumps: expected keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"):
        discover(["s3://dumps"])
