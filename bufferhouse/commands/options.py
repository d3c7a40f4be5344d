"""What all verbs share: options, messages, exit codes."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bufferhouse.engine import interrupts
from bufferhouse.errors import (
    MAKE_SPACE,
    ModelError,
    SourceUnavailable,
    UsageError,
    WarehouseBusy,
    WarehouseError,
    assignments,
    check_known,
    is_full,
    or_wait,
)
from bufferhouse.redaction import printable, said, terminal
from bufferhouse.warehouse import Address, address_of

if TYPE_CHECKING:
    from bufferhouse.warehouse.warehouse import Warehouse


class Verbs(TyperGroup):
    """A list of verbs in a help, each with the whole first sentence of its own; Typer cuts them to a line."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:
        """Write the list."""
        verbs = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, verb.get_short_help_str(sys.maxsize)) for name, verb in verbs.items() if not verb.hidden]
            )


def address(text: str) -> Address:
    """Return the address of a warehouse from the word of a call; a wrong word ends the call with exit 2."""
    try:
        return address_of(text)
    except UsageError as error:
        say(f"bufferhouse: {error}")
        raise typer.Exit(2) from None


WarehouseOption = Annotated[
    Address | None,
    typer.Option(
        "--warehouse",
        parser=address,
        metavar="FILE|LAKE",
        help="The warehouse: a file, or a lake as ducklake:postgres:… or ducklake:CATALOG; else "
        "$BUFFERHOUSE_WAREHOUSE, else warehouse.duckdb in the working directory.",
    ),
]
DataPathOption = Annotated[
    str | None,
    typer.Option(
        "--data-path",
        help="Where a new lake keeps its files: a folder or s3://BUCKET/PREFIX; else $BUFFERHOUSE_DATA_PATH.",
    ),
]
WaitOption = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for a warehouse in use.")]
FormatOption = Annotated[str, typer.Option("--format", help="table or json.")]


def local_folder(given: str | Path) -> Path:
    """Return the folder that a call names for files to be written."""
    if given == "-":  # given as ./- it is a folder like any other
        raise typer.BadParameter("expected a folder, found -; a folder of this name is ./-")
    return _local("folder", given)


def local_file(given: str | Path) -> Path:
    """Return the file that a call names for an answer or a page."""
    if given == "-":  # elsewhere this is standard output, and here a file called like an option would be written
        raise typer.BadParameter("expected a file, found -; standard output is /dev/stdout, a file of this name is ./-")
    return _local("file", given)


def folder_option(*names: str, help: str) -> Any:
    """Return the option for a folder of this machine that files are written into."""
    return typer.Option(*names, parser=local_folder, metavar="<path>", help=help)


def file_option(*names: str, help: str) -> Any:
    """Return the option for a file of this machine that is written."""
    return typer.Option(*names, parser=local_file, metavar="<path>", help=help)


def _local(what: str, given: str | Path) -> Path:
    if "://" in str(given):
        raise typer.BadParameter(f"expected a {what} of this machine, found {given}")
    return Path(given)


def say(message: str) -> None:
    """Write a message to standard error."""
    print(said(message), file=sys.stderr)


def show(text: str, form: str) -> None:
    """Write an answer to standard output: CSV as it is, but where people see it."""
    from bufferhouse.query.output import write

    write(text, terminal(sys.stdout) if form == "csv" and not sys.stdout.isatty() else sys.stdout)
    sys.stdout.flush()  # who asks through a pipe waits for the answer before the next question


KEPT = "what was committed is kept"


def guarded(verb: Callable, *, kept: str = "") -> Callable:
    """As `told`; Ctrl-C ends the verb at any point, also in a statement of DuckDB."""

    @wraps(verb)
    def call(*args: Any, **kwargs: Any) -> Any:
        with interrupts.remembered():
            return verb(*args, **kwargs)

    return told(call, kept=kept)


def told(verb: Callable, *, kept: str = "") -> Callable:
    """Turn the errors that end a command into a message and an exit code.

    2 for a wrong call, 3 for what may pass by itself: a warehouse in use, an unreachable source, a full disk; 130
    for Ctrl-C, and 141, as by SIGPIPE, where nobody reads standard output any more. What is `kept` after Ctrl-C is
    said, unless the KeyboardInterrupt has a text, which says it better.
    """

    @wraps(verb)
    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.monotonic()
        try:
            return verb(*args, **kwargs)
        except (UsageError, WarehouseError, ModelError) as error:
            say(f"bufferhouse: {error}")
            raise typer.Exit(2) from None
        except (WarehouseBusy, SourceUnavailable) as error:
            say(f"bufferhouse: {or_wait(error, '--wait SECONDS') if 'wait' in kwargs else error}")
            raise typer.Exit(3) from None
        except UnicodeEncodeError as error:
            if "surrogates" not in error.reason:
                raise
            say(f"bufferhouse: expected words in UTF-8, found {error.object[:200]!r}")
            raise typer.Exit(2) from None
        except BrokenPipeError:
            raise typer.Exit(141) from None  # Typer's own 1 says that something was found
        except OSError as error:
            may_pass = is_full(error)
            place = error.filename or ("where the output goes" if may_pass else "")
            if isinstance(error, FileNotFoundError) and not place:
                place = "the working directory"  # `os.getcwd` names no file
            way_out = MAKE_SPACE if may_pass else ""
            say(printable(f"bufferhouse: {f'{place}: ' if place else ''}{error.strerror or error}{way_out}"))
            raise typer.Exit(3 if may_pass else 2) from None
        except KeyboardInterrupt as interrupt:
            ended = f"interrupted after {time.monotonic() - started:.1f} s"
            say(f"bufferhouse: {'; '.join(filter(None, (ended, str(interrupt) or kept)))}")
            raise typer.Exit(130) from None

    return call


def warehouse_path(given: Address | None, *, must_exist: bool = False, data_path: str | None = None) -> Address:
    """Return the warehouse a verb works on; a missing lake that must exist is noticed when it is opened.

    Raises:
        UsageError: it must exist and does not, or a data path is given for a file.
    """
    found = address_of(given).with_data_path(data_path)
    str(found.folder).encode()  # DuckDB takes no path that is not UTF-8, and the folder is part of each
    return found.existing() if must_exist else found


def check_format(given: str, *known: str) -> None:
    """Raise a UsageError for a --format that the verb does not have."""
    check_known("--format", given, known)


def facts_of(words: Sequence[str] | None, option: str = "") -> dict[str, str]:
    """Return the facts that words K=V give.

    Raises:
        UsageError: a word is none, or a fact is given twice; it names the `option` of the words.
    """
    facts = assignments(words or (), "K=V", option)
    "".join(words or ()).encode()  # in a label JSON would keep it as an escape, which DuckDB reads in no row then
    return facts


YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")]
PlanOption = Annotated[bool, typer.Option("--plan", help="Print what would be removed, and remove nothing.")]


def days_of(text: str | None) -> float | None:
    """Return the number of days that --older-than gives: 90 or 90d."""
    if text is None:
        return None
    with suppress(ValueError):
        if (days := float(text.removesuffix("d"))) >= 0:
            return days
    raise UsageError(f"--older-than: expected a number of days, found {text!r}")


def check_can_ask(is_sure: bool) -> None:
    """Raise a UsageError where somebody must be asked, and nobody sits at a terminal."""
    if not is_sure and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("expected --yes: there is no terminal to ask at; --plan shows what would be removed")


def agreed(question: str) -> bool:
    """Ask on the terminal; anything but yes is no."""
    print(f"{said(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


@contextmanager
def reading(place: Address, wait: float = 0.0, *, is_long: bool = False) -> Iterator[Any]:
    """Yield a reading connection, after a note on standard error if it does not see the newest state."""
    with reader(place, wait, is_long=is_long) as warehouse:
        yield warehouse.con


@contextmanager
def reader(place: Address, wait: float = 0.0, *, is_long: bool = False) -> "Iterator[Warehouse]":
    """Yield a warehouse that is open for reading, as `reading` its connection."""
    from bufferhouse.warehouse.open import reading as opened

    with opened(place, wait=wait, is_long=is_long) as warehouse:
        if warehouse.note:
            say(f"bufferhouse: {warehouse.note}")
        yield warehouse
