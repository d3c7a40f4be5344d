"""An S3 server in a process of its own, which can be told to fail: `python -m tests.servers.failing_bucket PORT`.

`PUT /-/fail-every/N` lets it refuse every N-th request from then on, with 500 and 503 in turn; 0 lets it answer all.
`PUT /-/refuse-writes/CODE` lets it refuse whatever would change an object: AccessDenied, as where keys may not,
ExpiredToken, as where they are too old, or NoSuchBucket, as where the bucket is gone; NONE lets it take all.
`GET /-/requests` tells how many requests there were, and how many of them were refused.
"""

import json
import logging
import sys
import threading
from collections.abc import Iterable

from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

_REFUSALS = {
    "AccessDenied": "403 Forbidden",
    "NoSuchBucket": "404 Not Found",
    "ExpiredToken": "400 Bad Request",
    "PermanentRedirect": "301 Moved Permanently",
}
_ERRORS = (("500 Internal Server Error", "InternalError"), ("503 Service Unavailable", "SlowDown"))


class Failing:
    """A WSGI application before another one."""

    def __init__(self, application) -> None:
        self.application = application
        self.fail_every = 0
        self.refusal: str | None = None
        self.requests = self.refused = 0
        self._lock = threading.Lock()

    def __call__(self, environ: dict, start_response) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path.startswith("/-/"):
            return self._told(path.removeprefix("/-/"), start_response)
        with self._lock:
            self.requests += 1
            fails = self.fail_every and self.requests % self.fail_every == 0
            self.refused += bool(fails)
            status, code = _ERRORS[self.refused % len(_ERRORS)]
        if self.refusal in _REFUSALS and environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            fails, status, code = True, _REFUSALS[self.refusal], self.refusal
        if not fails:
            return self.application(environ, start_response)
        length = int(environ.get("CONTENT_LENGTH") or 0)
        while length > 0 and (piece := environ["wsgi.input"].read(min(length, 1 << 20))):
            length -= len(piece)  # what the client has sent still stands in the way of its next request
        start_response(status, [("Content-Type", "application/xml")])
        return [f"<Error><Code>{code}</Code><Message>told to fail</Message></Error>".encode()]

    def _told(self, words: str, start_response) -> Iterable[bytes]:
        if words.startswith("fail-every/"):
            self.fail_every = int(words.rpartition("/")[2])
        if words.startswith("refuse-writes/"):
            self.refusal = words.rpartition("/")[2]
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps({"requests": self.requests, "refused": self.refused}).encode()]


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = Failing(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), application, threaded=True, request_handler=MotoRequestHandler)
