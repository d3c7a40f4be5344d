"""One HTML file that needs nothing else: the frame of every report's page.

Text from dumps is data. In HTML it passes through `text`; in scripts it stands as JSON in blocks that no browser
runs. A content security policy in the page lets only the scripts run that were written here, by their hashes, and
forbids every request.
"""

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from functools import cache
from typing import Any

import altair as alt
import vl_convert

from bufferhouse.report.charts import Chart
from bufferhouse.report.figures import printable
from bufferhouse.report.fleet import Answer

_EXACT_IN_JAVASCRIPT = 2**53

_STYLE = """
:root {
  color-scheme: light dark;
  --page: #fcfcfb; --ink: #1c1e21; --soft: #666b73; --line: #e2e3e5; --head: #f4f4f3;
  --rise: #b3401e; --fall: #1f7a55; --accent: #2f5fb3;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16181b; --ink: #e4e5e7; --soft: #9aa0a8; --line: #2e3237; --head: #1d2024;
    --rise: #f08a64; --fall: #66c79b; --accent: #8fb4f5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2.5rem 1.5rem 3rem; max-width: 76rem;
  background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}
h1 { font-size: 1.6rem; font-weight: 600; letter-spacing: -0.01em; margin: 0 0 0.25rem; }
h2 { font-size: 1.2rem; font-weight: 600; margin: 3rem 0 0.25rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1rem; font-weight: 600; margin: 2rem 0 0.1rem; }
p { margin: 0.2rem 0; max-width: 48rem; }
.soft, caption, footer, .change, .unit { color: var(--soft); }
.note { border-left: 3px solid var(--accent); padding: 0.3rem 0 0.3rem 0.8rem; margin: 1rem 0; }
dl { display: flex; flex-wrap: wrap; gap: 0.4rem 2.5rem; margin: 1.2rem 0; }
dl div { display: flex; flex-direction: column-reverse; }
dt { color: var(--soft); font-size: 0.85rem; }
dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; margin: 0.6rem 0; }
table { border-collapse: separate; border-spacing: 0; font-size: 0.87rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: 0.3rem; }
th, td { padding: 0.3rem 0.8rem; text-align: right; vertical-align: top; white-space: nowrap; }
th { font-weight: 500; }
thead th { vertical-align: bottom; color: var(--soft); border-bottom: 1px solid var(--line); white-space: normal; }
tbody tr + tr > * { border-top: 1px solid var(--line); }
tbody tr:hover > * { background: var(--head); }
th:first-child, td:first-child { padding-left: 0; position: sticky; left: 0; background: var(--page); }
.text { text-align: left; }
.change { display: block; font-size: 0.78rem; line-height: 1.2; }
.rise { color: var(--rise); }
.fall { color: var(--fall); }
svg.trend { width: 6rem; height: 1.3rem; vertical-align: middle; overflow: visible; }
svg.trend polyline { fill: none; stroke: var(--accent); stroke-width: 1.4; vector-effect: non-scaling-stroke; }
.chart { width: 100%; margin: 0.8rem 0 0.2rem; }
code { font-size: 0.9em; }
li { overflow-wrap: anywhere; }
footer { margin-top: 3rem; padding-top: 0.8rem; border-top: 1px solid var(--line); font-size: 0.85rem; }
@media print {
  body { padding: 0; max-width: none; }
  .wide { overflow: visible; }
  h3, .chart, tr { break-inside: avoid; }
}
"""

# Interprets expressions (ast) instead of compiling them, so that the policy need not allow eval.
_DRAW = """
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const answers = read("answers"), charts = read("charts");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function rows(chart) {
  const { columns, rows } = answers[chart.source];
  const added = Object.entries(chart.texts);
  return rows
    .map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])))
    .filter((row) => Object.entries(chart.where).every(([name, value]) => row[name] === value))
    .map((row) => added.reduce((all, [name, [from, texts]]) => ({ ...all, [name]: texts[row[from]] }), row));
}
function draw() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue("--" + name).trim();
  const font = getComputedStyle(document.body).fontFamily;
  const config = {
    background: "transparent", font, view: { stroke: null },
    axis: { labelColor: colour("soft"), gridColor: colour("line"), labelFontSize: 12 },
    axisX: { grid: false },
    legend: { labelColor: colour("ink"), labelFontSize: 12 },
    range: { category: ["#4269d0", "#d98a00", "#e0533d", "#2fa391", "#9c6ade", "#5f8f2f", "#d9659b", "#8a8f98"] },
  };
  charts.forEach((chart, i) => {
    const spec = { ...chart.spec, datasets: { rows: rows(chart) } };
    vegaEmbed("#chart-" + (i + 1), spec, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", config,
      tooltip: { theme: dark.matches ? "dark" : "light" },
    });
  });
}
draw();
dark.addEventListener("change", draw);
"""


def text(value: object, limit: int | None = None) -> str:
    """Return any text as HTML that shows it and does nothing else; its direction stays its own."""
    return f"<bdi>{html.escape(printable(str(value), limit))}</bdi>"


def chart_place(number: int, chart: Chart) -> str:
    """Return the element that chart `number`, from 1, is drawn in."""
    return (
        f'<div class="chart" id="chart-{number}" role="img" aria-label="{html.escape(printable(chart.description))}">'
        "<noscript>The chart needs JavaScript; the table that follows has its figures.</noscript></div>"
    )


def page(title: str, body: str, answers: Mapping[str, Answer], charts: Sequence[Chart]) -> str:
    """Return a whole page.

    `title` and `body` are HTML. The answers, by the names of their statements, are embedded in the element `answers`
    as `{name: {"columns": [...], "rows": [[...]]}}`: the figures of the page for machines. Integers that JavaScript
    would round stand there as text.
    """
    data = {name: {"columns": answer.columns, "rows": answer.rows} for name, answer in answers.items()}
    blocks = [_data("answers", data)]
    scripts = []
    if charts:
        drawn = [{"spec": c.spec, "source": c.source, "where": c.where, "texts": c.texts} for c in charts]
        blocks.append(_data("charts", drawn))
        scripts = [_vega(), _DRAW]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>",
            f"<style>{_STYLE}</style>",
            "</head>",
            "<body>",
            body,
            *blocks,
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def _policy(scripts: Sequence[str]) -> str:
    """Return a policy that runs these scripts and no other, and lets the page ask nobody for anything."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes) or "'none'"
    # Vega writes style attributes.
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def _data(name: str, value: object) -> str:
    """Return a block of JSON that no browser runs, and that no text in it can end."""
    written = json.dumps(_plain(value), ensure_ascii=True, separators=(",", ":"))
    for char in "<>&":
        written = written.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="{name}">{written}</script>'


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, int) and abs(value) > _EXACT_IN_JAVASCRIPT:
        return str(value)
    return value


@cache
def _vega() -> str:
    """Return Vega-Embed, Vega-Lite and Vega as one script, in the version the specifications are written for."""
    major_minor = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    script = vl_convert.javascript_bundle(vl_version=major_minor)
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
