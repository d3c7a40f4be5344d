"""Instruction texts: where they end, and what stands in them."""

import pytest

from bufferhouse.dump import Dump, DumpError, parse, render
from bufferhouse.dump.instruction_text import attributes
from tests.fuzz import used_values

ADD = "%v = f32[2]{0} add(%a, %b)"
FAKE_BLOCK = "\n<1 v1 @0>\n positions:\n  v1\n uses:\n from instruction: %v = f32[] fake()\n"
# Texts with line feeds of a user: raw configs that only look as if lines of the dump stood in them.
RAW_CONFIGS = {
    "lines like those of a block": '{"body": "x' + FAKE_BLOCK + '"}',
    "lines like those of a block, not quoted": "{a = b" + FAKE_BLOCK + "}",
    "a head behind an open bracket": "{a = dense<[1, 2 : (x" + FAKE_BLOCK + "}",
    "a line like the title of uses": '{\n positions:\n uses:\n  (none)\n"k": 1\n}',
    "a line like the live range": '{"a": "\n\nHloLiveRange (max 3):\n  InstructionSequence:\n"}',
    "a line like the live range, not quoted": "{a\n\nHloLiveRange (max 0):\n  InstructionSequence:\n}",
    "braces in quotes": '{"a": "}}\n{{{", "b": {}}',
    "escaped quotes": r'{"a": "\"}' + "\n" + r'\\"}',
    "carriage returns and tabs": '{\r\n\t"a": 1\r\n}',
    "other scripts": '{"a": "жé│\n漢"}',
    "a line feed at the end": '{"a": 1}\n',
    "blank lines at the end": '{"a": 1}\n\n \n\t\n',
    "comments at the end": '{"a": 1} // it is "odd\n/* [one\n two */\n',
    "a comment over two lines": '{"a": 1} /* one\n two */',
    "line feeds at the start": '\n\n {"a": 1}',
    "a comment at the start": ' // one\n{"a": 1}',
    "dicts in dicts": "{{{\n}\n{}}\n}",
}


def texts_of(data: bytes) -> list[str]:
    """Read a dump that has to come back byte for byte; return its instruction texts."""
    dump = parse(data)
    assert {"combined": data} == render(dump)
    return dump.values.instruction_text


@pytest.mark.parametrize("glue", ["\n", ""], ids=["apart", "glued"])
@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("name", RAW_CONFIGS)
def test_a_raw_config_ends_where_its_braces_do(name: str, place: int, glue: str):
    """Line feeds and look-alikes inside belong to the text, wherever in the section it stands."""
    texts = [ADD, ADD, ADD]
    texts[place] = f"%v = f32[2]{{0}} custom-call(%a), backend_config={RAW_CONFIGS[name]}"
    if place == 2 and RAW_CONFIGS[name].endswith("\n") and glue == "":
        texts[place] = texts[place].rstrip("\n")  # nothing tells it from the empty line before the live range
    assert texts == texts_of(used_values(*texts, glue=glue))


def test_a_raw_config_of_a_split_dump_ends_where_its_braces_do():
    """The values file has no live range behind it: its end is that of the last text."""
    texts = [f"%v = f32[] custom-call(), backend_config={config}" for config in RAW_CONFIGS.values()]
    texts.append(ADD)
    data = used_values(*texts)
    start, end = data.index(b"\nTotal"), data.index(b"\n\nHloLiveRange (max 0):\n  InstructionSequence:\n  Buffer")
    files = {"allocations": data[:start], "values": data[start:end]}
    dump = parse(files)
    assert files == render(dump)
    assert texts == dump.values.instruction_text


@pytest.mark.parametrize(
    "text",
    [
        "%v = f32[<=10]{0} parameter(0)",
        '%v = f32[] custom-call(), metadata={op_name="a<1 v1 @0> b"}',
        '%v = f32[] custom-call(), metadata={op_name="x<5 tuple.2{} @0"}',
        "%v = f32[] add(%a) <",
        "%v = f32[] add(%a)<7",
        "%v = f32[] add(%a)> <8 x>",
    ],
)
def test_a_glued_line_is_cut_before_its_last_bracket(text: str):
    """D7: the next head begins at the last `<` of the line, whatever stands before it."""
    assert [text, ADD, text] == texts_of(used_values(text, ADD, text, glue=""))


def test_one_glued_block_is_told_by_the_missing_line_feed_alone():
    """A single text is followed by one empty line instead of two."""
    dumps = [parse(used_values(ADD, glue=glue)) for glue in ("", "\n")]
    assert [True, False] == [dump.is_glued for dump in dumps]
    assert [[ADD], [ADD]] == [dump.values.instruction_text for dump in dumps]


@pytest.mark.parametrize("glue", ["\n", ""], ids=["apart", "glued"])
@pytest.mark.parametrize(
    "text",
    [
        '%v = f32[] add(), frontend_attributes={k="it"s"}',
        '%v = f32[] add(), frontend_attributes={k="it"s\n over two lines"}',
        '%v = f32[] add(), frontend_attributes={k="a\nb",l={"c":"d\ne"}}',
        '%v = f32[] add(), metadata={scheduling_name="a"b{c"}',
        '%v = f32[] add(), domain={kind="(", x}, origin={"[{"}',
        '%v = f32[] add(), async_execution_thread="x\\"',
    ],
)
def test_quotes_that_were_not_escaped_end_at_the_next_block(text: str, glue: str):
    """Where brackets never close, a text runs to the first place where a block or the section can begin."""
    config = "%v = f32[] custom-call(), backend_config={\n}"
    for texts in ([text, text, ADD], [ADD, text], [config, text, config, text]):
        assert texts == texts_of(used_values(*texts, glue=glue))


def test_a_fake_end_of_the_section_is_passed_over_in_the_stack_trace():
    """A label may hold what looks like another live range."""
    trace = (
        "  Stack trace breakdown for peak usage: 0 bytes\n"
        "    a\n\nHloLiveRange (max 7):\n (0.0%, total: 0 bytes, current: 0 bytes, remaining: 0 bytes)\n"
    )
    data = used_values(ADD, ADD, behind=trace)
    without_texts = data.replace(f" from instruction: {ADD}\n".encode(), b"")
    assert [ADD, ADD] == texts_of(data)
    assert [] == texts_of(without_texts)
    assert [trace, trace] == [parse(data).stack_trace, parse(without_texts).stack_trace]


@pytest.mark.parametrize(
    "lines",
    ["\n operand 0", "\n positions:\n  v", "\n\n", "\n  v", '\n"', "\n{", "\n<9 gone @0>\n positions:\n  v\n uses:\n"],
)
@pytest.mark.parametrize("place", [0, 1], ids=["first", "last"])
def test_lines_behind_a_closed_instruction_are_refused(lines: str, place: int):
    """A text goes on in the next line only where brackets are open: other lines are no part of it."""
    texts = [ADD, ADD]
    texts[place] += lines
    data = used_values(*texts)
    if lines == "\n\n" and place == 1:
        data = data.replace(b"\n\n\n\n\n", b"\n\n\n\n \n")
    with pytest.raises(DumpError):
        parse(data)


def dump_of(text: str) -> Dump:
    return parse(used_values(text))


def test_a_text_of_half_a_megabyte_is_read_like_any_other():
    """The shape of a large tuple alone is longer than most dumps."""
    shape = "(" + ", ".join(["f32[128,256]{1,0:T(8,128)S(1)}"] * 20_000) + ")"
    text = f'%v = {shape} tuple(%a), metadata={{op_name="jit(f)/x"}}'
    assert len(text) > 500_000
    assert [text] == dump_of(text).values.instruction_text
    assert ("tuple", "jit(f)/x") == (attributes(text).opcode, attributes(text).op_name)
