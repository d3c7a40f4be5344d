"""Messages in logs: every dialect, whatever stands before it, however many ranks; none passes silently."""

import gzip
import io
import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.messages.figures import nominal
from bufferhouse.messages.log import lines
from bufferhouse.messages.message import MOST_REFUSED, PATIENCE_LINES, Message, Refused, _Reading, read_messages
from bufferhouse.messages.rows import again_read
from tests.oom.specimens import CORPUS, FITS, SAID, TWINS, failures, log, unpacked

LISTING = log("libtpu-0.0.33/xent")


def read(text: str | bytes) -> list[Message | Refused]:
    """What is found in a text, without warnings."""
    data = text.encode() if isinstance(text, str) else text
    return [one for one in read_messages(io.BytesIO(data)) if isinstance(one, Refused) or one.is_failure]


def message_of(name: str) -> str:
    """The text of the exception at the end of a log, from its first line on."""
    text = log(name).read_text()
    return text[text.rindex("RESOURCE_EXHAUSTED: ") :]


@pytest.mark.parametrize("name", SAID)
def test_a_log_holds_its_message_once(name: str):
    """The exception is written once or several times; it is one failure, with its first figure."""
    dialect, memory_space, figure, printed = SAID[name]
    [message] = failures(log(name))
    assert (dialect, memory_space, []) == (message.dialect, message.memory_space, message.faults)
    assert printed == message.figure(figure).printed


def test_a_program_that_fits_narrowly_is_no_failure():
    """Its log warns of rematerialization, and nothing else."""
    assert [] == failures(log(FITS))


@pytest.mark.corpus
def test_every_failure_of_the_corpus_is_read(tmp_path):
    """91 failures, each one message without a fault, in the log as in the exception; 19 that fit, none."""
    if not CORPUS.exists():
        pytest.skip(f"{CORPUS.name} is not beside the checkout")
    dialects: dict[str | None, int] = {}
    for path in sorted(unpacked(tmp_path).glob("*/*.stderr.txt")):
        found = failures(path)
        said = path.with_name(path.name.replace(".stderr.", ".message."))
        assert len(found) == said.exists(), path
        for message in found:
            [same] = failures(said)
            assert ([], message.dialect, message.allocations) == (message.faults, same.dialect, same.allocations)
        dialect = found[0].dialect if found else None
        dialects[dialect] = dialects.get(dialect, 0) + 1
    assert {"T1": 38, "T2": 18, "T3": 14, "T4": 2, "T5": 7, "T6": 10, "T7": 2, None: 19} == dialects


REPORTED = {
    "T3b": "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (36.00G) exceeds available HBM (15.75G). HLO module: jit_step.\n"
    "See https://x.example/e for more details.",
    "T8": "Attempting to reserve 13.48G at the bottom of memory. That was not possible. There are 12.84G free, 0B "
    "reserved, and 12.84G reservable.",
    "T8 of a program": "RESOURCE_EXHAUSTED: Error loading program 'jit_step': Attempting to reserve 29.49G at the "
    "bottom of memory. That was not possible. There are 147.64M free, 0B reserved, and 147.64M reservable. Scope: a",
    "T1 of 2019": "Compilation failure: Ran out of memory in memory space hbm. Used 17.60G of 16.00G hbm. Exceeded hbm "
    "capacity by 1.60G.\n\nTotal hbm usage >= 17.60G:\n    reserved        528.00M \n    program          17.08G \n"
    "    arguments       unknown size \n\nOutput size unknown.\n\nProgram hbm requirement 17.08G:\n"
    "    reserved          12.0K\n    HLO temp         17.08G (92.8% utilization, 0.3% fragmentation (53.61M))\n\n"
    "  Largest program allocations in hbm:\n\n  1. Size: 512.00M\n     Unpadded size: 40.50M\n"
    "     Extra memory due to padding: 471.50M (12.6x expansion)\n     Allocation type: HLO temp\n"
    "     ==========================\n",
    "G1 without a listing": "Execution of replica 0 failed: Resource exhausted: Failed to allocate request for 32.00MiB"
    " (33554432B) on device ordinal 0",
    "G1": "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.\n"
    "BufferAssignment OOM Debugging.\n"
    "BufferAssignment stats:\n             parameter allocation:   16.00GiB\n"
    "  preallocated temp fragmentation:       512B (0.00%)\nPeak buffers:\n\tBuffer 1:\n\t\tSize: 4.00GiB\n"
    '\t\tOperator: op_name="jit(f)/add" source_file="x.py" source_line=3\n\t\tXLA Label: fusion\n'
    "\t\tShape: f32[1073741824]\n\t\t==========================\n",
    "G1 of CPU": "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 160000000000 bytes.",
    "G1 of CPU, with a buffer": "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Buffer Definition Event: Out of "
    "memory allocating 1099511627776 bytes.",
    "G1 of CPU, internal": "jaxlib._jax.XlaRuntimeError: INTERNAL: Buffer Definition Event: Error preparing "
    "computation: Out of memory allocating 1099511627776 bytes.",
    "G1 of CPU, of another program": "XlaRuntimeError('INTERNAL: Buffer Definition Event: Error dispatching "
    "computation: Error dispatching computation: Out of memory allocating 1099511627776 bytes.')",
    "G1 of an allocator": "2026-11-23 20:28:59.832181: W xla/tsl/framework/bfc_allocator.cc:501] Allocator "
    "(GPU_0_bfc) ran out of memory trying to allocate 1.50TiB (rounded to 1649267441664)requested by op \n",
    "G1 of a constant": "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to allocate 160000000000 bytes for new "
    "constant: while running replica 0 and partition 0 of a replicated computation",
    "T4 of two cores": "RESOURCE_EXHAUSTED: TPU TensorCore Hbm usage: 20.50G, SparseCore Hbm usage 80.25G, exceeding "
    "available bytes: 95.74G",
    "G1 of an allocator with two ends": "W0000 00:00:1773083052.386377   70889 bfc_allocator.cc:520] Allocator "
    "(GPU_0_bfc) ran out of memory trying to allocate 1.50TiB (rounded to 1649267441664) from the lower end requested "
    "by op \n",
    "G1 of CUDA's allocator": "E0825 20:50:11.123456   12345 gpu_cudamallocasync_allocator.cc:359] gpu_async_0 "
    "cuMemAllocAsync failed to allocate 1649267441664 bytes: CUDA error: out of memory (CUDA_ERROR_OUT_OF_MEMORY)\n"
    " Reported by CUDA: Free memory/Total memory: 197887262720/198000000000\n",
    "G2": "Out of memory while trying to allocate 122.10GiB. [executable_name='jit_train_step']",
    "G2 of 2026": "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1.95GiB with "
    "allocator GPU_0_bfc on device 0. [executable_name='jit_train_step'] [tf-allocator-allocation-error='']",
    "G2 of the host": "RESOURCE_EXHAUSTED: Out of host memory while trying to allocate 96.00GiB. Please set the "
    "environment variable XLA_PJRT_GPU_HOST_MEMORY_LIMIT_GB to allocate larger host memory than the default 64 GB. "
    "[executable_name='jit_train_step']",
    "G1 of the host": "RESOURCE_EXHAUSTED: Out of host memory while trying to allocate 15200000000 bytes with "
    "allocator xla_gpu_host_bfc on device 0.",
}


def test_what_the_scheduler_of_gpus_logs_is_a_warning():
    """As people have reported it: its figures are exact."""
    line = (
        "E0207 18:44:44.481770 1957515 gpu_hlo_schedule.cc:815] The byte size of input/output arguments "
        "(24696099900024) exceeds the base limit (27028357120). This indicates an error in the calculation!"
    )
    [message] = read_messages(io.BytesIO(line.encode()))
    assert ("G3", False) == (message.dialect, message.is_failure)
    assert [("arguments_and_outputs", 24_696_099_900_024), ("limit", 27_028_357_120)] == [
        (figure.name, figure.size_bytes) for figure in message.figures
    ]


def test_a_limit_of_rematerialization_below_nothing_is_a_warning_without_it():
    """As people have reported it of a GPU: arguments and outputs alone take more."""
    line = (
        "2025-03-14 21:28:48.476592: W external/xla/xla/hlo/transforms/hlo_rematerialization.cc:3021] Can't "
        "reduce memory use below -25.62GiB (-27506732520 bytes) by rematerialization; only reduced to 48.25GiB "
        "(51808779708 bytes), down from 48.25GiB (51808779708 bytes) originally"
    )
    [message] = read_messages(io.BytesIO(line.encode()))
    assert ("R", False, []) == (message.dialect, message.is_failure, message.faults)
    assert {"reduced": 51_808_779_708, "original": 51_808_779_708} == {
        figure.name: figure.size_bytes for figure in message.figures
    }
    assert message.key == again_read("\n".join(message.lines)).key


@pytest.mark.parametrize("dialect", REPORTED)
def test_dialects_of_public_reports_are_read(dialect: str):
    """They are as people have reported them; only of T3b there is a specimen, too."""
    [message] = read(REPORTED[dialect])
    assert (dialect.partition(" ")[0], []) == (message.dialect, message.faults)
    if dialect in ("G1 of CPU", "G1 of a constant"):
        assert [160_000_000_000] == [figure.size_bytes for figure in message.figures]
    if dialect.startswith("G1 of CPU,"):
        assert [1 << 40] == [figure.size_bytes for figure in message.figures]
    if dialect.startswith(("G1 of an allocator", "G1 of CUDA")):
        assert [1_649_267_441_664] == [figure.size_bytes for figure in message.figures]
        assert message.is_of_allocator
    if dialect.startswith("G"):
        assert ("host" if "host" in dialect else None) == message.memory_space
    if dialect == "T4 of two cores":
        assert ["20.50G", "80.25G", "95.74G"] == [figure.printed for figure in message.figures]
    if dialect == "G1":
        [buffer] = message.allocations
        assert ("4.00GiB", "x.py", 3) == (buffer.size, buffer.source_file, buffer.source_line)
    if dialect == "T1 of 2019":
        printed = [message.figure(name).printed for name in ("hlo_temp", "hlo_temp_fragmentation", "program_reserved")]
        assert (1, ["17.08G", "53.61M", "12.0K"]) == (len(message.allocations), printed)
    if dialect == "G1 without a listing":
        assert [33_554_432] == [figure.size_bytes for figure in message.figures]
    modules = {"T3b": "jit_step", "T8 of a program": "jit_step"}
    assert ("jit_train_step" if dialect.startswith("G2") else modules.get(dialect)) == message.module
    assert message.key == again_read("\n".join(message.lines)).key


@pytest.mark.parametrize("failure", ["16384000004 bytes.", "15.26GiB. [executable_name='jit_step']"])
def test_an_allocation_that_fails_is_one_failure(failure: str):
    """The allocator writes it to the log, its bytes rounded up, and the exception follows."""
    line = REPORTED["G1 of an allocator"].replace("1649267441664", "16384000256")
    [message] = read(f"{line}jaxlib.XlaRuntimeError: Out of memory while trying to allocate {failure}\n")
    assert failure.split(maxsplit=1)[0].rstrip(".") == message.needed.printed
    assert 2 == len(read(f"{line}Out of memory while trying to allocate 16384000257 bytes.\n"))


STATISTICS = """I0000 00:00:1773083052.386377   70889 bfc_allocator.cc:1104] Stats: 
Limit:                   63350767616
InUse:                   60129542144
MaxInUse:                61203283968
NumAllocs:                      1021
MaxAllocSize:             4294967296
Reserved:                          0
PeakReserved:                      0
LargestFreeBlock:         2147483648

W0000 00:00:1773083052.386377   70889 bfc_allocator.cc:531] ***************************************************xx__
"""
OF_ALLOCATOR = ["allocator_limit", "in_use", "most_in_use", "largest_free_block"]


def failed_on_gpu(rank: str = "", size: str = "4.50GiB", in_use: int = 60_129_542_144) -> str:
    """Return what a process writes that runs out of memory: its allocator's lines, and the exception."""
    rounded = str(nominal(size))
    line = REPORTED["G1 of an allocator"].replace("1.50TiB", size).replace("1649267441664", rounded)
    failure = f"jax.errors.JaxRuntimeError: Out of memory while trying to allocate {size}. [executable_name='jit_step']"
    said = f"{line}{STATISTICS.replace('60129542144', str(in_use))}{failure}\n"
    return "".join(f"{rank}{one}" for one in said.splitlines(keepends=True))


@pytest.mark.parametrize(
    "statistics",
    [
        STATISTICS,
        STATISTICS.replace("63350767616", "   59.00GiB").replace("60129542144", "   56.00GiB")
        .replace("61203283968", "   57.00GiB").replace("2147483648", "   2.00GiB"),
    ],
)  # fmt: skip
def test_a_failure_has_what_its_allocator_says_of_itself(statistics: str):
    """In bytes, as long as it printed them, or rounded; in front of its exception or, as a message is kept, behind."""
    [message] = read(failed_on_gpu().replace(STATISTICS, statistics))
    assert ["allocation", *OF_ALLOCATOR] == [figure.name for figure in message.figures]
    sizes = [nominal(message.figure(name).printed) for name in OF_ALLOCATOR]
    assert [59 << 30, 56 << 30, 57 << 30, 2 << 30] == sizes
    again = again_read("\n".join(message.lines))
    assert (message.key, message.figures, message.lines) == (again.key, again.figures, again.lines)


def test_each_failure_has_what_was_said_before_it():
    """Two programs of one process, one after the other; without an exception the allocator's line has it."""
    first, second = read(failed_on_gpu() + failed_on_gpu(size="8.00GiB", in_use=5))
    assert ["60129542144", "5"] == [one.figure("in_use").printed for one in (first, second)]
    alone = failed_on_gpu().partition("jax.errors")[0]
    [line] = read(alone)
    assert (True, "60129542144") == (line.is_of_allocator, line.figure("in_use").printed)
    [message] = read(REPORTED["G2"])
    assert message.figure("in_use") is None


def test_what_the_allocators_of_ranks_say_does_not_tell_their_failures_apart():
    """The same failure on all ranks is one, however much each had in use."""
    [message] = read("".join(failed_on_gpu(f"[rank{rank}]: ", in_use=rank + 1) for rank in range(3)))
    assert (["[rank0]:", "[rank1]:", "[rank2]:"], "1") == (message.ranks, message.figure("in_use").printed)


def test_a_failure_has_nothing_of_another_allocator():
    """Of another rank, of a process whose prefix nobody knows, or of an allocation that a program did without."""
    line, _, _ = failed_on_gpu("[rank3]: ").partition("[rank3]: jax.errors")
    exception = "jax.errors.JaxRuntimeError: Out of memory while trying to allocate 4.50GiB."
    without = failed_on_gpu("[rank0]: ").partition("[rank0]: I0000")[0]
    [of_0, of_3] = read(f"{line}{without}[rank3]: {exception}\n")
    assert [(["[rank0]:"], False), (["[rank3]:"], True)] == sorted(
        (one.ranks, one.figure("in_use") is not None) for one in (of_0, of_3)
    )
    alien = failed_on_gpu("<trainer 4> ").partition("<trainer 4> jax.errors")[0]
    told = read(f"<trainer 3> {exception}\n{STATISTICS.replace('Limit:', '<trainer 4> Limit:')}{alien}")
    assert [None] == [one.figure("in_use") for one in told if not one.is_of_allocator]
    mixed = f"<trainer 3> {REPORTED['G1 of an allocator']}{STATISTICS.replace('Limit:', '<trainer 4> Limit:', 1)}"
    mixed = mixed.replace("InUse:", "<trainer 4> InUse:", 1)
    exception_of_4 = "<trainer 4> Out of memory while trying to allocate 1.50TiB.\n"
    assert {None} == {one.figure("in_use") for one in read(mixed + exception_of_4)}
    caught = failed_on_gpu(in_use=5).partition("jax.errors")[0]
    of_5, later = read(f"{caught}Out of memory while trying to allocate 8.00GiB.\n")
    assert ("5", None) == (of_5.figure("in_use").printed, later.figure("in_use"))
    of_gpu_1 = f"{caught.replace('GPU_0', 'GPU_1')}{exception[:-1]} with allocator GPU_0_bfc on device 0.\n"
    assert [None] == [one.figure("in_use") for one in read(of_gpu_1)]
    endless = STATISTICS.replace("         63350767616", str(2**63))
    assert [None] == [one.figure("in_use") for one in read(f"{REPORTED['G1 of an allocator']}{endless}")]


def test_statistics_without_a_failure_are_no_message():
    """An allocator's line that is no failure, tables of other programs, and a block that is cut."""
    assert [] == read(STATISTICS)
    assert [] == read(f"Limit:            16 GB of RAM\nMemory Limit:            {10**30}\n")
    [message] = read(f"Limit:            12\nName: x\n{REPORTED['G2']}")
    assert ["allocation"] == [figure.name for figure in message.figures]
    [message] = read(f"{STATISTICS.partition('InUse')[0]}\n{REPORTED['G2']}")
    assert ["allocation"] == [figure.name for figure in message.figures]


@pytest.mark.parametrize("failure", ["", "Out of memory while trying to allocate 1649267441664 bytes.\n"])
def test_pinned_memory_of_the_host_is_not_that_of_the_device(failure: str):
    """Its allocator has a name that says so; the exception behind it does not."""
    [message] = read(REPORTED["G1 of an allocator"].replace("GPU_0_bfc", "xla_gpu_host_bfc") + failure)
    assert ("G1", "host") == (message.dialect, message.memory_space)
    assert message.key == again_read("\n".join(message.lines)).key


@pytest.mark.parametrize("name", ["libtpu-0.0.33/xent", "libtpu-0.0.42.1/outputs_wide", "libtpu-0.0.33/pal"])
def test_records_of_json_that_are_printed_over_several_lines_are_lines(name: str):
    """As `gcloud logging read --format=json` gives them: what stands between two texts ends no message."""
    plain = log(name).read_text()
    records = [
        {"insertId": "a1", "labels": {"pod": "train-0"}, "severity": "ERROR", "textPayload": line, "timestamp": "2026"}
        for line in plain.splitlines()
    ]
    found, expected = ([one for one in read(text) if not isinstance(one, Refused)] for text in
                       (json.dumps(records, indent=2), plain))  # fmt: skip
    assert [one.key for one in expected] == [one.key for one in found]


def test_another_program_that_has_no_memory_is_no_failure_of_xla():
    """What XLA says on CPU has words of its own before it; compilers and libraries say nearly the same."""
    assert [] == read("cc1: Out of memory allocating 65536 bytes.\nOut of memory allocating 5 bytes.\n")
    [refused] = read("INTERNAL: Error preparing computation: Out of memory allocating 10995")
    assert isinstance(refused, Refused)


@pytest.mark.parametrize(
    "line",
    [
        "XlaRuntimeError: INTERNAL: Failed to load in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "JaxRuntimeError: INTERNAL: NCCL operation ncclAlltoAll(a, b) failed: unhandled cuda error. Last NCCL "
        "warning(error) log entry 'Cuda failure 2 'out of memory''.",
        "INTERNAL: the library was not initialized: CUBLAS_STATUS_ALLOC_FAILED",
        "XlaRuntimeError: INTERNAL: Failed to load HSACO: hipErrorOutOfMemory",
        "INTERNAL:Failed to run pass pipeline. error: 'memref.alloca' op current allocation offset upper bound (140704 "
        "words) exceeds the legitimate user allocatable offset upper bound (131071 words) in memory space 201",
        "INTERNAL: Mosaic failed: Scoped allocation with size 20.00M and limit 16.00M exceeded scoped vmem limit by 4M",
        "ResourceExhaustedError: OOM when allocating tensor with shape[32,4096] and type float by allocator GPU_0_bfc",
        "[ 1234.567] Out of memory: Killed process 4321 (python) total-vm:123456kB, anon-rss:1234kB",
        "Memory cgroup out of memory: Killed process 4321 (python3) total-vm:123456kB, UID:0 pgtables:9kB",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79 GiB",
        "RuntimeError: CUDA error: out of memory",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 12.0 GiB for an array with shape (40, 40)",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch. Some of the step tasks have been OOM Killed.",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch cgroup.",
        "      Reason:       OOMKilled",
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "systemd[1]: train.service: A process of this unit has been killed by the OOM killer.",
        "systemd[1]: train.service: Failed with result 'oom-kill'.",
    ],
)
def test_memory_that_does_not_suffice_in_other_words_never_passes_silently(line: str):
    """Of which program, and by how much, is not known: nobody is told that nothing was found."""
    [refused] = read(f"{line}\n")
    assert (1, "a message that is known, whole in its line") == (refused.line_number, refused.expected)


@pytest.mark.parametrize("said", ["true", "false"])
def test_a_container_that_was_not_killed_is_no_failure(said: str):
    """A job in CI prints what `docker inspect` says of one that ended well, and of one that did not."""
    pretty, short = f'            "OOMKilled": {said},\n', f'{{"Status":"exited","OOMKilled":{said},"Dead":false}}\n'
    assert [2 * (said == "true")] == [len(read(pretty + short))]


@pytest.mark.parametrize("status", ["", "RESOURCE_EXHAUSTED: : ", "INTERNAL: CUDA error: : "])
def test_what_the_driver_refuses_an_allocator_is_no_failure(status: str):
    """The allocator asks for less, and says itself where it gives up: the log of a program that runs has such lines."""
    line = f"failed to allocate 75.00GiB (80530636800 bytes) from device: {status}CUDA_ERROR_OUT_OF_MEMORY: no memory"
    assert [] == read(f"E0000 00:00:1746000000.000000     123 cuda_executor.cc:1228] {line}\n")
    of_hip = line.replace("CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory")
    assert [] == read(f"E0000 00:00:1746000000.000000     123 rocm_executor.cc:658] {of_hip}\n")


@pytest.mark.parametrize("words", ["A", "AB: ", "Error preparing computation: "])
def test_a_long_line_is_read_in_linear_time(words: str):
    """A line of 1 MB that begins like a message at each of its characters; hours if each were read on to the end."""
    assert all(isinstance(one, Refused) for one in read(f"{words * ((1 << 20) // len(words))}RESOURCE_EXHAUSTED\n"))


def test_a_library_that_goes_on_without_memory_of_its_own_is_no_failure():
    """XLA tries its kernels one by one: what has no room is left out, and said in a warning."""
    line = "W0000 00:00:1746000000.000000     123 dot_algorithm.cc:12] cuBLAS said CUBLAS_STATUS_ALLOC_FAILED"
    assert [] == read(f"{line}\n")


def test_an_allocator_that_tries_again_is_no_failure():
    """It says so, and for what the memory would have been good."""
    text = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB with freed_by_count=0."
    assert [] == read(f"bfc_allocator.cc:310] {text} The caller indicates that this is not a failure.\n")


def test_a_sentence_with_a_code_names_its_program():
    """Before libtpu 0.0.46.3 only the dump beside it tells which one did not fit."""
    [message], [nameless] = failures(log("libtpu-0.0.52/temps")), failures(log("libtpu-0.0.42.1/outputs_wide"))
    assert ("jit_similarities", None) == (message.module, nameless.module)


def test_a_report_that_names_its_program_is_known():
    """libtpu 0.0.52 puts the module before the words of its report; with it the sentence has exact bytes."""
    text = (TWINS / "stderr.txt").read_text()
    [message] = read(text[: text.index("I1129 09:23:02.413397")])
    assert ("T3b", "jit_two_tables") == (message.dialect, message.module)
    assert ("17.60G", 18_897_441_280) == (message.needed.printed, message.figure("all_allocations").size_bytes)


def test_the_payload_of_a_status_is_no_message():
    """It quotes the message once more, and is cut: in a line of its own, or behind the end of the message."""
    payload = "[type.googleapis.com/x.Result='Ran out of memory in memory space hbm. Used 1.00G of...[truncated]']"
    text = message_of("libtpu-0.0.52/window").rstrip()
    [plain] = read(text)
    for said in (f"{text} {payload}\n", f"{text}\n{payload}\n", f"{text}\nSee https://x.example/e. {payload}\n"):
        [message] = read(said)
        assert plain.key == message.key


def test_a_listing_gives_its_allocations():
    """Numbered blocks with operator, shape, label and kind, in their order."""
    [message] = failures(LISTING)
    assert list(range(1, 14)) == [one.number for one in message.allocations]
    first = message.allocations[0]
    assert ("14.65G", "HLO temp", "jit(lm_head_loss)/jvp(jit(log_softmax))/sub", "fusion.2.remat") == (
        first.size, first.kind, first.op_name, first.instruction
    )  # fmt: skip
    assert "f32[16,2048,120000]{1,2,0:T(8,128)}" == first.shape


@pytest.mark.parametrize(
    "prefix",
    [
        "(EngineCore pid=12) ", "[rank3]: ", "[default0]:", "E0000 00:00:1795368595.069269     901 file.cc:530] ",
        "2026-11-22 17:30:32.022086: E external/xla/file.cc:12] ",
        "2020-05-04 09:05:40.721128: E    1578 x/y.cc:76] ", "\x1b[31m", "(pid=7) [rank1]: ",
        "2026-11-26T19:22:25.123456789Z stderr F ", "2026-11-26T19:22:25.1234567Z ", "[2026-11-26 19:22:25] ",
        "2026-11-26 19:22:25,123 ERROR ", "2026-11-26 19:22:25,123 - root - ERROR - ", "[19:22:25] ",
        "Nov 26 19:22:25 host python[123]: ", "2026-11-26T19:22:25+0000 host python[123]: ", "worker-1  | ",
        "[pod/train-0/main] ", "[1,3]<stderr>:", "[worker-3] ", "worker-0: ", "node001: ", "E       ",
        "2026-11-26T19:22:25.1Z stderr F [rank3]: E1122 17:30:32.022086    1167 file.cc:658] ",
        "[2026-11-26T19:22:25.123+0000] {subprocess.py:93} INFO - ", "[2026-11-26, 19:22:25 UTC] {{a.py:1}} ERROR - ",
        "1764244800 ", "1764244800.123 ", "1764244800123 ", "[1764244800.123456] [rank3]: ",
        "<14>1 2026-11-26T19:22:25.123456Z host python 123 - - ", "<14>Nov 26 19:22:25 host python[123]: ",
        '<14>1 2026-11-26T19:22:25Z host python 123 ID47 [a@1 b="c]"][d] E1122 17:30:32.022086    1167 file.cc:658] ',
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["libtpu-0.0.33/xent", "libtpu-0.0.33/pal"])
def test_prefixes_are_taken_off(name: str, prefix: str):
    """Of launchers, logging and what collects logs, on every line of the message; colors too."""
    text = "".join(f"{prefix}{line}".rstrip() + "\n" for line in message_of(name).splitlines())
    [message], [plain] = read(text), read(message_of(name))
    assert plain.key == message.key


@pytest.mark.parametrize(
    "prefix",
    [
        "2026/11/28 05:44:{:02} ", "[Rank 4] ", "a7 > ", "[trainer/0] [W13] ", "2026-11-28T05:44:10Z  app[worker] ",
        "28-Nov-2026 05:44:{:02}.123 [main] SEVERE: ", "2026-11-28 05:44:10.{:03} | ERROR | train:main:12 - ",
        "[11/28/26 05:44:{:02}] ", "  * ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["libtpu-0.0.33/xent", "libtpu-0.0.33/pal"])
def test_a_prefix_that_no_rule_knows_is_what_all_lines_begin_with(name: str, prefix: str):
    """Homemade launchers and loggers: the first line shows it. Times need not be the same."""
    whole = message_of(name)
    text = "".join(f"{prefix.format(at % 60)}{line}".rstrip() + "\n" for at, line in enumerate(whole.splitlines()))
    [message], [plain] = read(text), read(whole)
    assert (plain.key, plain.lines) == (message.key, message.lines)


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("\x1b[31m", "\x1b(B\x1b[m"),  # tput
        ("\x1b[1;31m", "\x1b[0m\x1b[K"),
        ("\x1b]8;;file:///srv/train.py\x07", "\x1b]8;;\x07"), ("\x1b]0;train\x1b\\", ""),
    ],
)  # fmt: skip
def test_what_a_terminal_does_not_show_is_taken_off(begin: str, end: str):
    """Colors, character sets, links and titles, around every line."""
    text = message_of("libtpu-0.0.33/xent")
    [message], [plain] = read("".join(f"{begin}{line}{end}\n" for line in text.splitlines())), read(text)
    assert plain.key == message.key


@pytest.mark.parametrize("name", [name for name in SAID if SAID[name][0] not in ("T4", "T7")])
def test_a_message_that_is_quoted_is_read(name: str):
    """In objects of JSON, one a line or one around all lines, and in an exception as `repr` writes it."""
    text = message_of(name).rstrip()
    as_repr = f"ERROR: XlaRuntimeError({text!r})"
    records = [{"severityText": "ERROR", "body": {"stringValue": line}} for line in text.splitlines()]
    texts = [
        "".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) + "\n" for line in text.splitlines()),
        json.dumps({"severity": "ERROR", "textPayload": f"Traceback:\n{text}"}),
        json.dumps({"event": "a step failed", "exc_info": {"exception": text}}),
        as_repr,
        json.dumps({"message": as_repr}),
        json.dumps({"log": json.dumps({"level": "error", "msg": f"step failed: {text}"}) + "\n", "stream": "stderr"}),
        json.dumps({"message": "a step failed", "error": {"type": "JaxRuntimeError", "message": text}}),
        json.dumps({"event": "a step failed", "exception": [{"exc_type": "JaxRuntimeError", "exc_value": text}]}),
        json.dumps({"event": "a step failed", "traceback": text.splitlines(keepends=True)}),
        json.dumps({"logEvents": [{"timestamp": 1, "message": line} for line in text.splitlines()]}),
        "".join(json.dumps({"severityText": "ERROR", "body": line}) + "\n" for line in text.splitlines()),
        "".join(json.dumps(record) + "\n" for record in records),
        json.dumps([{"insertId": "a", "textPayload": f"step failed: {text}", "severity": "ERROR"}], indent=2),
        json.dumps({"event": "step failed", "exception": ["Traceback", text]}, indent=2),
        json.dumps([{"insertId": "a", "textPayload": line} for line in text.splitlines()]),
        json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}),
    ]
    [plain] = read(text)
    for one in texts:
        [message] = read(one)
        assert plain.key == message.key


def of_cri(text: str, is_last: bool) -> str:
    return f"2026-11-27T12:00:00.123456789Z stderr {'F' if is_last else 'P'} {text}"


def of_docker(text: str, is_last: bool) -> str:
    return json.dumps({"log": text + "\n" * is_last, "stream": "stderr", "time": "2026-11-27T12:00:00Z"})


@pytest.mark.parametrize("split", [of_cri, of_docker])
@pytest.mark.parametrize("before", [0, 15_900, 16_500, 40_000])
def test_a_line_that_a_container_writes_in_parts_is_read(split, before: int):
    """Of 16 KiB, whatever the part in which the message begins; the other stream writes between them."""
    text = message_of("libtpu-0.0.33/xent")
    line = json.dumps({"level": "error", "message": f"step failed\n{'x' * before}\n{text}"})
    starts = range(0, len(line), 16384)
    parts = [split(line[start : start + 16384], start == starts[-1]) for start in starts]
    [message] = read("\n".join(["fine", *parts, split("fine", True)]))
    assert (read(text)[0].key, 2) == (message.key, message.line_number)


@pytest.mark.parametrize("split", [of_cri, of_docker])
def test_the_other_stream_may_write_between_parts(split):
    """A line of which the last part never comes is refused, and the rest of the log is read."""
    text = message_of("libtpu-0.0.33/xent")
    line = json.dumps({"message": f"{'x' * 15_900}\n{text}"})
    first, last = split(line[:16384], False), split(line[16384:], True)
    other = f"{split('fine', True)}\n".replace("stderr", "stdout")
    [message] = read(f"{first}\n{other * 3}{last}\n")
    assert (read(text)[0].key, 1) == (message.key, message.line_number)
    refused, found = read(f"{first}\n{other * 2000}{split('Out of memory while trying to allocate 1.50GiB.', True)}\n")
    assert (True, 1, 2002) == (isinstance(refused, Refused), refused.line_number, found.line_number)


def test_a_long_line_without_a_line_feed_is_no_part():
    """What collects logs takes the line feed away, and adds names."""
    text = message_of("libtpu-0.0.33/xent")
    record = {"log": f"{'x' * 20_000}\n{text}", "stream": "stderr", "kubernetes": {"pod_name": "a"}}
    [message] = read("".join(json.dumps({**record, "log": told}) + "\n" for told in (record["log"], "fine")))
    assert (read(text)[0].key, ["a:"]) == (message.key, message.ranks)


def test_objects_of_json_tell_who_wrote_them():
    """Lines of three pods in turn are three messages that say the same; a line that is no object is passed by."""
    lines = message_of("libtpu-0.0.33/xent").splitlines()
    records = [{"log": line, "kubernetes": {"pod_name": f"p{pod}"}} for line in lines for pod in range(3)]
    [message] = read("{ no JSON RESOURCE\n" + "\n".join(map(json.dumps, records)))
    assert ([], ["p0:", "p1:", "p2:"]) == (message.faults, message.ranks)
    [message] = read('{"log": "Out of memory while trying to allocate 1.50GiB.", "pod": "\\ud800"}')
    assert ["\\ud800:"] == message.ranks


@pytest.mark.parametrize("order", [1, -1], ids=["forward", "backward"])
def test_streams_of_loki_are_read(order: int):
    """A line of each is a pair with its time; the newest is the first if it is not asked otherwise."""
    text = message_of("libtpu-0.0.33/xent")
    pairs = [[str(1764244800000000000 + time), line] for time, line in enumerate(text.splitlines())]
    streams = [{"stream": {"pod": f"p{pod}"}, "values": pairs[::order]} for pod in range(2)]
    [message] = read(json.dumps({"status": "success", "data": {"resultType": "streams", "result": streams}}))
    assert (read(text)[0].key, ["p0:", "p1:"]) == (message.key, message.ranks)


@pytest.mark.parametrize(
    "record",
    [
        {"RESOURCE_EXHAUSTED": 1}, {"event": "end", "states": [["RESOURCE_EXHAUSTED"], 3]},
        {"streams": [{"stream": {}, "values": {"a": ["RESOURCE_EXHAUSTED", "b"]}}]},
        {"streams": [{"stream": {}, "values": [["1"], {"a": "RESOURCE_EXHAUSTED"}]}]},
        {"message": "ValueError('INTERNAL: none'); RESOURCE_EXHAUSTED"},
    ],
)  # fmt: skip
def test_an_object_with_a_key_never_passes_silently(record: dict):
    """Wherever it stands: what is no message is refused."""
    [refused] = read(f"{json.dumps(record)}\n")
    assert isinstance(refused, Refused)


def test_what_stands_beside_a_quotation_never_passes_silently():
    """A line may quote one exception and say another."""
    [refused] = read("XlaRuntimeError('INTERNAL: stopped') behind RESOURCE_EXHAUSTED\n")
    assert isinstance(refused, Refused)


def test_a_refused_line_in_json_has_its_place():
    """The column is where it begins in the line of the log."""
    line = json.dumps({"log": "RESOURCE_EXHAUSTED: quota\n"})
    [refused] = read(f"fine\n{line}\n")
    assert (2, 1 + line.index("RESOURCE")) == (refused.line_number, refused.column_number)


def test_processes_of_one_syslog_are_told_apart():
    """RFC 5424 writes host, program and process behind the time."""
    text = message_of("libtpu-0.0.33/xent").splitlines()
    told = "".join(f"<14>1 2026-11-26T19:22:25Z host python {pid} - - {line}\n" for line in text for pid in range(3))
    [message] = read(told)
    assert ([], [f"host python {pid}" for pid in range(3)]) == (message.faults, message.ranks)


def test_many_ranks_that_say_the_same_are_one_finding():
    """Their lines are interleaved; ranks are named in the order in which they begin."""
    text = message_of("libtpu-0.0.33/kv").splitlines()
    ranks = [f"[rank{number}]:" for number in range(704)]
    mixed = "".join(f"{rank} {line}\n" for line in text for rank in ranks)
    [message], [plain] = read(mixed), read(message_of("libtpu-0.0.33/kv"))
    assert (plain.key, ranks) == (message.key, message.ranks)


def test_ranks_of_a_padded_label_are_told_apart():
    """Slurm (`srun --label`) writes the numbers of its tasks right-aligned: ` 9: `, `10: `."""
    texts = [message_of(name).splitlines() for name in ("libtpu-0.0.33/kv", "libtpu-0.0.33/xent")]
    mixed = "".join(
        f"{task:2}: {text[at]}\n"
        for at in range(max(map(len, texts)))
        for task, text in ((8, texts[0]), (9, texts[1]), (10, texts[0]))
        if at < len(text)
    )
    plain = [read("\n".join(text))[0].key for text in texts]
    assert [(plain[0], ["8:", "10:"]), (plain[1], ["9:"])] == [(one.key, one.ranks) for one in read(mixed)]


def test_two_processes_without_a_prefix_are_not_mixed_up_in_silence():
    """Lines of one within a block of the other: the first is cut, which is said."""
    text = message_of("libtpu-0.0.33/kv")
    head, tail = text[: len(text) // 2], text[len(text) // 2 :]
    first, *_ = read(f"{head}\n{message_of('libtpu-0.0.33/i8')}\n{tail}")
    assert isinstance(first, Message)
    assert first.faults


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("prefix", ["[Rank {}] ", "2026/11/28 05:44:{:02} [{}] "])
def test_processes_with_a_prefix_that_no_rule_knows_are_told_apart(prefix: str, seed: int):
    """Or it is said that a message is cut; none of one and the other's lines is told as whole."""
    chance, names = random.Random(seed), ("libtpu-0.0.33/kv", "libtpu-0.0.33/xent", "libtpu-0.0.33/i8")
    left = [[(rank, line) for line in message_of(name).splitlines()] for rank, name in enumerate(names, 7)]
    told, second = [], 0
    while left := list(filter(None, left)):
        lines, count = chance.choice(left), chance.choice([1, 3, 20])
        told += [f"{prefix.format(*([second % 60] * (':' in prefix)), rank)}{line}" for rank, line in lines[:count]]
        del lines[:count]
        second += 1
    expected = {read(message_of(name))[0].key for name in names}
    found = [one for one in read("\n".join(told)) if not one.faults]
    assert expected == {one.key for one in found}


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
def test_a_message_that_is_cut_says_so(share: float):
    """In its sentence it is refused, with its place; in its listing it is found, with the fault."""
    text = message_of("libtpu-0.0.33/xent")
    [found] = read(f"INFO: begins\n{text[: int(len(text) * share)]}")
    assert (2, True) == (found.line_number, isinstance(found, Refused) or bool(found.faults))


def test_a_listing_of_a_kernel_that_is_cut_says_so():
    """Of VMEM there is a sentence without a listing, too: that one is whole."""
    text = message_of("libtpu-0.0.33/pal")
    [message] = read(text[: text.index("Program vmem requirement")])
    faults = ["it is cut before its listing, or its lines begin with what is not known"]
    assert ("T6", faults) == (message.dialect, message.faults)
    assert [] == read(text)[0].faults


@pytest.mark.parametrize(
    ("cut", "fault"),
    [
        ("    HLO temp", "it is cut before its allocations, or their lines begin with what is not known"),
        (
            "  Largest program allocations",
            "it is cut before its allocations, or their lines begin with what is not known",
        ),
        ("  1. Size: ", "it is cut before the first allocation of its listing"),
    ],
)
def test_a_listing_that_is_cut_behind_its_requirement_says_so(cut, fault):
    """What follows the requirement is in every message of the kind."""
    text = message_of("libtpu-0.0.33/xent")
    [message] = read(text[: text.index(cut)])
    assert [fault] == message.faults


@given(st.randoms(use_true_random=False))
@settings(max_examples=150)
def test_lines_of_two_processes_make_no_third_message(chance):
    """Without a name of the process before each line they cannot be told apart: what is mixed says so.

    But for blocks of a listing, of which nothing says how many there are.
    """
    names = chance.sample(["libtpu-0.0.33/xent", "libtpu-0.0.33/kv", "libtpu-0.0.33/args", "libtpu-0.0.33/pal"], 2)
    texts = [message_of(name) for name in names]
    left, mixed = [text.splitlines() for text in texts], []
    while any(left):
        lines = chance.choice([one for one in left if one])
        taken = chance.randint(1, 12)
        mixed += lines[:taken]
        del lines[:taken]
    whole = [read(text)[0] for text in texts]
    for message in read("\n".join(mixed)):
        is_known = isinstance(message, Refused) or message.faults
        assert is_known or any(set(message.figures) <= set(one.figures) for one in whole)


def test_a_sentence_without_a_listing_takes_none():
    """A listing behind it is of another process, whose lines nothing tells apart."""
    sentence = message_of("libtpu-0.0.42.1/outputs_wide").splitlines()[0]
    [message] = read(sentence + "\n" + message_of("libtpu-0.0.33/kv").partition("\n")[2])
    assert ("T3", [], []) == (message.dialect, message.allocations, message.faults)


def test_figures_that_contradict_each_other_are_said_to():
    """Used and capacity are rounded; what is too much must lie between."""
    text = message_of("libtpu-0.0.33/xent")
    assert [] == read(text)[0].faults
    [message] = read(text.replace("Used 21.97G", "Used 23.97G"))
    assert ["used 23.97G of 15.75G is not 6.22G too much"] == message.faults
    [message] = read(text.replace("Total hbm usage >= 22.22G", "Total hbm usage >= 24.22G"))
    assert ["its total of 24.22G is not what it used, 21.97G, and what is reserved"] == message.faults


def test_what_looks_like_a_message_is_refused_with_its_place():
    """Line and column, what was expected and what was found."""
    [refused] = read("fine\n  jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory on HBM, for once.\n")
    assert (2, 51) == (refused.line_number, refused.column_number)
    assert "Ran out of memory on HBM, for once." == refused.found


def test_a_line_of_any_length_is_passed_by():
    """It may hold anything; the message behind it is read, with its line."""
    text = b"x" * (9 << 20) + b"\n" + message_of("libtpu-0.0.33/kv").encode()
    [message] = read(text)
    assert 2 == message.line_number
    [refused] = read(b"Ran out of memory in memory space hbm" + b"x" * (9 << 20))
    assert isinstance(refused, Refused)


def test_lines_are_counted_over_blocks(tmp_path):
    """A log of many blocks, of which nearly all lines are none of a message's; compressed or not."""
    noise = b"".join(b"step %d loss 0.1\n" % number for number in range(400_000))
    text = noise + message_of("libtpu-0.0.42.1/outputs_wide").encode()
    [message] = read(text)
    assert 400_001 == message.line_number
    with gzip.open(tmp_path / "train.log.gz", "wb", 1) as file:
        file.write(text)
    with gzip.open(tmp_path / "train.log.gz") as file:
        assert [message.line_number] == [one.line_number for one in read_messages(file)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("block_bytes", [1 << 10, (1 << 10) + 1])
def test_a_log_that_begins_with_its_mark_is_read(encoding: str, block_bytes: int, monkeypatch):
    """PowerShell writes UTF-16, or a mark before UTF-8; a character may lie in two blocks."""
    monkeypatch.setattr("bufferhouse.messages.log.BLOCK_BYTES", block_bytes)
    text = json.dumps({"log": "Out of memory while trying to allocate 1.50GiB."}) + "\n" + "\u00fc\U0001f4be\r\n" * 999
    text += message_of("libtpu-0.0.33/kv").replace("\n", "\r\n")
    first, second = read(("" if encoding == "utf-8-sig" else "\ufeff").encode(encoding) + text.encode(encoding))
    assert ("1.50GiB", 1, 1001) == (first.needed.printed, first.line_number, second.line_number)
    assert read(message_of("libtpu-0.0.33/kv"))[0].key == second.key
    [refused] = read("\ufeffRESOURCE_EXHAUSTED".encode("utf-16-le") + b"\x00")
    assert isinstance(refused, Refused)


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_damaged_messages_never_pass_silently(count: int):
    """A damaged message says the same, is refused, has a fault, or differs in what it says; it never vanishes."""
    rng = random.Random(4)
    texts = {name: message_of(name) for name in SAID if SAID[name][0] != "T7"}
    keys = {name: read(text)[0].key for name, text in texts.items()}
    outcomes: dict[str, int] = {}
    for _ in range(count):
        name = rng.choice(list(texts))
        found = read(damaged(texts[name], rng))
        assert found, name
        first = found[0]
        kind = (
            "refused" if isinstance(first, Refused)
            else "fault" if first.faults
            else "same" if first.key == keys[name]
            else "other"
        )  # fmt: skip
        outcomes[kind] = outcomes.get(kind, 0) + 1
    assert {"refused", "fault", "same", "other"} == outcomes.keys()


def damaged(text: str, rng: random.Random) -> str:
    """One byte changed, a piece cut out, a line doubled, lines exchanged, a number made huge, or the end cut off."""
    place = rng.randrange(len(text))
    lines = text.split("\n")
    number = rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        return text[:place] + chr(rng.randrange(32, 127)) + text[place + 1 :]
    if kind == 1:
        return text[:place] + text[place + rng.randrange(1, 20) :]
    if kind == 2:
        return "\n".join([*lines[: number + 1], *lines[number:]])
    if kind == 3:
        other = rng.randrange(len(lines))
        lines[number], lines[other] = lines[other], lines[number]
        return "\n".join(lines)
    if kind == 4:
        return re.sub(r"\d+", lambda found: found[0] if rng.random() < 0.9 else "9" * 40, text)
    return text[: max(place, len("RESOURCE_EXHAUSTED: "))]


@pytest.mark.parametrize(
    "text",
    [
        f"Ran out of memory in memory space hbm. Used {'9' * 5000}G of 15.75G hbm. Exceeded hbm capacity by 3.33G.",
        f"Allocation (size={'9' * 5000}) would exceed memory (size=5) :: #allocation1 [shape = 'f32[2]', space=hbm, "
        "size = 0xff, tag = 'x'] :: y",
    ],
)
def test_a_number_of_any_length_is_refused(text: str):
    """Python reads no number of 5,000 digits; no compiler prints one."""
    [refused] = read(text)
    assert isinstance(refused, Refused)


def test_a_report_of_bytes_behind_another_message_is_none_of_its_figures():
    """A message without a figure of that name keeps what it says."""
    text = f"{REPORTED['G1']}Memory Space: default (color=0)\nTotal bytes: 5 (5B)\n"
    assert [read(REPORTED["G1"])[0].key] == [one.key for one in read(text)]


def test_of_a_size_in_a_block_only_a_size_is_taken():
    """Anything else ends the message, which says that it is cut."""
    [message] = read(REPORTED["G1"].replace("Size: 4.00GiB", "Size: large"))
    assert ["it is cut within allocation 1 of its listing"] == message.faults


@pytest.mark.parametrize("left", ["2", "2.", "2. Si", "2. Size: 4.0"])
def test_a_listing_that_is_cut_within_the_head_of_an_allocation_says_so(left: str):
    """What is left of the head is no line of another message."""
    [message] = read(f"{REPORTED['T1 of 2019']}  {left}")
    assert ["it is cut within allocation 2 of its listing"] == message.faults


def test_what_is_kept_of_refused_lines_is_bounded():
    """A hundred lines by themselves, the others as one, which counts them."""
    lines = b"".join(b"RESOURCE_EXHAUSTED: quota %d\n" % number for number in range(1000))
    found = list(read_messages(io.BytesIO(lines)))
    assert MOST_REFUSED + 1 == len(found)
    assert (1000, 101) == (sum(one.count for one in found), found[-1].line_number)


def test_a_rank_that_is_silent_is_not_waited_for():
    """Its message ends, and nothing is open any more: the rest of the log is skipped, not read line by line."""
    message = b"[rank3]: Ran out of memory on HBM, the total memory required for HLO temporaries (32.02G) exceeds"
    noise = b"[rank4]: step\n" * (PATIENCE_LINES + 3000)
    reading = _Reading("log")
    data = io.BytesIO(message + b" available HBM (15.75G).\n" + noise * 3)
    read = 0

    def counted():
        nonlocal read
        for line in lines(data, lambda: bool(reading.open_ones or reading.awaited)):
            read += 1
            yield line

    assert [] == list(reading.refused(counted()))
    assert (1, True) == (len(reading.ended), read < PATIENCE_LINES + 3000)


@pytest.mark.parametrize("name", SAID)
def test_a_stored_text_is_the_same_message(name: str):
    """The lines of a message, read again, are the message: without prefixes, whatever stood between them."""
    for message in failures(log(name)):
        again = again_read("\n".join(message.lines))
        assert message.key == again.key
