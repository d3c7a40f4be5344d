// What the charts of a site are drawn with: SVG, axes in bytes with ticks at round binary numbers, positions.
const MARGIN = { left: 76, right: 12, top: 34, bottom: 34 }; // pixels

function svg(tag, properties = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Ticks from 0, or from `low` on, up to `high`: multiples of a power of two. */
function byteTicks(low, high, wanted) {
  const step = 2 ** Math.max(Math.ceil(Math.log2(Math.max((high - low) / wanted, 1))), 0);
  const found = [];
  for (let tick = Math.floor(low / step) * step; tick < high + step; tick += step) found.push(tick);
  return found;
}

/** Positions that can be read: 1, 2 or 5 times a power of ten apart. */
function countTicks(from, to, wanted) {
  const raw = Math.max((to - from) / wanted, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const found = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
  return found;
}

/** The frame of a chart: the drawing, and functions from figures to pixels. */
function chartFrame(place, height, ticks, y, title) {
  const width = Math.max(place.clientWidth, 240);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, "aria-hidden": "true" });
  for (const tick of ticks) {
    drawing.append(svg("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(tick), y2: y(tick) }));
    drawing.append(svg("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, tickBytes(tick)));
  }
  if (title) drawing.append(svg("text", { x: 0, y: 12 }, title));
  return { drawing, width, right: width - MARGIN.right, bottom: height - MARGIN.bottom };
}
const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
/** A line that stays until the next point begins. */
const stepped = (points, end) => points.flatMap(([x, y], i) => [[x, y], [points[i + 1]?.[0] ?? end, y]]);
