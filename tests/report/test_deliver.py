"""Reports where people look for them."""

import logging

import boto3
import pytest
from moto.server import ThreadedMotoServer

from bufferhouse.errors import UsageError
from bufferhouse.report.site.target import target_of
from bufferhouse.report.writing import link_to

PAGE = "<!doctype html>é".encode()


@pytest.fixture(scope="module")
def store():
    """A client of an S3 server with one bucket, and the server's URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client(
        "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="who", aws_secret_access_key="secret"
    )
    client.create_bucket(Bucket="reports")
    yield client, url
    server.stop()


def test_a_page_in_a_folder_takes_the_place_of_the_last_one(tmp_path):
    """The folder is made; what lies there is the newest page, and nothing else."""
    target = tmp_path / "a" / "b"
    target_of(str(target)).write([("fleet.html", b"old")])
    target_of(str(target)).write([("fleet.html", PAGE), ("history/x.html", PAGE)])
    assert PAGE == (target / "fleet.html").read_bytes()
    assert ["fleet.html", "history", "x.html"] == sorted(path.name for path in target.rglob("*"))


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    """The error names the file and the reason."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"the site cannot be written to .*fleet\.html: Not a directory"):
        target_of(str(tmp_path / "file" / "site")).write([("fleet.html", PAGE)])


def test_a_page_in_a_bucket_is_a_page_to_a_browser(store, monkeypatch):
    """The object has the bytes and the content type; a bucket that is not there is said."""
    client, url = store
    for name, value in {
        "AWS_ENDPOINT_URL": url, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "who",
        "AWS_SECRET_ACCESS_KEY": "secret", "AWS_MAX_ATTEMPTS": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    target_of("s3://reports/x/").write([("fleet.html", PAGE)])
    found = client.get_object(Bucket="reports", Key="x/fleet.html")
    assert (PAGE, "text/html; charset=utf-8") == (found["Body"].read(), found["ContentType"])
    with pytest.raises(UsageError, match="there is no such bucket"):
        target_of("s3://none/x").write([("fleet.html", PAGE)])


@pytest.mark.parametrize(
    ("place", "seen_at", "expected"),
    [
        ("/srv/a b/fleet.html", None, "file:///srv/a%20b/fleet.html"),
        ("s3://reports/fleet.html", None, "s3://reports/fleet.html"),
        ("/srv/fleet.html", "https://reports.example/x/", "https://reports.example/x/fleet.html"),
    ],
)
def test_the_link_leads_where_people_see_it(place, seen_at, expected):
    """The address they use where there is one, else the place itself."""
    assert expected == link_to(place, "fleet.html", seen_at)
