"""The options that differ between two compilations stand first, before any cause."""

import json
import shutil

import pytest

from tests.command_line import CHECKOUT, call
from tests.ingests import ingest, write_dumps

DATA = CHECKOUT / "tests" / "data" / "flags"
CHANGE = {"name": "xla_disable_hlo_passes", "before": None, "after": "fusion"}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    path = tmp_path_factory.mktemp("flags") / "w.duckdb"
    assert 0 == ingest(path, DATA)[0]
    return path


def test_compare_names_the_option_that_differs_first(warehouse, tmp_path):
    """With both values and the program, in text, JSON and on the page; not those about dumping; the other way round."""
    told = json.loads(call("compare", "a", "b", "--warehouse", warehouse, "--format", "json").out)
    assert [{**CHANGE, "programs": ["jit_conv_step"]}] == told["flags"]
    lines = call("compare", "a", "b", "--warehouse", warehouse).out.splitlines()
    title, cause = lines.index("Flags that differ"), next(n for n, line in enumerate(lines) if line.startswith("Why "))
    assert (True, ["xla_disable_hlo_passes", "default", "fusion", "1", "jit_conv_step"]) == (
        title < cause, lines[title + 3].split()
    )  # fmt: skip
    page = tmp_path / "page.html"
    call("compare", "b", "a", "--warehouse", warehouse, "--html", page)
    assert ("Flags that differ" in page.read_text(), "xla_dump_to" in page.read_text()) == (True, False)


def test_a_content_of_several_flag_sets_differs_by_no_flag_that_both_runs_have(blank_warehouse, tmp_path):
    """A sweep over a flag that does not change the dump, made twice, is the same sweep; a value more is told once."""
    for run, values in (("once", [None, 1]), ("again", [None, 1]), ("more", [None, 1, 2])):
        for number, value in enumerate(values):
            for file in (DATA / "a").iterdir():
                copy = tmp_path / "runs" / run / file.name.replace("_0001", f"_000{number}")
                copy.parent.mkdir(exist_ok=True, parents=True)
                is_told = value is not None and file.suffix == ".debug_options"
                copy.write_text(file.read_text() + f"xla_backend_optimization_level: {value}\n" * is_told)
    own, found = shutil.copy(blank_warehouse, tmp_path / "own.duckdb"), []
    assert 0 == ingest(own, tmp_path / "runs")[0]
    for run in ("again", "more"):
        told = json.loads(call("compare", "once", run, "--warehouse", own, "--format", "json").out)
        found.append({(one["name"], one["after"]) for one in told["flags"]})
    assert [set(), {("xla_backend_optimization_level", "2")}] == found


def test_blame_names_it_at_the_step(warehouse):
    """Before the causes of the change, and in JSON beside them."""
    told = json.loads(call("blame", "jit_conv_step", "--warehouse", warehouse, "--format", "json").out)
    assert [[CHANGE]] == [change["flags"] for series in told["series"] for change in series["changes"]]
    lines = call("blame", "jit_conv_step", "--warehouse", warehouse).out.splitlines()
    place = lines.index("Flags that differ: xla_disable_hlo_passes default → fusion.")
    assert lines[place - 1].startswith("Why b differs from a")


def test_flags_that_only_the_runs_say_are_a_warning(blank_warehouse, tmp_path):
    """In each form; flags about dumping do not count, nor does a run that says none."""
    own, runs = shutil.copy(blank_warehouse, tmp_path / "own.duckdb"), ("before", "after")
    for run in runs:
        write_dumps(tmp_path / "runs" / run, [1])
    assert 0 == ingest(own, tmp_path / "runs")[0]

    def told(form: str) -> str:
        return call("compare", *runs, "--fail-over", "1GiB", "--format", form, "--warehouse", own).out

    def say(flags: tuple[str, str]) -> None:
        for run, words in zip(runs, flags, strict=True):
            assert 0 == call("runs", "set", run, f"xla_flags={words}", "--warehouse", own).code

    sentence = "The runs say that they were compiled with different flags"
    for flags in (("--xla_a=1", ""), ("--xla_a=1 --xla_dump_to=/x", "--xla_dump_to=/y --xla_a=1")):
        say(flags)
        assert sentence not in told("table")
    say(("--xla_a=1 --xla_b=2", "--xla_b=2"))
    for form in ("markdown", "json", "github"):
        assert sentence in told(form)
    assert f"{sentence}, before: --xla_a=1; after: no other." in told("table")


def test_runs_with_other_options_are_not_judged_by_determinism(warehouse):
    """Neither run says its flags, but the files beside their dumps do: known, and not the same."""
    for run in "ab":
        call("runs", "set", run, "compiler=jaxlib", "compiler_version=0.10.0", "platform=cpu", "--warehouse", warehouse)
    out = call("determinism", "--warehouse", warehouse).out
    assert "2 runs, 2 with a compiler version, 2 with known flags." in out
    assert "Judged: 0 of 1 program and 0 of 2 runs" in out


@pytest.mark.soak
@pytest.mark.corpus
def test_the_option_of_every_real_pair_is_named(corpus, tmp_path):
    """Of 15 pairs that differ in one flag, all but one whose compiler does not write it (jaxlib 0.6.0); no other."""
    path = tmp_path / "w.duckdb"
    ingest(path, corpus / "context.tar.gz")
    found = {}
    for pair in PAIRS:
        told = json.loads(call("compare", f"{pair}/a", f"{pair}/b", "--warehouse", path, "--format", "json").out)
        found[pair] = [flag["name"] for flag in told["flags"]]
    assert PAIRS == found


PAIRS = {
    "cpu_nofusion": ["xla_disable_hlo_passes"],
    "cpu_optlevel": ["xla_backend_optimization_level"],
    "cpu_sched": ["xla_cpu_scheduler_type"],  # what xla_cpu_enable_concurrency_optimized_scheduler sets
    "cpu_fast_math": ["xla_cpu_enable_fast_math"],
    "cpu_optlevel060": [],
    "cpu_region_analysis": ["xla_cpu_copy_insertion_use_region_analysis"],
    "tpu_hbm_cap": ["xla_tpu_max_hbm_size_mib"],
    "tpu_hbm_cap_2400": ["xla_tpu_max_hbm_size_mib"],
    "tpu_lhs": ["xla_tpu_enable_latency_hiding_scheduler"],
    "tpu_msa": ["xla_jf_vmem_memory_space_assignment"],
    "tpu_reserved": ["xla_tpu_user_reserved_hbm_bytes"],
    "tpu_reserved_13g": ["xla_tpu_user_reserved_hbm_bytes"],
    "tpu_rwb_fusion": ["xla_tpu_rwb_fusion"],
    "tpu_scoped_vmem": ["xla_tpu_scoped_vmem_limit_kib"],
    "cpu_lost_shape": [],  # the donation differs, and no flag
    "cpu_lost_two": [],
    "tpu_lost_dtype": [],
    "tpu_lost_layout": [],
    "tpu_lost_scalar": [],
    "tpu_taken_later": [],
}
