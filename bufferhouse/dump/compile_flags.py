"""The options of a compilation, which XLA writes beside a dump: as text protos, and as a command line has them.

`.debug_options` holds the DebugOptions that are not at their default (DumpNonDefaultDebugOptions, xla/service/dump.cc),
`.hlo_module_config.txt` a whole HloModuleConfigProto, `.tpu_comp_env.txt` libtpu's TpuCompilationEnvironment, and
`.flagfile` the flags of its process.
"""

import re
from collections.abc import Iterator

from bufferhouse.dump.errors import DumpError, quoted

ORIGINS = {
    ".debug_options": "debug_options",
    ".tpu_comp_env.txt": "tpu_comp_env",
    ".hlo_module_config.txt": "module_config",
    ".flagfile": "flagfile",
}
"""What each kind of file is called, by the end of its name; where two tell of one option, the first here is right."""

MOST_BYTES = 4 << 20
_LONGEST_LINE = 1 << 16
_DEEPEST = 64
# A field that the printing program does not know itself stands there by its number; entries of a map may have a colon.
_FIELD = re.compile(r'([A-Za-z_]\w*|[1-9]\d{0,8}|\[[\w./]+\])(?:: ("(?:[^"\\]|\\.)*"|[^\s"{}<>]+)|:? (\{))')
_FLAG = re.compile(r"--?(\w[\w.-]*)(?:=(.*))?")
# Of a module: its signature, the places of its devices, and what holds for single parameters and results.
_NO_OPTIONS = (
    "entry_computation_layout", "static_device_assignment", "device_assignment",
    "allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output",
)  # fmt: skip
_Block = list[tuple[str, "str | _Block"]]


def read_compile_flags(origin: str, data: bytes) -> list[tuple[str, str]]:
    """Return the options that a file sets, by name; `origin` is its kind, of `ORIGINS`.

    Each has its value as it is printed, without quotes; the values of a repeated one are joined by commas.

    Raises:
        DumpError: the file is damaged or cut, with the place in it.
    """
    if len(data) > MOST_BYTES:
        raise DumpError(1, 1, f"at most {MOST_BYTES} bytes", f"{len(data)}")
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DumpError(line, 1, "UTF-8", f"byte {data[error.start]:#04x}") from None
    for number, line in enumerate(lines, 1):
        if len(line) > _LONGEST_LINE:
            raise DumpError(number, 1, f"at most {_LONGEST_LINE} characters", f"{len(line)}")
    found = _of_command_line(lines) if origin == "flagfile" else _options(_of_text_proto(lines))
    values: dict[str, list[str]] = {}
    for name, value in found:
        values.setdefault(name, []).append(value)
    return [(name, ",".join(values[name])) for name in sorted(values)]


def _of_command_line(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the flags of a file of lines such as `--name=value`; of a flag that is given twice, the last holds."""
    given: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _FLAG.fullmatch(line)
        if match is None:
            raise DumpError(number, 1, "a line such as: --xla_flag=value", quoted(line))
        given[match[1]] = _unquoted(match[2]) if match[2] is not None else "true"
    yield from given.items()


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _of_text_proto(lines: list[str]) -> _Block:
    """Return the fields of a text proto (google::protobuf::TextFormat), blocks as lists of their own."""
    pile: list[_Block] = [[]]
    for number, line in enumerate(lines, 1):
        text = line.strip(" ")
        if not text or text.startswith("#"):
            continue
        column = len(line) - len(line.lstrip(" ")) + 1
        if text == "}" and len(pile) > 1:
            pile.pop()
            continue
        match = _FIELD.fullmatch(text)
        if match is None:
            raise DumpError(number, column, "a line such as: name: value, name { or }", quoted(text))
        name, value, is_block = match.groups()
        if not is_block:
            pile[-1].append((name, _unquoted(value)))
            continue
        if len(pile) > _DEEPEST:
            raise DumpError(number, column, f"at most {_DEEPEST} levels", "more")
        block: _Block = []
        pile[-1].append((name, block))
        pile.append(block)
    if len(pile) > 1:
        raise DumpError(len(lines), 1, "}", "the end of the file")
    return pile[0]


def _options(block: _Block, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the options of a text proto by dotted name.

    The fields of `debug_options` are called as in a file of their own. A block with nothing but a `spec` is the value
    of its field, and one with a key and a value an entry of a map.
    """
    for name, value in block:
        path = f"{above}{name}"
        if path in _NO_OPTIONS:
            continue
        if isinstance(value, str):
            yield path, value
            continue
        fields = dict(value) if len({name for name, _ in value}) == len(value) else {}
        if fields.keys() == {"spec"} and isinstance(fields["spec"], str):
            yield path, fields["spec"]
        elif fields.keys() == {"key", "value"} and all(isinstance(one, str) for one in fields.values()):
            yield f"{path}.{fields['key']}", fields["value"]
        else:
            yield from _options(value, "" if path == "debug_options" else f"{path}.")
