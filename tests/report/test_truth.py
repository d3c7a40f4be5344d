"""The truth page of a program: on a terminal, in Markdown, as JSON, as a page, and on the site."""

import html
import json
import re
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.report.program.truth import VERDICTS, read_truth, truth_page, truth_text
from tests.command_line import CHECKOUT, call
from tests.oom.specimens import FOLDER
from tests.report.pages import HOSTILE
from tests.warehouses import rows

PROTOS = CHECKOUT / "tests" / "data" / "protos"
TPU = "tpu-v5e-libtpu-0.0.33"
NUMBERS = "SELECT said_by, number_name, computed_bytes, verdict FROM marts.official_numbers_v1 WHERE run_name = '{}'"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of three builds with protos; the compiler of one is not said."""
    path = tmp_path_factory.mktemp("told") / "w.duckdb"
    assert 0 == run_ingest([str(PROTOS)], path).exit_code
    for run, fact in ((TPU, "libtpu"), ("cpu-jaxlib-0.10.0", "jaxlib")):
        version = run.rpartition("-")[2]
        call("runs", "set", run, f"compiler={fact}", f"compiler_version={version}", "--warehouse", path)
    return path


def test_the_text_has_each_number_with_its_rule(told):
    """All rows of the mart: bytes, verdict, the rule in words, since which release, and what is not known."""
    outcome = call("report", "program", "jit_ma_scan", "--truth", "--bytes", "--warehouse", told)
    assert 0 == outcome.code
    text = outcome.out
    found = rows(told, NUMBERS.format(TPU))
    for _, name, size, verdict in found:
        assert name in text
        assert verdict in text
        assert size is None or f"{size:,} B" in text
    assert f"{len(found)} official numbers: agrees 2, not stored {len(found) - 3}, unknown 1." in text
    assert "peak_memory_in_bytes: largest value of each allocation of a parameter, constant or output" in text
    assert "rule known since libtpu 0.0.33; compared." in text
    assert "generated_code_size_in_bytes: not known; machine code is no part of a buffer assignment." in text
    assert "read in its source, not compared with what it shows" in text


def test_a_compiler_that_nobody_says_is_said_so(told):
    """What no rule is known of is unknown, and the page says how to tell the compiler."""
    text = call("report", "program", "jit_decode_step", "--truth", "--warehouse", told).out
    assert re.search(r"argument_size_in_bytes +– +– +unknown", text)
    assert "Nothing says which compiler made the dump: bufferhouse runs set cpu-jaxlib-0.6.0 compiler=…" in text


def test_json_has_the_rows_of_the_mart(told):
    """The answer `program_truth`: a record for each number, bytes as numbers."""
    outcome = call("report", "program", "jit_ma_scan", "--truth", "--format", "json", "--warehouse", told)
    said = json.loads(outcome.out)
    records = said["answers"]["program_truth"]
    keys = ("said_by", "number_name", "computed_bytes", "verdict")
    assert sorted(rows(told, NUMBERS.format(TPU)), key=str) == sorted(
        (tuple(one[key] for key in keys) for one in records), key=str
    )
    assert (TPU, "jit_ma_scan") == (said["dump"]["run_name"], said["dump"]["program_name"])
    assert {one["verdict"] for one in records} <= VERDICTS.keys()


def test_markdown_and_the_page_say_the_same(told, tmp_path):
    """Each rule is a sentence in both; the page embeds the records and asks nobody for anything."""
    truth = read_truth(told, "jit_ma_scan")
    page, markdown = truth_page(truth), truth_text(truth, "markdown")
    for one in truth.answer.records:
        assert one["number_name"].replace("_", "\\_") in markdown
        assert one["number_name"] in page
    assert "https://" not in page.replace("https://www.w3.org", "")
    target = tmp_path / "truth.html"
    outcome = call("report", "program", "jit_ma_scan", "--truth", "--warehouse", told, "--html", target)
    assert (0, f"report: {target}") == (outcome.code, outcome.out.strip())
    assert "<h2><bdi>XProf&#39;s memory viewer</bdi></h2>" in target.read_text()


def test_a_message_is_on_the_page_of_its_program():
    """As printed, beside the bytes of the dump; a figure that is not reproduced differs."""
    outcome = call("report", "program", "jit_lm_head_loss", "--truth", "--from", FOLDER / "libtpu-0.0.33" / "xent")
    assert re.search(r"used +22\.0 GiB +21\.97G +agrees", outcome.out)
    assert "the program did not fit: where its compilation failed nobody could ask" in outcome.out
    assert (
        "used, program, requirement, hlo_temp: temporaries of memory space 0, in whole 16 KiB; rule known since libtpu "
        "0.0.8, not from libtpu 0.0.37 on; compared; " in " ".join(outcome.out.split())
    )  # one sentence for the numbers of one rule
    assert re.findall(r"(?m)^(agrees|differs|not reported|unknown): ", outcome.out) == ["agrees", "unknown"]


def test_a_wrong_program_is_answered_with_candidates(told):
    """As the report of a program is."""
    outcome = call("report", "program", "nothing", "--truth", "--warehouse", told)
    assert (2, True) == (outcome.code, "there is no program 'nothing'; there are:" in outcome.err)


def test_names_that_would_do_harm_stay_text(told, tmp_path):
    """A run whose name is a script is shown as it is written."""
    path = Path(shutil.copy(told, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE raw.runs SET run_name = ? WHERE run_name = ?", [HOSTILE, TPU])
    page = truth_page(read_truth(path, "jit_ma_scan"))
    assert html.escape("<script>alert(1)") in page
    assert HOSTILE not in page
