"""What leaves for people: without secrets, and without what a terminal obeys."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bufferhouse.errors import UsageError
from bufferhouse.query.format import formatted
from bufferhouse.redaction import HIDDEN, cleaned, guard, lines, printable, redacted, remember, shell_word
from tests.attack.outputs import CONTROLS, obeyed
from tests.command_line import CHECKOUT, call, run
from tests.ingests import SUFFIX, write_dumps
from tests.system.secrets_told import FORMS, HARMLESS, SECRET

SEED = min((CHECKOUT / "examples/fleet/seeds").glob("*.txt"))


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_however_it_is_written(form: str):
    """In every form that libraries, servers and people use, alone, in a sentence, in a list; once hidden it stays."""
    for text in (form, f"expected this, found {form}; try again", f"[{form}]\n{form}", repr(form), json.dumps([form])):
        assert SECRET not in redacted(text)
    assert redacted(form) == redacted(redacted(form))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_told_as_it_is(text: str):
    """Paths with @, ports, users and words that begin like secrets stay."""
    assert text == redacted(text)


def test_a_secret_that_is_known_is_hidden_wherever_it_stands(monkeypatch: pytest.MonkeyPatch):
    """Values of the environment that are secrets, and those that were read, in the forms of URLs and headers too."""
    monkeypatch.setenv("PGPASSWORD", "se cret/ä")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "user:word-of-mouth")
    remember("read from a file")
    text = "a se cret/ä b se%20cret%2F%C3%A4 c word-of-mouth d read from a file e c2UgY3JldC/DpA== f"
    assert f"a {HIDDEN} b {HIDDEN} c {HIDDEN} d {HIDDEN} e {HIDDEN} f" == redacted(text)


def test_a_secret_that_is_a_word_of_a_name_uncovers_no_other(monkeypatch: pytest.MonkeyPatch):
    """Who has `secret` for a password is still told no value of a `client_secret`."""
    monkeypatch.setenv("PGPASSWORD", "secret")
    assert f"client_{HIDDEN}={HIDDEN} of {HIDDEN}" == redacted(f"client_secret={SECRET} of secret")


def test_errors_tell_no_secret():
    """Those that end a command are redacted when they are made; others are made anew, an OSError as one."""
    assert f"http://{HIDDEN}@h: away" == str(UsageError(f"http://u:{SECRET}@h: away"))
    told = cleaned(OSError(5, f"password={SECRET}", "x"))
    assert (OSError, 5, f"password={HIDDEN}") == (type(told), told.errno, told.strerror)
    assert f"ValueError: password={HIDDEN}" == str(cleaned(ValueError(f"password={SECRET}")))
    harmless = ValueError("nothing")
    assert harmless is cleaned(harmless)


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str):
    """Every character that is not printable is an escape; of a text in lines, all but line feeds and tabs."""
    assert printable(text).isprintable()
    assert lines(text).replace("\n", "").replace("\t", "").isprintable()
    assert text.count("\n") == lines(text).count("\n")


@pytest.mark.parametrize("text", ["plain", "it's", "a\nb c", "\x1b[31m'\\\r\t", "é\x85\u202e\U000e0001'", CONTROLS])
def test_a_word_for_a_shell_is_on_one_line_and_the_same_text_there(text: str):
    """What a message advises can be copied, whatever a name holds; no word holds the character zero."""
    text = text.replace("\x00", "")
    word = shell_word(text)
    assert word.isprintable()
    command, env = ["bash", "-c", f"printf %s {word}"], {**os.environ, "LC_ALL": "C.UTF-8"}
    assert text.encode() == subprocess.run(command, env=env, capture_output=True, check=True).stdout


@given(st.text())
def test_json_is_the_same_data_in_printable_characters(text: str):
    """What is not printable stands in JSON as an escape of JSON, so that programs read what was there."""
    written = formatted(["name"], [(text,)], "json")
    assert [{"name": text}] == json.loads(written)
    assert "" == obeyed(written)


def test_whatever_a_command_prints_is_printable():
    """Errors of the command line itself, of a statement, and an answer whose heading and cell are hostile."""
    for words in (
        [CONTROLS.replace("\x00", "")],
        ["query", f"SELECT '{CONTROLS}' AS \"{CONTROLS}\"", "--from", str(SEED)],
    ):
        outcome = run(*words)
        assert "" == obeyed(outcome.out + outcome.err)
        assert "\\x1b" in outcome.out + outcome.err


def test_a_name_with_a_line_feed_forges_no_line(tmp_path: Path):
    """Of a file or a run: neither of a summary, a reject or a plan, nor a command of the system that runs it."""
    folder, warehouse = tmp_path / "dumps", ("--warehouse", tmp_path / "w.duckdb")
    write_dumps(folder, [1])
    (folder / f"module_0002.jit_x\n::error::FORGED\nFORGED.cpu_after_optimizations{SUFFIX}").write_text("damaged")
    (folder / "run.json").write_text(json.dumps({"run_name": (name := "old\nFORGED"), "label": {}}))
    outcomes = [run("ingest", folder, *warehouse), call("runs", "pin", "latest", *warehouse)]
    outcomes += [call(*words, *warehouse) for words in (
        ["rejects", "show", 1], ["rejects", "replay", "--all"], ["runs", "rm", "latest", "--plan"],
        ["prune", "--keep-runs", 0, "--plan"], ["runs", "pin", name, "--off"], ["prune", "--keep-runs", 0, "--plan"],
        ["prune", "--keep-runs", 0, "--yes"],
    )]  # fmt: skip
    os.mkfifo(pipe := folder / f"x\nFORGED{SUFFIX}")
    outcomes += [call("ingest", one, *warehouse) for one in (pipe, folder / "gone\nFORGED")]
    outcomes += [call("query", "--from", folder, "SELECT 1"), call("oom", folder)]
    said = [line for outcome in outcomes for line in (outcome.out + outcome.err).split("\n")]
    assert [] == [line for line in said if line.startswith(("::error", "FORGED"))]
    assert f"runs set {shell_word(name)} compiler=" in outcomes[0].out
    told = [line for line in said if line.startswith(("keeping run", "would remove", "removed run"))]
    escaped = printable(name)
    expected = [f"would remove run {escaped}", f"keeping run {escaped}: label pinned", *[f"would remove run {escaped}"]]
    assert [*expected, f"removed run {escaped}"] == told


def logged(error: Exception, found: object, *names: str) -> list[str]:
    """What loggers of these names write of an error that was raised, with its traceback."""
    import flows  # noqa: F401  sets how records are made

    heard: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: heard.append(logging.Formatter().format(record))
    for name in names:
        logger = logging.getLogger(name)
        logger.propagate = False
        logger.addHandler(handler)
        try:
            raise error
        except type(error):
            logger.exception("found %s", found)
        logger.removeHandler(handler)
    return heard


def test_logs_of_flows_tell_no_secret():
    """A record of Prefect's loggers is redacted when it is made, its traceback too; those of others stay."""
    error = ValueError(f"password={SECRET} {CONTROLS}")
    heard = logged(error, f"http://u:{SECRET}@h", "prefect.flow_runs.test", "others.test")
    assert 2 == len(heard)
    assert (False, True) == tuple(SECRET in text for text in heard)
    assert "" == obeyed(heard[0])


def test_the_log_of_a_server_tells_no_address_of_a_hook():
    """Nobody has told it what is secret there; what a flow run asks is the server itself."""
    request = httpx.Request("POST", f"https://hooks.example.com/services/T1/{SECRET}?a=b")
    with pytest.raises(httpx.HTTPStatusError) as refused:
        httpx.Response(500, request=request).raise_for_status()
    heard = logged(refused.value, refused.value, "prefect.server.test", "prefect.flow_runs.test")
    assert [0, 2] == [text.count(SECRET) for text in heard]
    assert 2 == heard[0].count("500 Internal Server Error' for url 'https://hooks.example.com/***'")


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_closed_stream_takes_everything(closed: str, monkeypatch: pytest.MonkeyPatch):
    """Whoever starts a command without one of them, as daemons do, hears nothing, and the command does its work."""
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", sys.stdout)
        patch.setattr(sys, "stderr", sys.stderr)
        patch.setattr(sys, closed, None)
        guard()
        stream = getattr(sys, closed)
        assert 2 == stream.write("x\n")
        stream.unguarded.close()


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.soak)])
def test_what_an_encoding_lacks_is_escaped(encoding: str, monkeypatch: pytest.MonkeyPatch, example_warehouse: Path):
    """As JSON does it, so JSON is the same data; a report is one still."""
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    sql = "SELECT chr(252) || chr(9660) || chr(128512) AS a"
    found = run("query", sql, "--format", "json", "--warehouse", example_warehouse, encoding=encoding)
    assert (0, [{"a": "\u00fc\u25bc\U0001f600"}]) == (found.code, json.loads(found.out))
    assert 0 == run("report", "fleet", "--warehouse", example_warehouse, encoding=encoding).code
