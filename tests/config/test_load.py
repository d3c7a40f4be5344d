"""The configuration: what it accepts, what it refuses and where, and what overrides it."""

import json
import os

import pytest

from bufferhouse.config.keys import SOURCE, duration_text, quiet
from bufferhouse.config.load import ConfigError, find, load
from bufferhouse.errors import UsageError
from tests.command_line import CHECKOUT, call

GOOD = """
[warehouse]
path = "data/w.duckdb"
wait = "5m"

[schedule]
ingest = 30
maintain = "0 3 * * sun"
site = "off"

[[sources]]
name = "night-ly"
paths = "dumps"
runs = "{run}/{host}/module_*"
labels = { team = "serving", device_count = 4 }
grace = "1h"
"""


@pytest.fixture
def written(tmp_path):
    """A function that writes a configuration and returns its path."""

    def write(text):
        path = tmp_path / "bufferhouse.toml"
        path.write_text(text)
        return path

    return write


def problems(path, **overrides):
    """Return what is wrong, without the folder of the file."""
    with pytest.raises(ConfigError) as caught:
        load(path, **{"environment": {}, **overrides})
    return [problem.replace(f"{path.parent}/", "") for problem in caught.value.problems]


def test_values_are_what_they_mean(written, tmp_path):
    """Durations are seconds, off is None, one text is a list of it, and relative paths lie beside the file."""
    conf = load(written(GOOD), environment={})
    assert (300.0, 30.0, "0 3 * * sun", None) == (conf["warehouse"]["wait"], *(
        conf["schedule"][name] for name in ("ingest", "maintain", "site")
    ))  # fmt: skip
    assert str(tmp_path / "data" / "w.duckdb") == str(conf.warehouse)
    source = conf.source("night-ly")
    assert (["dumps"], {"team": "serving", "device_count": "4"}, 3600.0, 10.0) == (
        source["paths"], source["labels"], source["grace"], source["settle"]
    )  # fmt: skip
    assert str(tmp_path / "dumps") == conf.place("dumps")
    assert "s3://bucket/x" == conf.place("s3://bucket/x")


def test_without_a_file_there_are_defaults(tmp_path, monkeypatch):
    """Nothing has to be configured: no source, a warehouse here or in $BUFFERHOUSE_WAREHOUSE."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", "/data/w.duckdb")
    assert find() is None
    conf = load(None)
    assert ([], 3600.0, "/data/w.duckdb") == (conf.sources, conf["schedule"]["ingest"], str(conf.warehouse))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[warehouse]\npath = 3", "bufferhouse.toml:2:1: expected a text that is not empty; found 3"),
        ("[warehouse]\n\nwayt = 3", "bufferhouse.toml:3:1: expected a key of warehouse, one of path, data_path, wait, "
         "publish, workers; found 'wayt'; did you mean 'wait'?"),
        ("[warehous]\n", "bufferhouse.toml:1:1: expected a section, one of warehouse, schedule, flows, report, "
         "thresholds, notify, regressions, retention, sources; found 'warehous'; did you mean 'warehouse'?"),
        ("[a]\n", "bufferhouse.toml:1:1: expected a section, one of warehouse, schedule, flows, report, "
         "thresholds, notify, regressions, retention, sources; found 'a'"),
        ("x = [\n", "bufferhouse.toml:2:1: expected TOML, found: Invalid value"),
        ("[schedule]\n ingest = '61 * * * *'", "bufferhouse.toml:2:2: expected a duration of a second or more like "
         "90s or 1h, five fields of cron like 0 6 * * *, or off; found '61 * * * *'"),
        ("[schedule]\ntimezone = 'Mars/Phobos'", "bufferhouse.toml:2:1: expected the name of a time zone, like UTC or "
         "Europe/Berlin; found 'Mars/Phobos'"),
        ("[thresholds]\nfailing_share = true", "bufferhouse.toml:2:1: expected a number from 0 to 1; found True"),
        ("[regressions]\nlimit = '5'", "bufferhouse.toml:2:1: expected a limit such as 5%, 16MiB or 5%,16MiB; "
         "found '5'"),
        ("[retention]\nkeep_runs = 5\nolder_than = '90d'", "bufferhouse.toml:3:1: expected keep_runs or older_than, "
         "found both"),
        ("[[sources]]\nname = 'a'", "bufferhouse.toml:1:1: expected paths in this source, found none"),
        ("[[sources]]\nname = 'a b'\npaths = 'x'", "bufferhouse.toml:2:1: expected a name of letters, digits, - and _; "
         "found 'a b'"),
        ("[[sources]]\nname = 'a-b'\npaths = 'x'\n[[sources]]\nname = 'a_b'\npaths = 'y'",
         "bufferhouse.toml:5:1: expected a name of its own, found 'a_b' again"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nruns = '{host}/*'", "bufferhouse.toml:4:1: expected a part that is "
         "called run, like {run}/module_* or (?P<run>[^/]+)/module_.*; found '{host}/*'"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nruns_regex = '(?P<run>'", "bufferhouse.toml:4:1: expected a regular "
         "expression, and this one is none: missing ), unterminated subpattern at position 0; found '(?P<run>'"),
        ("[retention]\nolder_than = 90", "bufferhouse.toml:2:1: expected an age like 90d or 12h; found 90"),
        ("[retention]\nolder_than = '90'", "bufferhouse.toml:2:1: expected an age like 90d or 12h; found '90'"),
        ("[retention]\nolder_than = '0d'", "bufferhouse.toml:2:1: expected an age like 90d or 12h; found '0d'"),
        (f"[warehouse]\nwait = 1{'0' * 400}", "bufferhouse.toml:2:1: expected seconds, or a duration like 90s, 5m, "
         f"1h or 30d; found 1{'0' * 78}…"),
        ("[schedule]\nmaintain = '999999999999d'", "bufferhouse.toml:2:1: expected a duration of a second or more like "
         "90s or 1h, five fields of cron like 0 6 * * *, or off; found '999999999999d'"),
        ("[schedule]\ntimezone = 'localtime'", "bufferhouse.toml:2:1: expected the name of a time zone, like UTC or "
         "Europe/Berlin; found 'localtime'"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nruns = '{run}/*'\nruns_regex = '(?P<run>.*)'",
         "bufferhouse.toml:5:1: expected runs or runs_regex, found both"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nlabels = { started_at = 'today' }", "bufferhouse.toml:4:1: expected "
         "started_at as ISO 8601, like 2026-01-31T12:00:00Z; found {'started_at': 'today'}"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nlabels = { device_count = '²' }", "bufferhouse.toml:4:1: expected a "
         "number above 0 for device_count; found {'device_count': '²'}"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nlabels = { device_memory_bytes = 0 }", "bufferhouse.toml:4:1: expected "
         "a number above 0 for device_memory_bytes; found {'device_memory_bytes': 0}"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nmarker = '../DONE'", "bufferhouse.toml:4:1: expected the name of a "
         "file, without a folder; found '../DONE'"),
        ("[[sources]]\nname = 'a'\npaths = 'x'\nmarker = '..'", "bufferhouse.toml:4:1: expected the name of a file, "
         "without a folder; found '..'"),
        ('[warehouse]\npath = "a\\u0000"', "bufferhouse.toml:2:1: expected a text that is not empty; "
         "found 'a\\x00'"),
        ("sources = 3", "bufferhouse.toml:1:1: expected sources under [[sources]] headings"),
        ("warehouse = 'w.duckdb'", "bufferhouse.toml:1:1: expected keys under a [warehouse] heading"),
        ("[[retention]]\nkeep_runs = 3", "bufferhouse.toml:1:1: expected keys under a [retention] heading"),
    ],
    ids=lambda value: value.split("\n")[-1][:30] if "toml:" not in value else "",
)  # fmt: skip
def test_what_is_wrong_is_said_with_line_and_column(written, text, expected):
    """One line a problem: where, what was expected, what was found."""
    assert [expected] == problems(written(text))


def test_all_problems_are_said_at_once(written):
    """Who mends one need not call again to see the next."""
    found = problems(written("[warehouse]\nwait = 'x'\npublish = 1\n[nothing]\n"))
    assert ["4", "2", "3"] == [problem.split(":")[1] for problem in found]


def test_the_environment_and_flags_override(written):
    """BUFFERHOUSE_<SECTION>__<KEY> beats the file, --set beats both; sources by name; a text needs no quotes."""
    environment = {
        "BUFFERHOUSE_WAREHOUSE__PATH": "/other/w.duckdb",
        "BUFFERHOUSE_WAREHOUSE__PUBLISH": "false",
        "BUFFERHOUSE_SOURCES__NIGHT_LY__SETTLE": "3s",
        "BUFFERHOUSE_SOURCES__NIGHT_LY__EXCLUDE": '["*.tmp", "x*"]',
        "BUFFERHOUSE_WAREHOUSE": "/never/w.duckdb",
        "BUFFERHOUSE_SCHEDULE__INGEST": "1m",
        "BUFFERHOUSE_REPORT__TARGET": "",
    }
    conf = load(written(GOOD), environment=environment, flags=["schedule.ingest=2m", "sources.night-ly.track=8"])
    source = conf.source("night-ly")
    assert ("/other/w.duckdb", False, 120.0, 3.0, ["*.tmp", "x*"], "8") == (
        str(conf.warehouse), conf["warehouse"]["publish"], conf["schedule"]["ingest"], source["settle"],
        source["exclude"], source["track"],
    )  # fmt: skip
    origins = [conf.origins[name] for name in ("schedule.ingest", "warehouse.path", "warehouse.workers")]
    assert ["--set schedule.ingest", "$BUFFERHOUSE_WAREHOUSE__PATH", "default"] == origins


def test_an_override_that_names_nothing_is_refused(written):
    """A misspelled variable must not be without effect."""
    found = problems(
        written(GOOD),
        environment={"BUFFERHOUSE_SCHEDUEL__INGEST": "1h", "BUFFERHOUSE_SCHEDULE__INGESTS": "1h"},
        flags=[
            "thresholds.failing_share=2",
            "sources.x.settle=1",
            "nothing",
            "sources.night-ly.name=x",
            "sources.night-ly.runs_regex=(?P<run>.*)",
        ],
    )
    sections = "warehouse, schedule, flows, report, thresholds, notify, regressions, retention, sources.night-ly"
    assert [
        f"$BUFFERHOUSE_SCHEDUEL__INGEST: expected a section, one of {sections}; found 'scheduel'",
        "$BUFFERHOUSE_SCHEDULE__INGESTS: expected a key of schedule, one of ingest, site, fleet_report, regressions, "
        "maintain, timezone; found 'ingests'; did you mean 'ingest'?",
        "--set thresholds.failing_share: expected a number from 0 to 1; found '2'",
        f"--set sources.x.settle: expected a section, one of {sections}; found 'sources.x'",
        "--set nothing: expected section.key=value",
        "--set sources.night-ly.name: expected a key of sources.night-ly, one of "
        f"{', '.join([*SOURCE][1:])}; found 'name'",
        "--set sources.night-ly.runs_regex: expected runs or runs_regex, found both",
    ] == found


def test_a_source_whose_name_has_two_underscores_is_found(written):
    """They part section, name and key, too."""
    text = "[[sources]]\nname = 'a__b'\npaths = 'x'\n"
    assert "t" == load(written(text), environment={"BUFFERHOUSE_SOURCES__A__B__TRACK": "t"}).sources[0]["track"]


def test_a_path_below_the_home_of_nobody_is_told(written):
    """`config check` ends with 1 and the place of the key; for `ingest` it is a wrong call."""
    source = written("[[sources]]\nname = 'a'\npaths = '~nosuchuser/x'\n")
    told = "~nosuchuser/x: there is no such user here\n"
    assert (1, f"{source}:3:1: {told}") == ((said := call("config", "check", "--config", source)).code, said.err)
    assert (2, f"bufferhouse: {told}") == ((said := call("ingest", "--config", source)).code, said.err)
    warehouse = written("[warehouse]\npath = '~nosuchuser/x'\n")
    assert (1, f"{warehouse}:2:1: {told}") == ((said := call("config", "check", "--config", warehouse)).code, said.err)


def test_a_file_that_is_named_must_be_there(tmp_path, monkeypatch):
    """A configuration by option or variable is never silently another one."""
    with pytest.raises(UsageError, match="there is no such configuration"):
        find(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="expected a file, found a folder"):
        find(tmp_path)
    monkeypatch.setenv("BUFFERHOUSE_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(UsageError, match=r"there is no such configuration \(\$BUFFERHOUSE_CONFIG\)"):
        find()


def test_the_command_shows_every_value_and_its_origin(written, monkeypatch):
    """`config check` prints what holds; exit 1 with all problems on standard error where something is wrong."""
    path = written(GOOD)
    settings = ["--set", "warehouse.wait=7", "--set", "retention.older_than=365d"]
    outcome = call("config", "check", "--config", path, *settings, "--format", "json")
    rows = {row["key"]: (row["value"], row["from"]) for row in json.loads(outcome.out)}
    assert (0, ("30s", f"{path}:7:1"), ("7s", "--set warehouse.wait"), "365d") == (
        outcome.code, rows["schedule.ingest"], rows["warehouse.wait"], rows["retention.older_than"][0]
    )  # fmt: skip
    assert f"bufferhouse: {path}:13:1: nothing is at dumps yet\n" == outcome.err
    wrong = call("config", "check", "--config", written("[warehouse]\nwait = 'x'\n"))
    assert (1, "", 1) == (wrong.code, wrong.out, wrong.err.count("\n"))
    assert 2 == call("config", "check", "--config", path.with_name("none.toml")).code


def test_the_command_shows_what_is_in_force(written, monkeypatch):
    """A value that another key, a variable or the machine gives is shown with the origin of that; off is off."""
    path = written(GOOD.replace('path = "data/w.duckdb"', "") + "stale = 0.5\n")
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", "/data/w.duckdb")
    outcome = call("config", "check", "--config", path, "--set", "thresholds.rejects=off", "--format", "json")
    rows = {row["key"]: (row["value"], row["from"]) for row in json.loads(outcome.out)}
    assert {
        "warehouse.path": ("/data/w.duckdb", "$BUFFERHOUSE_WAREHOUSE"),
        "warehouse.wait": ("5m", f"{path}:4:1"),
        "warehouse.workers": (str(os.cpu_count()), "default"),
        "report.target": ("/data/reports", "default"),
        "schedule.site": ("off", f"{path}:9:1"),
        "schedule.fleet_report": ("", "default"),
        "thresholds.failing_share": ("0.5", "default"),
        "thresholds.rejects": ("off", "--set thresholds.rejects"),
        "sources.night-ly.runs": ("{run}/{host}/module_*", f"{path}:14:1"),
        "sources.night-ly.schedule": ("30s", f"{path}:7:1"),
        "sources.night-ly.stale": ("0.5s", f"{path}:17:1"),
        "sources.night-ly.marker": ("", "default"),
    }.items() <= rows.items()


def test_the_command_refuses_a_warehouse_that_cannot_be(written, monkeypatch):
    """A flow would fail with it: exit 1, with the place of the key, or the variable."""
    path = written("[warehouse]\npath = 'ducklake:'\n")
    expected = "expected ducklake:postgres:dbname=… host=… or ducklake:FILE, found no catalog\n"
    outcome = call("config", "check", "--config", path)
    assert (1, "", f"{path}:2:1: {expected}") == (outcome.code, outcome.out, outcome.err)
    monkeypatch.setenv("BUFFERHOUSE_WAREHOUSE", "ducklake:")
    assert f"$BUFFERHOUSE_WAREHOUSE: {expected}" == call("config", "check", "--config", written("")).err


@pytest.mark.parametrize("text", ["0s", "0.5s", "90s", "5m", "36h", "7d", "off"])
def test_a_duration_is_shown_as_it_may_be_written(text):
    """In its largest whole unit."""
    assert text == duration_text(quiet(text))


def test_the_command_reads_the_accept_file(written):
    """A flow would fail with it: exit 1, with the place of the key and what is wrong with the file."""
    path = written("[regressions]\naccept = 'no.toml'\n[[sources]]\nname = 'a'\npaths = '/'\n")
    named = f"{path}:2:1: regressions.accept: {path.parent}/no.toml"
    outcome = call("config", "check", "--config", path)
    assert (1, f"{named}: No such file or directory\n") == (outcome.code, outcome.err)
    (path.parent / "no.toml").write_text("[[accept]]\n")
    assert call("config", "check", "--config", path).err.startswith(f"{named}:1:1: entry 1: expected program")
    (path.parent / "no.toml").write_text("")
    assert (0, "") == ((outcome := call("config", "check", "--config", path)).code, outcome.err)


def test_the_command_says_that_there_are_no_sources(written):
    """What works without any, such as the site, works; `ingest --config` does not."""
    path = written("[warehouse]\nwait = 5\n")
    outcome = call("config", "check", "--config", path)
    expected = f"bufferhouse: {path}: no [[sources]]; ingest --config and serve need at least one (docs/schedule.md)\n"
    assert (0, expected) == (outcome.code, outcome.err)


def test_the_example_is_good():
    """The configuration in examples/ is one, and says something about every section."""
    conf = load(CHECKOUT / "examples" / "bufferhouse.toml", environment={})
    assert [] == [name for name in conf.sections if all(
        conf.origins[f"{name}.{key}"] == "default" for key in conf.sections[name]
    )]  # fmt: skip
    assert conf.sources


@pytest.mark.parametrize(
    ("given", "expected"),
    [([], "0 6 * * *"), (["site=1h"], 3600.0), (["fleet_report=2h"], 7200.0), (["fleet_report=2h", "site=off"], None)],
)
def test_the_former_name_of_the_schedule_of_the_site_is_taken(given: list[str], expected: float | str | None):
    """For one release `schedule.fleet_report` sets it, where `schedule.site` does not."""
    conf = load(None, environment={}, flags=[f"schedule.{one}" for one in given])
    assert expected == conf["schedule"]["site"]


def test_config_check_shows_and_tells_of_the_former_name(written):
    """It prints the schedule that is in force and where it comes from, and says that the name goes."""
    path = written('[schedule]\nfleet_report = "2h"\n')
    outcome = call("config", "check", "--config", path, "--format", "json")
    shown = {row["key"]: (row["value"], row["from"]) for row in json.loads(outcome.out)}
    assert ("2h", f"{path}:2:1") == shown["schedule.site"]
    assert f"{path}:2:1: schedule.fleet_report is now schedule.site; the next release does not know it" in outcome.err


@pytest.mark.parametrize(
    "line",
    [
        'slack = "hooks.example.org/services/T1/hidden-in-any-case"',
        'slack = ["hidden-in-any-case"]',
        'mail = "smtp://us:hidden-in-any-case@example.org"',
        'mail = "mailtos://hidden in any case"',
    ],
)
def test_a_wrong_secret_is_not_shown(written, line):
    """The message has the place and what was expected, and stars for what was found."""
    [problem] = problems(written(f"[notify]\n{line}\n"))
    assert problem.startswith("bufferhouse.toml:2:1: expected ")
    assert problem.endswith("; found ***")


def test_a_secret_is_not_printed_with_its_key(written):
    """`config check` says that there is one, and from where."""
    path = written('[notify]\nslack = "https://hooks.slack.com/services/T1/B2/hidden-in-any-case"\n')
    rows = {row["key"]: row for row in json.loads(call("config", "check", "--config", path, "--format", "json").out)}
    assert ("***", f"{path}:2:1") == (rows["notify.slack"]["value"], rows["notify.slack"]["from"])
    assert "" == rows["notify.mail"]["value"]


def test_silence_is_no_shorter_than_what_is_listened_for(written):
    """Prefect refuses a proactive trigger of less than ten seconds; the configuration does so with its place."""
    expected = ["bufferhouse.toml:2:1: expected a duration of 10 seconds or more, or off; found '5s'"]
    assert expected == problems(written('[notify]\nsilence = "5s"\n'))
