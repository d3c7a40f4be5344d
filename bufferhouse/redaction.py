"""What leaves for people: text that tells no secret and that no terminal obeys.

`redacted` is the only redactor. Messages, logs, artifacts, events and pages pass through it at their exits; errors that
end a command do so when they are made. What `query` and `export` answer is data, and stays as it is.
"""

import base64
import codecs
import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, TextIO
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
_SHORTEST = 6  # characters of a secret that is hidden wherever it stands; a shorter one would hide words
_remembered: set[str] = set()

# Variables whose values are secrets.
_VARIABLE = re.compile(r"PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|AUTH_STRING|CREDENTIALS?$|DATABASE_CONNECTION_URL")
# Names of values that are secrets, without what separates their words. The first end a name, the others are all of it.
_SECRET = re.compile(
    r".*(?:passw(?:or)?d|passphrase|secret|secretkey|token|apikey|accesskey|accountkey|privatekey|authstring)"
    r"|pass|pwd|pw|sig|auth|(?:proxy|)authorization|(?:set|)cookie|(?:xamz|xgoog|)(?:signature|credential)"
)
# Those that are told as `name: value`, too; of the last the value is the rest of the line.
_TOLD = re.compile(
    r".*(?:passw(?:or)?d|passphrase|secret|secretkey|apikey|secretaccesskey|securitytoken|sessiontoken|authstring)|pwd"
    r"|(?:proxy|)authorization|(?:set|)cookie"
)
_HEADER = re.compile(r"(?:proxy|)authorization|(?:set|)cookie")
_STATED = re.compile(r".*(?:passw(?:or)?d|secret|sessiontoken)")  # PASSWORD '…', as SQL states it
_NAME = re.compile(
    r"(?:(?P<option>(?<![\w-])--)|(?<![\w%.\-]))(?P<name>[\w%][\w%.\-]{0,99})(?P<quoted>\\*[\"'])?"
    r"(?P<sign>\s*(?:=>|:=|=|:)\s*|\s+(?=['\"])|(?(option)\s+|(?!)))"
)
_VALUE = re.compile(
    r"""\\*'(?:[^'\\]|\\.|''|'(?=\w))*'?|\\*"(?:[^"\\]|\\.|"(?=\w))*"?|\{[^}]*\}?"""
    r"""|(?:\\+\s|\\.|(?![&;,]\s*[\w%.\-]+=)\S)+""",
    re.DOTALL,
)
_QUOTED = re.compile(r"(\\*['\"]).*\1", re.DOTALL)
_REST = re.compile(r"[^\r\n]*")
_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), shown)
    for pattern, shown in (
        # user:password@ of an address; a port is no password. A password may hold @, / and #.
        (
            r"//[^\s/@:\"'<>]{0,200}:(?!\d{1,5}(?:[/?#\s]|$))[^\s\"'<>@]{0,1000}@(?:[^\s\"'<>]{0,1000}@)?",
            f"//{HIDDEN}@",
        ),
        (r"//[^\s/@:?#\"'<>]{20,1000}@", f"//{HIDDEN}@"),
        (r"%3a%2f%2f[^\s\"'<>]{0,1000}?%40", f"%3A%2F%2F{HIDDEN}%40"),
        (r"<(\w{0,99}(?:password|secret|secretaccesskey|token|sessiontoken))>[^<]+", rf"<\1>{HIDDEN}"),
        (r"\b(basic|bearer|digest|token) +(?=[\w+/.~-]*[\d=_.])[\w+/=.~-]{8,}", rf"\1 {HIDDEN}"),
        (r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?", HIDDEN),
        (r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", HIDDEN),
        (r"\b(?:gh[pousr]_|github_pat_|glpat-|pn[ub]_|xox[a-z]-|AIza|sk-)[\w-]{16,}", HIDDEN),
        (r"-----BEGIN [\w ]{0,40}PRIVATE KEY-----.*?(?:-----END [\w ]{0,40}PRIVATE KEY-----|$)", HIDDEN),
    )
)
# What stands in each text that has such a name, or fits such a pattern: a page has thousands of texts without any.
_NAME_MARKS = ("pass", "pw", "secret", "token", "key", "sig", "cred", "auth", "cookie", "%")
_PATTERN_MARKS = (
    *("@", "%40", "<", "eyj", "kia", "sia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "_pat_", "glpat", "pnu_", "pnb_"),
    *("xox", "aiza", "sk-", "-----", "basic", "bearer", "digest", "token"),
)


def remember(secret: str | None) -> None:
    """Hide a secret from now on, wherever it stands."""
    if secret:
        _remembered.add(secret)


def redactor() -> Callable[[str], str]:
    """Return `redacted` with the secrets that are known now, for many texts."""
    # A secret may be a word of a name, as in `client_secret=`: what could be one is hidden after the values of names.
    first, last = _any_of(frozenset(_secrets()))

    def redact(text: str) -> str:
        text = first.sub(HIDDEN, text) if first else text
        folded = text.casefold()
        if any(mark in folded for mark in _PATTERN_MARKS):
            for pattern, shown in _PATTERNS:
                text = pattern.sub(shown, text)
        if any(mark in folded for mark in _NAME_MARKS):
            text = "".join(_without_values(text))
        return last.sub(HIDDEN, text) if last else text

    return redact


def redacted(text: str) -> str:
    """Return a text without passwords, keys and tokens: those this process knows, and what stands where they stand."""
    return redactor()(text)


def printable(text: str) -> str:
    """Return text on one line without what a terminal or a browser would obey, each such character as its escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def shell_word(text: str) -> str:
    """Return text as one word of a shell, on one line without what a terminal would obey, for commands to be copied.

    What quotes cannot hold without being printed as it is stands as an escape in $'…', which a shell reads again.
    """
    quoted = shlex.quote(text)
    return quoted if quoted.isprintable() else f"$'{''.join(map(_shell_escape, text))}'"


def _shell_escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    number = ord(char)
    # Behind \x a shell reads a byte, so that what is not ASCII stands by its number.
    return f"\\u{number:04x}" if 0x80 <= number < 0x100 and not char.isprintable() else printable(char)


def lines(text: str) -> str:
    """Return text without what a terminal would obey, but line feeds and tabs."""
    return re.sub(r"[^\n\t]+", lambda part: printable(part[0]), text)


def said(text: str) -> str:
    """Return a message as it may be told to anybody."""
    return lines(redacted(text))


def cleaned(error: Exception) -> Exception:
    """Return an error whose message may be told to anybody: itself, if it may be."""
    message = str(error)
    if (told := redacted(message)) == message:
        return error
    if isinstance(error, OSError):
        return type(error)(error.errno, redacted(error.strerror or message))
    return RuntimeError(f"{type(error).__name__}: {told}")


class Guarded:
    """Standard output or error whose text passes through a function; `unguarded` is the stream itself.

    Where text `may_be_lost`, as what is told beside the work, a stream that takes no more (a full disk) stops nothing.
    """

    def __init__(self, stream: TextIO, clean: Callable[[str], str], *, may_be_lost: bool = False) -> None:
        self.unguarded = stream
        self._clean = clean
        self._losses = (OSError,) if may_be_lost else ()

    def write(self, text: str) -> int:
        """Write a text as it may leave."""
        with suppress(*self._losses):
            self.unguarded.write(self._clean(text))
        return len(text)

    def flush(self) -> None:
        """Pass on what was written."""
        with suppress(*self._losses):
            self.unguarded.flush()

    def writelines(self, texts: Any) -> None:
        """Write some texts as they may leave."""
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


def guard() -> None:
    """Let nothing leave this process by standard output or error that a terminal obeys, and no secret by the latter."""
    # Who closed a stream wants to hear nothing; Python has None in its place.
    out, err = (stream or open(os.devnull, "w", encoding="utf-8") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    if isinstance(out, io.TextIOWrapper) and codecs.lookup(out.encoding).name != "utf-8":
        codecs.register_error("escaped", _escaped)
        out.reconfigure(errors="escaped")
    sys.stdout, sys.stderr = Guarded(out, lines), Guarded(err, said, may_be_lost=True)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return characters that an encoding lacks as JSON escapes them: there it is the same data."""
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def terminal(stream: TextIO) -> TextIO:
    """Return the stream itself, for what writes to a terminal what it means to obey: bars, colors."""
    return getattr(stream, "unguarded", stream)


def give(text: str) -> None:
    """Write to standard output what is as it should be: data, and reports whose cells have been made printable."""
    print(text, file=terminal(sys.stdout))


def _secrets() -> Iterator[str]:
    yield from _remembered
    for name, value in os.environ.items():
        if _is_secret(name):
            yield value
            if name.endswith("AUTH_STRING"):
                yield value.partition(":")[2]


@lru_cache(4)
def _any_of(secrets: frozenset[str]) -> list[re.Pattern[str] | None]:
    """Return what finds the forms of secrets that can be no name, and what finds the others."""
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
    parts = [[form for form in forms if bool(re.fullmatch(r"[\w%.\-]+", form)) is is_name] for is_name in (False, True)]
    return [re.compile("|".join(map(re.escape, part))) if part else None for part in parts]


@lru_cache(1024)
def _is_secret(variable: str) -> bool:
    return _VARIABLE.search(variable) is not None


def _forms(secret: str) -> list[str]:
    if len(secret) < _SHORTEST:
        return []
    return [secret, quote(secret, safe=""), quote_plus(secret), base64.b64encode(secret.encode()).decode()]


def _without_values(text: str) -> Iterator[str]:
    """Yield the parts of a text, without the values that stand behind the names of secrets."""
    start = 0
    for match in _NAME.finditer(text):
        if match.start() < start:
            continue
        name = re.sub(r"[-_.]", "", unquote(unquote(match["name"]))).lower()
        sign = match["sign"].strip()
        is_named = sign or match["option"]
        wanted = _TOLD if sign == ":" and not match["quoted"] else _SECRET if is_named else _STATED
        if wanted.fullmatch(name) is None:
            continue
        value = (_REST if _HEADER.fullmatch(name) and sign == ":" else _VALUE).match(text, match.end())
        if value and value[0]:
            quoted = _QUOTED.fullmatch(value[0])
            mark = quoted[1] if quoted else ""
            yield f"{text[start : match.end()]}{mark}{HIDDEN}{mark}"
            start = value.end()
    yield text[start:]
