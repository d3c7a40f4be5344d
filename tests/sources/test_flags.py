"""Which flags of a run may change what is compiled."""

import pytest

from bufferhouse.sources.flags import differing, effective_flags


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ("", ""),
        ("--xla_dump_to=/a --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=.*", ""),
        ("--xla_gpu_dump_autotune_results_to=/a --xla_gpu_per_fusion_autotune_cache_dir=/b", ""),
        ("--v=3 --vmodule=x=1 --xla_detailed_logging --xla_log_hlo_text=f --xla_gpu_kernel_cache_file=/c", ""),
        ("--xla_b=2 --xla_dump_to=/a --xla_a", "--xla_a --xla_b=2"),
        ("--xla_a=1  --xla_a=2", "--xla_a=2"),
        ("--xla_disable_hlo_passes='a b'", "'--xla_disable_hlo_passes=a b'"),
        ("--xla_gpu_load_autotune_results_from=/a", "--xla_gpu_load_autotune_results_from=/a"),
        ("--xla_a='open", "--xla_a='open"),
        ("/etc/xla.flags", None),
    ],
)
def test_flags_about_places_dumps_and_logs_are_no_part_of_the_same_flags(given, expected):
    """In the order of names, the last of each; what is read to compile with it stays; a file of flags is unknown."""
    assert expected == effective_flags(given)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("--xla_a=1 --xla_b", "--xla_b --xla_c", (["--xla_a=1"], ["--xla_c"])),
        ("--xla_p='a b' --xla_q", "--xla_p='a c' --xla_q", (["'--xla_p=a b'"], ["'--xla_p=a c'"])),
        ("--xla_a='open --xla_b", "--xla_b", (["--xla_a='open"], [])),
    ],
)
def test_a_flag_with_a_space_in_it_differs_as_a_whole(before, after, expected):
    """What stands in quotes is one flag."""
    assert expected == differing(effective_flags(before), effective_flags(after))
