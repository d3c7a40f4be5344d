"""What instruction texts say, read by themselves and many at a time."""

from dataclasses import fields

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bufferhouse.dump import parse
from bufferhouse.dump.instruction_text import AttributeColumns, Attributes, attributes, read
from tests.samples import of_fleet


def row_of(columns: AttributeColumns, row: int) -> Attributes:
    return Attributes(*(getattr(columns, field.name)[row] for field in fields(columns)))


def found_in(text: str) -> dict:
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
    assert expected == found_in(text)
    assert text[1:].split(" ")[0] == attributes(text).instruction_name


@given(
    st.text(),
    st.sampled_from(["", "%a = f32[] add(", "%a = f32[] custom-call(), ", "%a = f32[] b2(), metadata={op_name="]),
)
def test_attributes_of_any_text_are_an_answer(text: str, start: str):
    """No text makes the reader of attributes fail, and both of its roads say the same."""
    assert attributes(start + text) == row_of(read(["%a = f32[] add()", start + text]), 1)


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
        long = text + piece * (1_000_000 // len(piece))
        found = attributes(long)
        assert "a" == found.instruction_name
        assert found == row_of(read([long]), 0)


METADATA = [
    'op_name="jit(f)/x"', 'op_name=""', 'op_type="add"', 'source_file="a.py"', "source_line=3", "source_end_line=4",
    "source_column=1", "source_line=1234567890123456789", "stack_frame_id=7", 'scheduling_name="a.1"',
    'scheduling_name="a "b" c"', 'deduplicated_name="x"', "op_name=\"it\\'s\"", "op_name=\"\\\\'\"",
    "profile_type={1}", "}", ", ", 'x="', "op_name=f",
]  # fmt: skip
PIECES = [
    "%a = ", "f32[2]{0} ", "(f32[], s32[]) ", "add(", "custom-call(", "b(", "%b", "%b.1, ", "%", "/*index=5*/",
    "f32[2]{1,0:T(8,128)} %c", "(f32[], (s32[])) %d", "(", ")", ", calls=%e", "{", "}", '"', "\n", ", metadata={",
    ", dimensions={0,1}", ', custom_call_target="t"', ', backend_config={"k":"v"}', " ", ",", "\\",
]  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(PIECES + METADATA), max_size=12).map("".join), max_size=5))
def test_texts_of_a_batch_are_read_as_each_by_itself(texts: list[str]):
    """One `findall` over many texts says what the full rules say of each: pieces that mean something, in any order."""
    columns = read(texts)
    assert [attributes(text) for text in texts] == [row_of(columns, row) for row in range(len(texts))]


@example(
    'op_name="x" scheduling_name="a" } source_file="b" source_line=3'
)  # a name with quotes that XLA did not escape
@given(st.permutations(METADATA).flatmap(lambda items: st.integers(0, 8).map(lambda count: " ".join(items[:count]))))
def test_metadata_in_any_order_is_read_by_the_full_rules(items: str):
    """The common form has its items in the order the compiler prints them; any other order says the same."""
    text = f"%a = f32[] add(%b), metadata={{{items}}}, backend_config={{}}"
    assert attributes(text) == row_of(read([text]), 0)


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
        shape = self.until(" ")
        opcode = self.until("(")
        listed = [Scanner(word).until(" ") for word in self.until(")").split("%")[1:]]
        operands = tuple(word.removesuffix(",") for word in listed)
        found: dict[str, str] = {}
        while self.at < len(self.text):
            key, _, cell = self.until(",").strip().partition("=")
            if key == "metadata":
                found |= Scanner(cell[1:-1] + " ").items()
            elif key == "custom_call_target":
                found[key] = cell
        numbers = {key: int(found[key]) if key in found else None for key in ("source_line", "stack_frame_id")}
        texts = {key: unescaped(found.get(key)) for key in ("op_name", "source_file", "custom_call_target")}
        return Attributes(name, opcode, result_shape=shape, operands=operands, **texts, **numbers)

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
    columns = read(sorted(texts))
    assert [attributes(text) for text in sorted(texts)] == [row_of(columns, row) for row in range(len(texts))]
    assert any(attributes(text).custom_call_target for text in texts)
    assert any(attributes(text).stack_frame_id for text in texts)
