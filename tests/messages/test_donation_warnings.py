"""JAX's warning of donations that it could not use, in the forms of its releases, damaged, and endless."""

import io

import pytest

from bufferhouse.messages.message import DONATION, Message, Refused, read_messages

BEGIN = "/opt/venv/jax/_src/interpreters/mlir.py:1326: UserWarning: "
SAYS = "Some donated buffers were not usable: "
SEE = "See an explanation at https://docs.jax.dev/en/latest/faq.html#buffer-donation.\n"


def read(text: str) -> list[Message | Refused]:
    return list(read_messages(io.BytesIO(text.encode())))


def arguments(message: Message) -> list[str]:
    return [one.shape for one in message.allocations]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("float32[256,192].", ["float32[256,192]"]),  # 0.10.0
        (
            "ShapedArray(int32[8,1024]), ShapedArray(float32[8,3]).",
            ["ShapedArray(int32[8,1024])", "ShapedArray(float32[8,3])"],
        ),
        ("ShapedArray(float32[], weak_type=True)", ["ShapedArray(float32[], weak_type=True)"]),
        ("f32[2,3]{1,0}, f32[]", ["f32[2,3]{1,0}", "f32[]"]),  # 2020
        ("key<fry>[4], float32[8@x,4], float32<host>[8].", ["key<fry>[4]", "float32[8@x,4]", "float32<host>[8]"]),
    ],
)
def test_the_arguments_are_those_of_the_warning(said, expected):
    """In order and verbatim; what stands behind the warning, its statement too, is no message."""
    echo = '  warnings.warn("Some donated buffers were not usable:"\n'
    [message] = read(f"compiling\n{BEGIN}{SAYS}{said}\n{SEE}{echo}done\n")
    assert (DONATION, 2, False, []) == (message.dialect, message.line_number, message.is_failure, message.faults)
    assert expected == arguments(message)
    assert [SAYS + said] == message.lines


def test_a_platform_without_donation_is_said():
    """The line behind the warning belongs to it."""
    [message] = read(f"{BEGIN}{SAYS}float32[2].\nDonation is not implemented for ('cpu',).\n{SEE}")
    assert [f"{SAYS}float32[2].", "Donation is not implemented for ('cpu',)."] == message.lines


def test_what_ranks_say_alike_is_one():
    """With the ranks; another rank's warning of other arguments is another one."""
    lines = [f"[rank{rank}]: {SAYS}float32[{size}].\n" for rank, size in ((0, 2), (1, 2), (2, 3))]
    one, other = read("".join(lines))
    assert (["[rank0]:", "[rank1]:"], ["[rank2]:"]) == (one.ranks, other.ranks)


@pytest.mark.parametrize(
    "echo",
    [
        "warnings.warn(f\"Some donated buffers were not usable: {', '.join(unused_donations)}.\\n{msg}\")",
        'warn("Some donated buffers were not usable: {}".format(", ".join(unused_donations)))',
        'warnings.filterwarnings("ignore", message="Some donated buffers were not usable")',
        "Some donated buffers were not usable: " + "[" * 1000,
    ],
)
def test_source_code_is_no_warning(echo):
    """Nor refused: Python prints the statement that warns behind each warning."""
    assert [] == read(f"{echo}\n")


@pytest.mark.parametrize(
    "said", ["float32[25", "float32[2], ", "float32[2], ShapedArray(int", "float32[2] and more", "a]["]
)
def test_a_damaged_warning_says_what_is_wrong(said):
    """It is kept with a fault, so that nothing is joined by it; the log is read on."""
    message, other = read(f"{BEGIN}{SAYS}{said}\n{SAYS}float32[7].\n")
    assert 1 == len(message.faults)
    assert (["float32[7]"], []) == (arguments(other), other.faults)


def test_an_endless_warning_ends():
    """Of more arguments than a program has the first are kept; a line of megabytes is refused and stops nothing."""
    [message] = read(SAYS + "float32[1], " * 300_000)
    assert (10_000, 1) == (len(message.allocations), len(message.faults))
    refused, message = read(SAYS + "float32[1], " * 1_000_000 + f"\n{SAYS}float32[2].\n")
    assert (Refused, ["float32[2]"]) == (type(refused), arguments(message))
