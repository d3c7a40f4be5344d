"""Secrets in the forms in which libraries, servers and people write them, and the ways on which they could be told."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.command_line import CHECKOUT

SECRET = "hunter22Zz"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodW50ZXIifQ.aHVudGVyMjJaeg"
FORMS = (
    "postgresql://u:hunter22Zz@h/db",
    "postgres://u:hunter22Zz@h:5432/db?sslmode=require",
    "POSTGRESQL://u:hunter22Zz@h",
    "postgresql://u:p@hunter22Zz@h/db",
    "postgresql://u:a/hunter22Zz#b@h/db",
    "postgresql://u:a?hunter22Zz@h/db",
    "postgresql://:hunter22Zz@h/db",
    "postgresql://u:hunter22Zz@[::1]:5432/db",
    "postgresql+asyncpg://prefect:hunter22Zz@postgres:5432/prefect",
    "jdbc:postgresql://h/db?user=u&password=hunter22Zz",
    "mysql://root:hunter22Zz@h",
    "amqp://u:hunter22Zz@h//",
    "redis://:hunter22Zz@h:6379/0",
    "http://u:hunter22Zz@minio:9000",
    "https://u:hunter22Zz@minio:9000/bucket/key?x=1",
    "//u:hunter22Zz@minio/x",
    "http_proxy=http://u:hunter22Zz@proxy:3128/",
    "https://hunter22Zzhunter22Zz@github.com/a/b",
    "s3://AKIA:hunter22Zz@bucket/key",
    "url='tls://u:hunter22Zz@scheduler:8786'",
    "postgresql%3A%2F%2Fu%3Ahunter22Zz%40h%2Fdb",
    "dbname=lake host=h password=hunter22Zz user=u",
    "dbname=lake password = hunter22Zz",
    "password='hunter22Zz with spaces'",
    "password='it\\'s hunter22Zz'",
    "password=back\\ slash\\ hunter22Zz",
    'password="hunter22Zz"',
    "password='hunter22Zz",
    "PASSWORD=hunter22Zz",
    "sslpassword=hunter22Zz",
    "pass%77ord=hunter22Zz",
    "p%61ssword=hunter22Zz&dbname=x",
    "postgresql://h/db?pass%2577ord=hunter22Zz",
    "postgresql://h/db?sslpassword=hunter22Zz&sslkey=k",
    "postgresql://h/db?user=u&password=hunter22Zz&sslmode=x",
    "ducklake:postgres:host=h passwd=hunter22Zz",
    "Server=h;Uid=u;Pwd=hunter22Zz;Database=d",
    "PWD={hunter22Zz;{x};Server=h",
    "AccountName=a;AccountKey=hunter22Zz==;EndpointSuffix=core",
    "https://a.blob.core.windows.net/c?sv=1&sig=hunter22Zz",
    "aws_secret_access_key = hunter22Zz",
    "AWS_SECRET_ACCESS_KEY=hunter22Zz",
    "AWS_SESSION_TOKEN=hunter22Zz//x",
    "secret_access_key='hunter22Zz'",
    "{'secret_access_key': 'hunter22Zz', 'region': 'x'}",
    '{"password": "hunter22Zz"}',
    '{"api_key":"hunter22Zz"}',
    'dsn="host=h password=hunter22Zz user=u"',
    'connection to "host=h password=hunter22Zz" failed',
    '{\\"password\\": \\"hunter22Zz\\"}',
    "S3Config { access_key_id: x, secret_access_key: hunter22Zz }",
    "<Error><SecretAccessKey>hunter22Zz</SecretAccessKey></Error>",
    "<Token>hunter22Zz</Token>",
    "GET /b?X-Amz-Algorithm=a&X-Amz-Credential=hunter22Zz%2F2026&X-Amz-Signature=hunter22Zz",
    "X-Amz-Security-Token=hunter22Zz&x=1",
    "x-amz-security-token: hunter22Zz",
    "Authorization: AWS4-HMAC-SHA256 Credential=hunter22Zz/2026, SignedHeaders=host, Signature=hunter22Zz",
    "Authorization: Basic dTpodW50ZXIyMlp6hunter22Zz",
    "authorization: Bearer hunter22Zz",
    "'Authorization': 'Bearer hunter22Zz'",
    "Proxy-Authorization: Digest username=u, response=hunter22Zz",
    "got Bearer hunter22Zz.x",
    "Cookie: session=hunter22Zz; other=hunter22Zz",
    "Set-Cookie: a=hunter22Zz",
    "PREFECT_API_KEY=hunter22Zz",
    "PREFECT_API_AUTH_STRING=bufferhouse:hunter22Zz",
    "auth=u:hunter22Zz",
    "CREATE USER x WITH PASSWORD 'hunter22Zz'",
    "CREATE SECRET (TYPE s3, KEY_ID 'k', SECRET 'hunter22Zz', SESSION_TOKEN 'hunter22Zz')",
    "ALTER ROLE x PASSWORD 'it''s hunter22Zz'",
    "prefect --password hunter22Zz --name x",
    "curl --token=hunter22Zz",
    "client_secret=hunter22Zz",
    "oauth_client_secret: hunter22Zz",
    "passphrase: hunter22Zz",
    "pw=hunter22Zz",
    "-----BEGIN RSA PRIVATE KEY-----\nhunter22Zz\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\nhunter22Zz, cut",
)
# What is no secret and must be told as it is.
HARMLESS = (
    "s3://bucket/run@2026/module_1-buffer-assignment.txt",
    "http://minio:9000/bucket/a@b",
    "postgresql://u@h:5432/db?sslmode=require",
    "dbname=lake host=h user=u passfile=/home/u/.pgpass require_auth=scram-sha-256",
    "run.json:3:7: expected JSON, found Expecting ',' delimiter",
    "there is no run 'tokenizer'; runs that have jit_token_embed: a, b",
    'FATAL:  password authentication failed for user "u"',
    "jit(step)/while/body/secretary[dimension_numbers=(((1,), (0,)), ((), ()))]",
    "expected a catalog without a password, which $PGPASSWORD or the file $PGPASSFILE holds",
    "module_0001.jit_auth.cpu_after_optimizations-buffer-assignment.txt:12:3: expected a token, found 'x'",
    "12 passes: 3 new, 4 known",
)


class _Bucket(BaseHTTPRequestHandler):
    """An S3 server that tells all it knows in its refusals."""

    def do_GET(self) -> None:
        said = f"{' '.join(FORMS[:3])} key {SECRET} {self.headers.get('authorization')}"
        body = f"<Error><Code>AccessDenied</Code><Message>{said}</Message></Error>".encode()
        self.send_response(403)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_PUT = do_HEAD = do_GET

    def log_message(self, *words: object) -> None:
        pass


def told(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield what commands say that meet servers and addresses with secrets: what was tried, and both streams."""
    with HTTPServer(("127.0.0.1", 0), _Bucket) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        keys = {"AWS_ACCESS_KEY_ID": "AKIAABCDEFGHIJKLMNOP", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "x"}
        keys |= {"AWS_MAX_ATTEMPTS": "1", "PGPASSWORD": SECRET, "PGCONNECT_TIMEOUT": "2"}
        bucket, lake = ["ingest", "s3://bucket/x"], ["stats", "--warehouse"]
        (folder / "secrets.toml").write_text(
            f'[flows]\ntask_runner = "dask"\ndask_address = "tls://u:{SECRET}@127.0.0.1:9"\n'
            f'[report]\ntarget = "s3://u:{SECRET}@bucket/x"\n'
            f'[[sources]]\nname = "a"\npaths = ["s3://u:{SECRET}@bucket/x"]\n'
        )
        configured = ["--config", str(folder / "secrets.toml")]
        tries = [
            ("an endpoint that answers", bucket, {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}),
            ("an endpoint with a password", bucket, {"AWS_ENDPOINT_URL": f"http://u:{SECRET}@127.0.0.1:9"}),
            ("an endpoint that is none", bucket, {"AWS_ENDPOINT_URL": f"nonsense://u:{SECRET}@h h"}),
            ("a bucket with a password", ["ingest", f"s3://u:{SECRET}@bucket/x"], {}),
            ("a source with a password", ["ingest", f"http://u:{SECRET}@h/x"], {}),
            ("a lake that does not answer", [*lake, "ducklake:postgres:host=127.0.0.1 port=9 dbname=x user=u"], {}),
            ("a lake with a password", [*lake, f"ducklake:postgres:host=h password={SECRET}"], {}),
            ("a lake with a hidden password", [*lake, f"ducklake:postgres:postgresql://h/d?pass%77ord={SECRET}"], {}),
            ("a lake with a key's password", [*lake, f"ducklake:postgres:host=h sslpassword={SECRET}"], {}),
            ("a lake with a user's password", [*lake, f"ducklake:postgres:postgresql://u:{SECRET}@h/d"], {}),
            ("a data path", [*lake, "x.duckdb", "--data-path", f"s3://u:{SECRET}@b/x"], {}),
            ("the configuration", ["config", "check", *configured], {}),
            ("a configured source", ["ingest", *configured, "--warehouse", str(folder / "s.duckdb")], {}),
            ("an option that is none", ["stats", f"--password={SECRET}"], {}),
            ("a statement", ["query", f"SELECT postgres_scan('password={SECRET}') FROM", "--from", str(folder)], {}),
        ]
        for what, words, more in tries:
            done = subprocess.run(
                [sys.executable, "-m", "bufferhouse.cli", *words], capture_output=True, text=True, timeout=240,
                cwd=folder, env={**os.environ, "PYTHONPATH": str(CHECKOUT), **keys, **more},
            )  # fmt: skip
            yield what, done.stdout + done.stderr
        server.shutdown()
