"""The answers of the tools: the objects that the command line prints as JSON, made by the same functions.

Each tool is called with a warehouse, its arguments and the limits of a statement.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from bufferhouse.agents.pages import Page, paged
from bufferhouse.engine.limits import Limits
from bufferhouse.errors import UsageError, check_known
from bufferhouse.query.cookbook import question, questions, shown, with_run
from bufferhouse.query.door import door
from bufferhouse.query.format import formatted
from bufferhouse.query.hints import cut_off, why_empty, without_live_ranges
from bufferhouse.query.listings import PROGRAMS, RUNS, described, read_by
from bufferhouse.query.statements import marts_read
from bufferhouse.warehouse import Address
from bufferhouse.warehouse.lake.reader import bound_password
from bufferhouse.warehouse.open import reading

# Of the report on a program, what can be read without its pictures.
PARTS = (
    *("program_spaces", "program_peak_totals", "program_peak", "program_savings", "program_balance"),
    *("program_capacity", "program_warnings", "program_trend"),
)
# What `whatif.space` reads: bytes, places and live ranges as the dump prints them, on which it computes.
WHATIF_READS = (
    *("staging.allocations", "staging.contents", "staging.hlo_values", "staging.instruction_texts"),
    *("staging.observations", "staging.uses"),
)
_MARTS = """
    SELECT model_name AS mart, purpose, array_to_string(grain, ', ') AS grain
    FROM meta.models WHERE layer = 'marts' ORDER BY model_name
"""
Found = dict[str, Any]


def list_runs(place: Address, limits: Limits) -> Found:
    """Return the runs, oldest first, as `bufferhouse runs ls`."""
    return _asked(place, limits, RUNS)


def list_programs(place: Address, limits: Limits) -> Found:
    """Return the programs, the largest first, as `bufferhouse programs`."""
    return _asked(place, limits, PROGRAMS)


def describe_mart(place: Address, limits: Limits, name: str | None = None) -> Found:
    """Return purpose, grain and columns of a mart, or of a table of staging or raw; without a name all marts."""
    if name is None:
        return _asked(place, limits, _MARTS)
    with reading(place) as warehouse:
        table = described(warehouse.con, name)
        return {
            "name": table.model or f"{table.schema}.{table.name}",
            "purpose": table.purpose,
            "grain": table.grain,
            "reads": table.reads,
            "columns": [dict(zip(("name", "type", "meaning"), row, strict=True)) for row in table.columns],
            "note": warehouse.note,
        }


def ask(place: Address, limits: Limits, name: str | None = None, parameters: dict[str, Any] | None = None) -> Found:
    """Return the answer to a question of the cookbook, as `bufferhouse query --ask`; without a name all questions.

    Raises:
        UsageError: the question is not known, or there are parameters without a question.
    """
    if name is None:
        if parameters:
            raise UsageError("parameters: expected the name of a question with them; without it all are listed")
        listed = [
            {
                "question": one.name,
                "what it asks": one.sentence,
                "parameters": {p.name: f"{shown(p.default)}  {p.meaning}" for p in one.parameters.values()},
            }
            for one in questions().values()
        ]
        return {"rows": listed, "reads": []}
    asked = question(name)
    given = _texts(parameters)
    told = {"needs_live_ranges": asked.needs_live_ranges, "most_rows": asked.most_rows(given)}
    return _asked(place, limits, asked.sql, asked.values(given), is_question=True, **told)


def query(place: Address, limits: Limits, sql: str, parameters: dict[str, Any] | None = None) -> Found:
    """Return the answer of one statement that reads, as `bufferhouse query`.

    Parameters keep their JSON types: a version `0.10` in quotes is text. An id that is given as text can still be
    compared with numbers.
    """
    return _asked(place, limits, sql, parameters)


def compare(
    place: Address,
    limits: Limits,
    before: str,
    after: str,
    program: str | None = None,
    memory_space: int | None = None,
    metric: str = "reserved",
    by: Sequence[str] = (),
) -> Found:
    """Return two runs and the causes of every change, as `bufferhouse compare`, the biggest changes first."""
    from bufferhouse.compare.rollup import GROUPINGS
    from bufferhouse.config.threshold import METRICS
    from bufferhouse.report.compare.data import read_comparison
    from bufferhouse.report.compare.text import compare_text

    check_known("metric", metric, METRICS)
    for group in by:
        check_known("by", group, GROUPINGS)
    found = read_comparison(place, before, after, metric=metric, program=program, memory_space=memory_space)
    return _told(compare_text(found, "json", by=by), found.note)


def explain_program(
    place: Address, limits: Limits, program: str, run: str | None = None, parts: Sequence[str] = PARTS
) -> Found:
    """Return what a program takes at its peak, the owners and their source lines, as `bufferhouse report program`."""
    from bufferhouse.report.program.data import read_program
    from bufferhouse.report.program.text import program_text

    asked = read_program(place, program, run=run)
    for part in parts:
        check_known("parts", part, tuple(asked.answers))
    found = _told(program_text(asked, "json"), asked.note)
    reads = {*found["reads"], *(WHATIF_READS if "program_savings" in parts else ())}
    return {**found, "answers": {name: found["answers"][name] for name in parts}, "reads": sorted(reads)}


def oom(place: Address, limits: Limits, run: str) -> Found:
    """Return why programs of a run did not fit, from the messages that were ingested with it: `bufferhouse oom RUN`."""
    from bufferhouse.messages.join import dumps, unread
    from bufferhouse.messages.rows import has_logs, refused, stored
    from bufferhouse.oom.finding import explain, without_message
    from bufferhouse.report.oom.text import Explanation, oom_text
    from bufferhouse.warehouse.run_names import find

    with reading(place, is_long=True) as warehouse:
        named = find(warehouse.con, run)
        messages, is_logged = stored(warehouse.con, named.run_id), has_logs(warehouse.con, named.run_id)
        candidates = dumps(warehouse.con, named.run_name)
        lines, paths = refused(warehouse.con, named.run_id), unread(warehouse.con, named.run_name)
        findings = explain(warehouse.con, messages, candidates, has_unread=bool(paths))
        silent = without_message(findings, candidates)
        found = _told(oom_text(Explanation(findings, lines, silent, paths), "json"), warehouse.note)
    if not findings:
        nothing = f"no log that was ingested with the run {named.run_name} has a message about memory"
        if not is_logged:
            unsaid = "" if silent else ": nobody says whether its programs fitted"  # files beside dumps may say it
            nothing = f"no log was ingested with the run {named.run_name}{unsaid}"
        found["note"] = "; ".join(filter(None, [nothing, found["note"]]))
    return found


def whatif(
    place: Address,
    limits: Limits,
    program: str,
    edits: Sequence[str] = (),
    fit: str | None = None,
    memory_space: int = 0,
    run: str | None = None,
) -> Found:
    """Return what edits of values would do, or the fewest edits that fit, as `bufferhouse whatif`.

    Without edits and capacity it is the ranking of `bufferhouse savings`: what each edit is worth.
    """
    from bufferhouse.report.whatif.data import read_change, read_savings
    from bufferhouse.report.whatif.text import change_text, savings_text
    from bufferhouse.whatif.edits import read_edit
    from bufferhouse.whatif.fitting import read_size

    about = {"memory_space": memory_space, "run": run}
    if not edits and fit is None:
        ranked = read_savings(place, program, **about)
        found = _told(savings_text(ranked, "json"), ranked.subject.note)
    else:
        capacity = None if fit is None else read_size(fit)
        change = read_change(place, program, [read_edit(text) for text in edits], capacity_bytes=capacity, **about)
        found = _told(change_text(change, "json"), change.subject.note)
    return {**found, "reads": sorted({*found["reads"], *WHATIF_READS})}


TOOLS: dict[str, Callable[..., Found]] = {
    tool.__name__: tool
    for tool in (list_runs, list_programs, describe_mart, ask, query, compare, explain_program, oom, whatif)
}


def answer(tool: str, place: Address, arguments: dict[str, Any], limits: Limits, page: Page) -> str:
    """Return one page of the answer of a tool, as JSON.

    Raises:
        UsageError: the call is wrong.
        WarehouseBusy, WarehouseError: as `bufferhouse.warehouse.open.reading`.
    """
    with bound_password(place):
        found = TOOLS[tool](place, limits, **arguments)
    return paged(found, page)


def _asked(
    place: Address,
    limits: Limits,
    sql: str,
    parameters: dict[str, Any] | None = None,
    *,
    is_question: bool = False,
    needs_live_ranges: bool = False,
    most_rows: int | None = None,
) -> Found:
    with reading(place) as warehouse, door(warehouse.con, limits) as opened:
        if is_question:
            parameters = with_run(warehouse.con, parameters or {})
        found = opened.ask(sql, parameters)
        why = why_empty(warehouse.con, parameters) if not found.rows else ""
        left_out = without_live_ranges(warehouse.con, parameters) if needs_live_ranges and not why else ""
        told = (why or left_out, cut_off(len(found.rows), most_rows), warehouse.note)
        return {
            "rows": json.loads(formatted(found.columns, found.rows, "json")),
            "reads": read_by(warehouse.con, sql),
            "note": "; ".join(filter(None, told)) or None,
        }


def _told(text: str, note: str | None) -> Found:
    return {**json.loads(text), "reads": marts_read(), "note": note}


def _texts(parameters: dict[str, Any] | None) -> dict[str, str]:
    """Return parameters in the form that `--param` takes."""
    words = {None: "null", True: "true", False: "false"}
    return {
        name: value if isinstance(value, str) else words[value] if value is None or value is True or value is False
        else str(value)
        for name, value in (parameters or {}).items()
    }  # fmt: skip
