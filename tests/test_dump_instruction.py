"""Instruction texts: where they end, and what stands in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bufferhouse.dump import Dump, DumpError, parse, render
from bufferhouse.dump.instruction import Attributes, attributes
from tests.fuzz import used_values
from tests.samples import of_fleet

ADD = "%v = f32[2]{0} add(%a, %b)"
FAKE_BLOCK = "\n<1 v1 @0>\n positions:\n  v\n uses:\n from instruction: %v = f32[] fake()\n"
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


def read(text: str) -> dict:
    """Return the attributes of a text that are there."""
    found = attributes(text)
    names = ("opcode", "op_name", "source_file", "source_line", "stack_frame_id", "custom_call_target")
    return {name: getattr(found, name) for name in names if getattr(found, name) is not None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%Arg_0.1 = f32[] parameter(0), sharding={replicated}", {"opcode": "parameter"}),
        ("%a = f32[2]{0} add(f32[2]{0} %b, /*index=5*/f32[2]{0} %c)", {"opcode": "add"}),
        (
            '%add.3 = f32[] add(f32[] %x, f32[] %y), metadata={op_type="add" op_name="jit(f)/jit(main)/add"'
            ' source_file="/srv/train/programs.py" source_line=26}',
            {
                "opcode": "add",
                "op_name": "jit(f)/jit(main)/add",
                "source_file": "/srv/train/programs.py",
                "source_line": 26,
            },
        ),
        (
            '%a = f32[] add(), metadata={op_name="f" source_end_line=3 source_column=4 source_end_column=5'
            ' deduplicated_name="x" stack_frame_id=7}',
            {"opcode": "add", "op_name": "f", "stack_frame_id": 7},
        ),
        (
            r'%a = f32[] add(), metadata={op_name="params[\'w\'] \"q\" \\ \n\t\r"}',
            {"opcode": "add", "op_name": "params['w'] \"q\" \\ \n\t\r"},
        ),
        (
            r'%a = f32[] add(), metadata={op_name="\303\251t\303\251 \343\201\202"}',
            {"opcode": "add", "op_name": "été あ"},
        ),
        (r'%a = f32[] add(), metadata={op_name="\377 is no UTF-8"}', {"opcode": "add", "op_name": "ÿ is no UTF-8"}),
        (r'%a = f32[] add(), metadata={op_name="\001\033[0m"}', {"opcode": "add", "op_name": "\x01\x1b[0m"}),
        (
            '%a = f32[] add(), metadata={op_name="(size=1,offset=2); /*index=5*/ %b {x}"}',
            {"opcode": "add", "op_name": "(size=1,offset=2); /*index=5*/ %b {x}"},
        ),
        ('%a = f32[] add(), metadata={op_name=""}', {"opcode": "add", "op_name": ""}),
        ("%a = f32[] add(), metadata={source_line=4}", {"opcode": "add", "source_line": 4}),
        (
            "%a = f32[] add(), metadata={profile_type={1,2} preserve_layout=true stack_frame_id=4}",
            {"opcode": "add", "stack_frame_id": 4},
        ),
        (
            '%a = f32[] add(), metadata={op_name="x" scheduling_name="a"b{c" stack_frame_id=4}',
            {"opcode": "add", "op_name": "x", "stack_frame_id": 4},
        ),
        (
            '%a = f32[] add(), metadata={scheduling_name="a" x="b" stack_frame_id=4}',
            {"opcode": "add", "stack_frame_id": 4},
        ),
        ("%a = f32[] add(), metadata={source_line=99999999999999999999}", {"opcode": "add"}),
        (
            '%a = f32[] add(), frontend_attributes={k="\\", metadata={op_name=\\"fake\\"}"}, metadata={op_name="real"}',
            {"opcode": "add", "op_name": "real"},
        ),
        (
            '%a = f32[] add(), frontend_attributes={k={"x":", metadata={op_name=1"}}, metadata={op_name="real"}',
            {"opcode": "add", "op_name": "real"},
        ),
        (
            "%a = f32[] add(), frontend_attributes={k={a = 1, metadata={b}, [}}, metadata={stack_frame_id=2}",
            {"opcode": "add", "stack_frame_id": 2},
        ),
        (
            '%a = f32[] add(), frontend_attributes={k="it"s"}, metadata={op_name="real"}, backend_config={}',
            {"opcode": "add", "op_name": "real"},
        ),
        (
            '%a = f32[] add(), metadata={op_name="real"}, backend_config="x, metadata={op_name=\\"fake\\"}"',
            {"opcode": "add", "op_name": "real"},
        ),
        ('%a = f32[] add(), backend_config="x, metadata={op_name=\\"fake\\"}"', {"opcode": "add"}),
        ('%a = f32[] add(), backend_config={"x":", metadata={op_name=1}"}', {"opcode": "add"}),
        (
            '%a = f32[] custom-call(%b), custom_call_target="xla.gpu.\\"ext", operand_layout_constraints={f32[]}',
            {"opcode": "custom-call", "custom_call_target": 'xla.gpu."ext'},
        ),
        (
            '%s = ((f32[]), f32[], u32[]) custom-call-start(%b), async_execution_thread="x", custom_call_target="t"',
            {"opcode": "custom-call-start", "custom_call_target": "t"},
        ),
        (
            '%a = f32[] fusion(%b), kind=kCustom, backend_config={"a": 1, custom_call_target="fake"}',
            {"opcode": "fusion"},
        ),
        ("%s = ((f32[2]{0}), (), u32[]{:S(2)}) async-start(%b), calls=%c", {"opcode": "async-start"}),
        ("%s = ((f32[2]{0}), (), u32[]{:S(2)}) slice-start(%b), slice={[0:2]}", {"opcode": "slice-start"}),
        ("%b = b(f32[4]{0:S(1)}) custom-call(%c)", {"opcode": "custom-call"}),
        ("%b = (f32[], b(f32[4]{0}), /*index=5*/b((f32[], u8[]))) tuple(%c)", {"opcode": "tuple"}),
        (
            '%a = f32[] add(), statistics={visualizing_index=1,x=2.5}, origin={{"b" {0}}, {}}, metadata={op_name="f"}',
            {"opcode": "add", "op_name": "f"},
        ),
        ("%a = f32[] add(), result_accuracy={tolerance={atol=1,rtol=2}}", {"opcode": "add"}),
        ("%t = () tuple()", {"opcode": "tuple"}),
        ("%t = token[] after-all()", {"opcode": "after-all"}),
        ("%c = s32[]{:T(8,Invalid value -5)} constant(3)", {"opcode": "constant"}),
        ("%c = pred[2]{0} constant({false, true})", {"opcode": "constant"}),
        ("%c = f32[] what is this", {}),
        ("%c = ", {}),
    ],
)
def test_attributes_are_what_the_compiler_meant(text: str, expected: dict):
    """Escapes are undone, look-alikes in strings and configs are passed over, and what is not printed is None."""
    assert expected == read(text)
    assert text[1:].split(" ")[0] == attributes(text).instruction_name


@given(
    st.text(),
    st.sampled_from(["", "%a = f32[] add(", "%a = f32[] custom-call(), ", "%a = f32[] b2(), metadata={op_name="]),
)
def test_attributes_of_any_text_are_an_answer(text: str, start: str):
    """No text makes the reader of attributes fail."""
    assert isinstance(attributes(start + text), Attributes)


@pytest.mark.parametrize(
    "piece",
    [
        ", metadata={",
        ', metadata={"',
        '"',
        '\\"',
        "{",
        "(",
        " b(",
        ", custom_call_target=",
        'x="" ',
        " ",
        "scheduling_name=",
    ],
)
def test_reading_attributes_ends_on_hostile_text(piece: str):
    """A megabyte of one piece is read once, not over and over."""
    start = "%a = f32[] custom-call("
    for text in (start, f"{start}), metadata={{op_name=", "%a = "):
        assert "a" == attributes(text + piece * (1_000_000 // len(piece))).instruction_name


class Scanner:
    """A second reader of instruction texts: one character after another, without a regular expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def until(self, end: str) -> str:
        """Take the text up to a character outside quotes and brackets, and go past it."""
        start, depth = self.at, 0
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == end and depth == 0:
                self.at += 1
                return self.text[start : self.at - 1]
            if letter == '"':
                self.string()
                continue
            depth += (letter in "([{") - (letter in ")]}")
            self.at += 1
        return self.text[start:]

    def string(self) -> str:
        """Take a quoted string and return what stands in it, still escaped."""
        start = self.at = self.at + 1
        while self.text[self.at] != '"':
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1
        return self.text[start : self.at - 1]

    def attributes(self) -> Attributes:
        name = self.until(" ").removeprefix("%")
        assert "=" == self.until(" ")
        self.until(" ")  # the shape
        opcode = self.until("(")
        self.until(")")
        found: dict[str, str] = {}
        while self.at < len(self.text):
            key, _, cell = self.until(",").strip().partition("=")
            if key == "metadata":
                found |= Scanner(cell[1:-1] + " ").items()
            elif key == "custom_call_target":
                found[key] = cell
        numbers = {key: int(found[key]) if key in found else None for key in ("source_line", "stack_frame_id")}
        texts = {key: unescaped(found.get(key)) for key in ("op_name", "source_file", "custom_call_target")}
        return Attributes(instruction_name=name, opcode=opcode, **texts, **numbers)

    def items(self) -> dict[str, str]:
        found = {}
        while self.at < len(self.text):
            key, _, cell = self.until(" ").partition("=")
            found[key] = cell
        return found


def unescaped(quoted: str | None) -> str | None:
    """Undo the escapes of a quoted string, letter by letter."""
    if quoted is None:
        return None
    letters = iter(quoted[1:-1])
    data = bytearray()
    for letter in letters:
        if letter != "\\":
            data += letter.encode()
            continue
        escaped = next(letters)
        if escaped in "01234567":
            data.append(int(escaped + next(letters) + next(letters), 8))
        else:
            data += {"n": "\n", "r": "\r", "t": "\t"}.get(escaped, escaped).encode()
    return data.decode()


def test_attributes_of_all_examples_are_those_of_a_plain_scanner():
    """Every instruction text of the example fleet is read alike by two readers that share nothing."""
    texts = {text for sample in of_fleet() for text in parse(sample.files).values.instruction_text}
    assert len(texts) > 1000
    for text in texts:
        assert Scanner(text).attributes() == attributes(text)
    assert any(attributes(text).custom_call_target for text in texts)
    assert any(attributes(text).stack_frame_id for text in texts)
