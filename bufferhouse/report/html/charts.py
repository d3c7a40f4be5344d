"""Charts, as Vega-Lite specifications without data: the page joins them with the answers it embeds.

Here is what charts of several pages share: axes for bytes and for runs, and bars of programs.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import altair as alt

from bufferhouse.errors import counted
from bufferhouse.query.statements import Record
from bufferhouse.report.text.figures import human_bytes, printable, tick_bytes

RUN_LENGTH, PROGRAM_LENGTH = 40, 34  # characters
ROW = 22  # pixels of a bar
_BARS = 15  # in a chart
_TICKS, _BAR_TICKS = 5, 6
# Pixels of a run's name: Vega hides what overlaps, but never the first and the last, which share the width of a phone.
_RUN_WIDTH = "min(220, 0.45 * width)"
Axis = TypeVar("Axis", alt.X, alt.Y)
_WIDE_RANGE = 8  # from this ratio on, programs share an axis only if it is logarithmic


@dataclass(frozen=True, slots=True)
class Chart:
    """A specification and its data: the rows of answer `source` that equal `where`.

    `texts` adds columns: from a new column's name to the column it looks up and the text for each value of that.
    `description` is the text of the chart for screen readers.
    """

    spec: dict[str, Any]
    source: str
    where: dict[str, str | int | None]
    texts: dict[str, tuple[str, dict[str, str]]]
    description: str

    @classmethod
    def of(cls, drawn: alt.LayerChart, height: int, **about: Any) -> "Chart":
        """Return the chart that Altair made, as wide as the page and `height` pixels high."""
        spec = drawn.properties(width="container", height=height).to_dict(validate=False)
        del spec["$schema"]  # no address in the page
        return cls(spec, **about)

    @property
    def axis_said(self) -> str:
        """The sentence about an axis that is not linear; else empty."""
        scales = json.dumps(self.spec)
        return " The axis is logarithmic." if '"type": "log"' in scales or '"type": "symlog"' in scales else ""


def distinct(texts: dict[str, str]) -> dict[str, str]:
    """Return the texts, made unique by their keys where two are equal: the chart identifies its marks by them."""
    again = {text for text, count in Counter(texts.values()).items() if count > 1}
    return {key: f"{text} ({key})" if text in again else text for key, text in texts.items()}


def bytes_axis(values: Sequence[int]) -> alt.Y:
    """Return a vertical axis for bytes, its ticks at powers of two: linear, or logarithmic for a wide range."""
    low, high = min(values), max(values)
    smallest = min((value for value in values if value > 0), default=1)
    if high <= smallest * _WIDE_RANGE:
        # At least half of the axis stays empty of change, or eight bytes would look like a cliff.
        low = max(min(low, high // 2), 0)
        ticks = _ticks(low, high, _TICKS)
        scale = alt.Scale(domain=[ticks[0], ticks[-1]], nice=False, zero=False)
    else:
        first, last = math.floor(math.log2(smallest)), math.ceil(math.log2(high))
        ticks = [2**power for power in range(first, last + 1, max(round((last - first) / _TICKS), 1))]
        domain = [0 if low == 0 else min(ticks[0], low), max(ticks[-1], high)]
        ticks = [0, *ticks] if low == 0 else ticks
        kind = {"type": "symlog", "constant": smallest} if low == 0 else {"type": "log", "base": 2}
        scale = alt.Scale(domain=domain, nice=False, **kind)
    return _axis(alt.Y, "reserved_bytes:Q", scale, ticks)


def bytes_axis_from_zero(high: int) -> alt.Y:
    """Return a linear axis from 0 for occupied bytes up to `high`, its ticks at multiples of a power of two."""
    ticks = _ticks(0, high, _TICKS)
    return _axis(alt.Y, "occupied_bytes:Q", alt.Scale(domain=[0, ticks[-1]], nice=False), ticks)


def bytes_at(column: str, low: int, high: int) -> alt.X:
    """Return a linear axis from `low` to `high`, its ticks at multiples of a power of two."""
    ticks = _ticks(low, high, _BAR_TICKS)
    return _axis(alt.X, column, alt.Scale(domain=[ticks[0], ticks[-1]], nice=False), ticks, grid=True)


def _ticks(low: int, high: int, spaces: int) -> list[int]:
    """Return multiples of a power of two that split a range into a limited number of intervals."""
    step = 2 ** max(math.ceil(math.log2(max((high - low) / spaces, 1))), 0)
    return list(range(low // step * step, high + step, step))


def _axis(side: type[Axis], column: str, scale: alt.Scale, ticks: list[int], **more: Any) -> Axis:
    texts = ", ".join(f'"{tick}": "{tick_bytes(tick)}"' for tick in ticks)
    axis = alt.Axis(values=ticks, labelExpr=f"({{{texts}}})[datum.value]", domain=False, ticks=False, **more)
    return side(column, scale=scale, title=None, axis=axis)


def same_axis(axis: Axis, column: str) -> Axis:
    """Return an axis for the bytes of another column."""
    other = axis.copy()
    other.shorthand = f"{column}:Q"
    return other


def over_runs(
    rows: alt.Chart, runs: Sequence[str], texts: Sequence[str] = (), padding: Any = alt.Undefined, **encodings: Any
) -> alt.Chart:
    """Return a chart of `rows` with a place for each run; pointed at, a row tells `texts`, its run and its bytes."""
    crowded = sum(map(len, runs)) > 110
    axis = alt.Axis(
        labelAngle=-35 if crowded else 0, labelOverlap="greedy", labelSeparation=6, labelLimit=alt.ExprRef(_RUN_WIDTH),
        domain=False, ticks=False, labelPadding=padding,
    )  # fmt: skip
    return rows.encode(
        x=alt.X("run:O", sort=runs, title=None, scale=alt.Scale(padding=0.4), axis=axis),
        tooltip=[
            *(alt.Tooltip(f"{text}:N") for text in (*texts, "run")),
            tooltip("reserved_bytes", "reserved (bytes)"),
            tooltip("reserved_change_bytes", "change (bytes)", "+,d"),
            tooltip("occupied_peak_bytes", "occupied peak (bytes)"),
            tooltip("layout_padding_bytes", "layout padding (bytes)"),
        ],
        **encodings,
    )


def tooltip(column: str, title: str, form: str = ",d") -> alt.Tooltip:
    """Return the text that is shown when the pointer is on a figure."""
    return alt.Tooltip(f"{column}:Q", title=title, format=form)


def size_chart(rows: Sequence[Record], where: Mapping[str, Any], title: str) -> Chart | None:
    """Return reserved bytes (pale) and the occupied peak in them (full) of the first programs; None for a single one.

    `rows` are records of `run_programs`, those that equal `where`.
    """
    shown = rows[:_BARS]
    if len(shown) < 2 or not shown[0]["reserved_bytes"]:
        return None
    labels = _labels(shown, "size_rank")
    at = bytes_at("reserved_bytes:Q", 0, max(row["reserved_bytes"] for row in shown))
    bars = _bars(labels, reserved_bytes="reserved", occupied_peak_bytes="occupied peak")
    drawn = alt.layer(
        bars.mark_bar(style="occupied", opacity=0.3).encode(x=at),
        bars.mark_bar(style="occupied", size=8).encode(x=same_axis(at, "occupied_peak_bytes")),
    )
    largest = f"{next(iter(labels.values()))} reserves {human_bytes(shown[0]['reserved_bytes'])}"
    return _chart(drawn, len(shown), "run_programs", where, ("size_rank", labels), f"{title}: {largest}")


def change_chart(rows: Sequence[Record], where: Mapping[str, Any], title: str) -> Chart | None:
    """Return the changes of the programs that changed most; None for fewer than two.

    `rows` are records of `compare_programs`, those that equal `where`.
    """
    shown = [row for row in rows[:_BARS] if row["delta_bytes"]]
    if len(shown) < 2:
        return None
    labels = _labels(shown, "status_rank")
    changes = [row["delta_bytes"] for row in shown]
    at = bytes_at("delta_bytes:Q", min(*changes, 0), max(*changes, 0))
    bars = _bars(labels, before_bytes="before", after_bytes="after", delta_bytes="change")
    drawn = alt.layer(
        bars.transform_filter("datum.delta_bytes > 0").mark_bar(style="rise").encode(x=at),
        bars.transform_filter("datum.delta_bytes < 0").mark_bar(style="fall").encode(x=at),
    )
    most = f"{next(iter(labels.values()))} changed by {human_bytes(changes[0], signed=True)}"
    return _chart(drawn, len(shown), "compare_programs", where, ("status_rank", labels), f"{title}: {most}")


def _labels(rows: Sequence[Record], rank: str) -> dict[str, str]:
    return distinct({str(row[rank]): printable(row["program_label"], PROGRAM_LENGTH) for row in rows})


def _bars(labels: Mapping[str, str], **figures: str) -> alt.Chart:
    texts = [alt.Tooltip("program:N")]
    texts += [
        tooltip(column, f"{name} (bytes)", "+,d" if name == "change" else ",d") for column, name in figures.items()
    ]
    axis = alt.Axis(labelLimit=260, domain=False, ticks=False, labelPadding=8)
    place = alt.Y("program:N", sort=list(labels.values()), title=None, axis=axis)
    named = alt.Chart(alt.NamedData("rows")).transform_filter("isValid(datum.program)")
    return named.encode(y=place, tooltip=texts)


def _chart(
    drawn: alt.LayerChart,
    count: int,
    source: str,
    where: Mapping[str, Any],
    label: tuple[str, dict[str, str]],
    said: str,
) -> Chart:
    return Chart.of(
        drawn,
        count * ROW,
        source=source,
        where=dict(where),
        texts={"program": label},
        description=f"Bar chart of {counted(count, 'program')}, {said}. The table that follows has the same figures.",
    )
