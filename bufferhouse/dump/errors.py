"""The one error of the reader."""

QUOTE_LIMIT = 80


def quoted(text: str) -> str:
    """Return a piece of input as an error message shows it: one line, quoted, cut at 80 characters."""
    line = text.split("\n", 1)[0]
    return repr(line if len(line) <= QUOTE_LIMIT else line[: QUOTE_LIMIT - 1] + "…")


class DumpError(ValueError):
    """Input that is not a buffer-assignment dump, with the place where it stops being one.

    `line` and `column` count from 1, in characters of the decoded file; `role` says which file of a split dump;
    `rule` is `grammar` for text no production accounts for, else the name of the violated assertion.
    """

    def __init__(
        self, line: int, column: int, expected: str, found: str, *, role: str = "combined", rule: str = "grammar"
    ) -> None:
        super().__init__(f"{line}:{column}: expected {expected}, found {found}")
        self.line = line
        self.column = column
        self.expected = expected
        self.found = found
        self.role = role
        self.rule = rule

    def __reduce__(self) -> tuple:
        # Worker processes hand errors back by pickle, which would otherwise call __init__ with the message alone.
        return _rebuild, (self.line, self.column, self.expected, self.found, self.role, self.rule)


def _rebuild(line: int, column: int, expected: str, found: str, role: str, rule: str) -> DumpError:
    return DumpError(line, column, expected, found, role=role, rule=rule)


def error_at(
    text: str, offset: int, expected: str, *, found: str | None = None, role: str, rule: str = "grammar"
) -> DumpError:
    """Return the error for character `offset` of `text`; `found` defaults to the input that stands there."""
    offset = min(offset, len(text))
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    if found is None:
        found = _input_at(text, offset, column)
    return DumpError(line, column, expected, found, role=role, rule=rule)


def _input_at(text: str, offset: int, column: int) -> str:
    if not text:
        return "an empty file"
    if offset == len(text):
        return "the end of the file"
    if text[offset] == "\n":
        return "an empty line" if column == 1 else "the end of the line"
    return quoted(text[offset : offset + 2 * QUOTE_LIMIT])
