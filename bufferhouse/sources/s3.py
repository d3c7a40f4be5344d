"""Clients of S3 and whatever speaks its protocol, through obstore.

Endpoint, region and credentials are taken the way AWS tools take them: the environment (AWS_ENDPOINT_URL,
AWS_REGION, AWS_ACCESS_KEY_ID, …), else the profile AWS_PROFILE in ~/.aws/config and ~/.aws/credentials, else the
instance's own role.
"""

import configparser
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import obstore
from obstore.store import S3Store

from bufferhouse.errors import SourceUnavailable, UsageError, given_number
from bufferhouse.redaction import printable, redacted, remember

_ENDPOINT = re.compile(r"https?://[!-~]+")
# What the server will not answer otherwise the next time; or the key of an object, such as a//b, that is no path.
_REFUSED = re.compile(r"status code: 4(?!08|29)\d\d|object with invalid path")
_ELSEWHERE = "redirect without LOCATION"  # the bucket is in another region
_OWN_ROLE = "//169.254.169.254/"  # where a machine of EC2 is asked for it, when there are no keys
KEYS_WANTED = "expected keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the profile $AWS_PROFILE"
_SECRETS = ("access_key_id", "secret_access_key", "session_token")
_PROFILE_KEYS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}


def configuration() -> dict[str, str]:
    """Return what environment and profile say, in obstore's names; the environment wins.

    Raises:
        UsageError: $AWS_PROFILE names a profile that neither file has, or a key is there without its secret.
    """
    profile = os.environ.get("AWS_PROFILE") or "default"
    found: dict[str, str] = {}
    is_there = profile == "default"
    for variable, default, section in (
        ("AWS_CONFIG_FILE", "~/.aws/config", profile if profile == "default" else f"profile {profile}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", profile),
    ):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(Path(os.environ.get(variable) or default).expanduser())
        if parser.has_section(section):
            is_there = True
            found.update({name: parser[section][key] for key, name in _PROFILE_KEYS.items() if key in parser[section]})
    if not is_there:
        raise UsageError(f"$AWS_PROFILE: there is no profile {profile!r} in ~/.aws/config or ~/.aws/credentials")
    if os.environ.get("AWS_ACCESS_KEY_ID"):
        found = {name: value for name, value in found.items() if name not in _SECRETS}  # never half of each
    for variable, name in (
        ("AWS_DEFAULT_REGION", "region"),
        ("AWS_REGION", "region"),
        ("AWS_ENDPOINT_URL", "endpoint"),
        ("AWS_ENDPOINT_URL_S3", "endpoint"),
        ("AWS_ACCESS_KEY_ID", "access_key_id"),
        ("AWS_SECRET_ACCESS_KEY", "secret_access_key"),
        ("AWS_SESSION_TOKEN", "session_token"),
    ):
        if os.environ.get(variable):
            found[name] = os.environ[variable]
    if "endpoint" in found and not _ENDPOINT.fullmatch(found["endpoint"]):
        raise UsageError(f"the S3 endpoint: expected http://HOST:PORT or https://HOST, found {found['endpoint']}")
    if ("access_key_id" in found) != ("secret_access_key" in found):
        raise UsageError("the S3 keys: expected AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, found one of them alone")
    for name in _SECRETS[1:]:
        remember(found.get(name))
    return found


def tries() -> int:
    """Return how often what fails is tried: $AWS_MAX_ATTEMPTS times, else 9.

    Raises:
        UsageError: the variable is no number of at least 1.
    """
    return given_number("AWS_MAX_ATTEMPTS", 9)


def open_store(bucket: str) -> Any:
    """Return obstore's client of a bucket, which tries again what fails, up to $AWS_MAX_ATTEMPTS times."""
    settings = configuration()
    return S3Store(
        bucket,
        **settings,
        client_options={
            "allow_http": settings.get("endpoint", "").startswith("http://"),
            "timeout": timedelta(seconds=60),
            "connect_timeout": timedelta(seconds=5),
        },
        retry_config={
            "max_retries": tries() - 1,
            "retry_timeout": timedelta(seconds=30),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=3),
                "base": 2,
            },
        },
    )


class Store:
    """The objects below a prefix, given as an s3:// URL; one client for all of them."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._bucket, _, self._prefix = self.url.removeprefix("s3://").partition("/")

    @cached_property
    def _store(self) -> Any:  # opened where it is used, so that what it says is said of the object
        return open_store(self._bucket)

    def _key(self, name: str) -> str:
        return f"{self._prefix}/{name}".lstrip("/")

    def put(self, name: str, data: bytes, content_type: str) -> None:
        """Write an object below the prefix, in the place of one that is there.

        Raises:
            SourceUnavailable: the store does not answer, also after several tries.
            UsageError: there is no such bucket, or it may not be written to.
        """
        with reached(f"{self.url}/{name}"):
            obstore.put(self._store, self._key(name), data, attributes={"Content-Type": content_type})

    def remove(self, name: str) -> None:
        """Remove an object below the prefix, there or not.

        Raises:
            SourceUnavailable, UsageError: as `put`.
        """
        with reached(f"{self.url}/{name}"):
            obstore.delete(self._store, self._key(name))

    def get(self, name: str) -> bytes | None:
        """Return an object below the prefix, None where there is none.

        Raises:
            SourceUnavailable, UsageError: as `put`.
        """
        with reached(f"{self.url}/{name}"), suppress(FileNotFoundError):
            return bytes(obstore.get(self._store, self._key(name)).bytes())
        return None

    def names(self) -> list[str]:
        """Return the names of all objects below the prefix.

        Raises:
            SourceUnavailable, UsageError: as `put`.
        """
        with reached(self.url):
            return list(self._names())

    def any_name(self, ending: str, beginning: str = "") -> str | None:
        """Return the name of an object below the prefix that begins and ends so, None where there is none.

        Raises:
            SourceUnavailable, UsageError: as `put`.
        """
        with reached(self.url):
            names = (name for name in self._names() if name.startswith(beginning) and name.endswith(ending))
            return next(names, None)

    def _names(self) -> Iterator[str]:
        prefix = self._key("")
        for batch in obstore.list(self._store, prefix or None):
            yield from (entry["path"].removeprefix(prefix) for entry in batch)


@contextmanager
def reached(place: str) -> Iterator[None]:
    """Raise in one line what obstore says in pages.

    Raises:
        SourceUnavailable, UsageError: as `unavailable`.
    """
    try:
        yield
    except Exception as error:
        raise unavailable(place, error) from None


def unavailable(place: str, error: Exception) -> Exception:
    """Return what to raise for an error of obstore: UsageError where trying again does not help."""
    place = printable(place)  # the key of an object may hold line feeds
    if "NoSuchBucket" in str(error):
        return UsageError(f"{place}: there is no such bucket")
    if _OWN_ROLE in str(error):
        return UsageError(f"{place}: {KEYS_WANTED}; this machine has no role of its own")
    reason = reason_of(error)
    if _ELSEWHERE in str(error):
        return UsageError(f"{place}: {reason}; name the region of the bucket in AWS_REGION")
    if _REFUSED.search(str(error)):
        return UsageError(f"{place}: {reason}")
    return SourceUnavailable(f"{place} cannot be reached: {reason}; what was committed is kept, try again later")


def reason_of(error: Exception) -> str:
    """Return the first line of an error of obstore, and what the server said; behind it come pages for its authors."""
    first = next((line.strip() for line in str(error).split("\n") if line.strip()), type(error).__name__)
    said = [match[1] for name in ("Code", "Message") if (match := re.search(rf"<{name}>([^<]*)</{name}>", str(error)))]
    if said and "Expired" in said[0]:
        return f"{redacted(': '.join(said))}; renew the credentials and try again"
    if said:
        first = first.partition(": <")[0]  # the server's answer as XML, of which code and message are told
    way_out = "; give keys that may do this" if said[:1] == ["AccessDenied"] else ""
    return ": ".join([redacted(first)[:500], *map(redacted, said)]) + way_out
