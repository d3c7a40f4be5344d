// The history of a function over the runs: each point leads to the program in that run.
const HISTORY_HEIGHT = 240, WIDE_RANGE = 8; // pixels; from this ratio on the axis is logarithmic

/** Ticks and a function to a share of the height, linear or logarithmic, as bufferhouse/report/html/charts.py has it. */
function byteScale(values) {
  const high = Math.max(...values), positive = values.filter((one) => one > 0);
  const smallest = positive.length ? Math.min(...positive) : 1;
  if (high <= smallest * WIDE_RANGE) {
    const low = Math.max(Math.min(Math.min(...values), Math.floor(high / 2)), 0), ticks = byteTicks(low, high, 5);
    const [first, last] = [ticks[0], ticks.at(-1)];
    return { ticks, share: (bytes) => (bytes - first) / ((last - first) || 1), title: "" };
  }
  const first = Math.floor(Math.log2(smallest)), last = Math.ceil(Math.log2(high));
  const step = Math.max(Math.round((last - first) / 5), 1), ticks = [];
  for (let power = first; power <= last; power += step) ticks.push(2 ** power);
  const top = Math.max(Math.log2(ticks.at(-1)), last);
  return {
    ticks, title: "logarithmic axis",
    share: (bytes) => (bytes > 0 ? (Math.log2(bytes) - first) / (top - first) : 0),
  };
}

function drawHistory(place) {
  const rows = records("function_history", { figure: Number(place.dataset.figure) });
  const runs = [...new Map(rows.map((row) => [row.run_order, row.run_name]))].sort((a, b) => a[0] - b[0]);
  const column = new Map(runs.map(([order], i) => [order, i]));
  const values = rows.flatMap((row) => [row.reserved_bytes, row.occupied_peak_bytes]).filter((one) => one !== null);
  const { ticks, share, title } = byteScale(values);
  const y = (bytes) => HISTORY_HEIGHT - MARGIN.bottom - share(bytes) * (HISTORY_HEIGHT - MARGIN.top - MARGIN.bottom);
  const { drawing, right, bottom } = chartFrame(place, HISTORY_HEIGHT, ticks, y, title);
  drawing.removeAttribute("aria-hidden");
  const x = (row) => MARGIN.left + (column.get(row.run_order) + 0.5) / runs.length * (right - MARGIN.left);
  const room = (right - MARGIN.left) / runs.length, every = Math.max(Math.ceil(90 / room), 1);
  for (const [i, [order, name]] of runs.entries()) {
    if (i % every) continue;
    drawing.append(svg("text", { x: x({ run_order: order }), y: bottom + 16, "text-anchor": "middle" },
      printable(name, Math.max(Math.floor(room * every / 7.5), 4))));
  }
  const programs = new Map();
  for (const row of rows) programs.set(row.program_id, [...(programs.get(row.program_id) ?? []), row]);
  const said = svg("text", { class: "ink", x: right, y: 12, "text-anchor": "end" });
  for (const [i, [, points]] of [...programs].entries()) {
    points.sort((a, b) => a.run_order - b.run_order);
    const known = points.filter((row) => row.occupied_peak_bytes !== null);
    drawing.append(svg("path", { class: `line dashed s${i % 8 + 1}`, d: path(known.map((row) => [x(row), y(row.occupied_peak_bytes)])) }));
    drawing.append(svg("path", { class: `line s${i % 8 + 1}`, d: path(points.map((row) => [x(row), y(row.reserved_bytes)])) }));
    for (const row of points) {
      const text = `${printable(row.run_name, 60)}: ${humanBytes(row.reserved_bytes)}`
        + (row.reserved_change_bytes ? `, ${humanBytes(row.reserved_change_bytes, true)}` : "");
      const point = svg("a", { href: `../${row.program_link}`, "aria-label": `${printable(row.program, 60)}, ${text}` },
        svg("title", {}, text),
        svg("circle", { class: `c${i % 8 + 1}`, cx: x(row), cy: y(row.reserved_bytes), r: row.reserved_change_bytes ? 4.5 : 3 }));
      if (row.reserved_change_bytes) {
        point.append(svg("circle", { class: `s${i % 8 + 1}`, fill: "none", cx: x(row), cy: y(row.reserved_bytes), r: 7 }));
      }
      for (const kind of ["pointerenter", "focus"]) point.addEventListener(kind, () => { said.textContent = `${printable(row.program, 40)}, ${text}`; });
      drawing.append(point);
    }
  }
  drawing.append(said);
  place.replaceChildren(drawing);
}

for (const place of document.querySelectorAll(".history")) {
  const folded = place.closest("details");
  let drawn = 0;
  const begin = () => new ResizeObserver(() => {
    if (place.clientWidth !== drawn) { drawn = place.clientWidth; drawHistory(place); }
  }).observe(place);
  if (folded && !folded.open) folded.addEventListener("toggle", begin, { once: true });
  else begin();
}
