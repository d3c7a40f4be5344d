// The timeline of a memory space: a click on a moment lists who is alive then, and draws them as a treemap.
const HEIGHT = 280, TREE_HEIGHT = 220, LISTED = 50; // pixels, pixels, rows
const KINDS = { "": "all kinds", parameter: "parameters", temp: "temporaries", output: "outputs", constant: "constants" };

/** The bytes that each value owns among those alive: a shared byte belongs to who starts last, then to the lowest id. */
function ownedBytes(alive) {
  const taken = new Map(), owned = new Map();
  for (const value of [...alive].sort((a, b) => b.start_position - a.start_position || a.value_id - b.value_id)) {
    const spans = taken.get(value.allocation_index) ?? [];
    let from = value.offset_bytes, free = 0;
    const end = from + value.size_bytes;
    for (const [low, high] of spans) {
      if (high <= from) continue;
      if (low >= end) break;
      free += Math.max(low - from, 0);
      from = Math.max(from, high);
    }
    owned.set(value, free + Math.max(end - from, 0));
    const joined = [];
    for (const span of [...spans, [value.offset_bytes, end]].sort((a, b) => a[0] - b[0])) {
      const last = joined.at(-1);
      if (last && span[0] <= last[1]) last[1] = Math.max(last[1], span[1]);
      else joined.push([...span]);
    }
    taken.set(value.allocation_index, joined);
  }
  return owned;
}

class Timeline {
  constructor(place) {
    this.place = place;
    this.space = Number(place.dataset.space);
    this.rows = records("program_timeline", { memory_space: this.space });
    this.facts = records("program_spaces", { memory_space: this.space })[0];
    this.panel = document.querySelector(`.moment[data-space="${this.space}"]`);
    const kinds = new Map(records("program_allocations", { memory_space: this.space })
      .map((one) => [one.allocation_index, one.kind]));
    this.values = records("program_map").filter((value) => kinds.has(value.allocation_index));
    for (const value of this.values) {
      value.kind = kinds.get(value.allocation_index);
      value.source = sourceOf(value);
      value.words = wordsOf(value);
    }
    this.left = records("program_map_spaces", { memory_space: this.space })[0]?.left_out_count ?? 0;
    this.end = this.rows.at(-1).schedule_position;
    this.kind = this.wanted = "";
    this.by = "op_name";
    place.addEventListener("click", (event) => this.choose(this.positionAt(event)));
    place.addEventListener("pointermove", (event) => this.point(this.positionAt(event)));
    place.addEventListener("pointerleave", () => this.point(null));
    place.addEventListener("keydown", (event) => this.obey(event));
    new ResizeObserver(() => { if (place.clientWidth !== this.drawnWidth) this.draw(); }).observe(place);
    this.draw();
    this.show(this.facts.occupied_peak_position);
  }

  positionAt(event) {
    const { left } = this.place.getBoundingClientRect();
    const share = (event.clientX - left - MARGIN.left) / (this.right - MARGIN.left);
    return Math.min(Math.max(Math.floor(share * (this.end + 1)), 0), this.end);
  }

  obey(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || event.target !== this.place) return;
    event.preventDefault();
    this.choose(Math.min(Math.max(this.position + by, 0), this.end));
  }

  draw() {
    this.drawnWidth = this.place.clientWidth;
    const { facts, rows } = this;
    const used = Math.max(facts.reserved_bytes, ...rows.map((row) => Math.max(row.occupied_bytes, row.listed_bytes)));
    const capacity = this.space === 0 ? records("program_capacity")[0]?.capacity_bytes ?? null : null;
    // Beyond ten times as much the line of the capacity would press the chart flat.
    const limit = capacity !== null && capacity <= 10 * used ? capacity : null, high = Math.max(used, limit ?? 0);
    const ticks = byteTicks(0, high, 5), top = ticks.at(-1);
    const y = (bytes) => HEIGHT - MARGIN.bottom - bytes / top * (HEIGHT - MARGIN.top - MARGIN.bottom);
    const { drawing, right, bottom } = chartFrame(this.place, HEIGHT, ticks, y, "");
    this.right = right;
    const x = this.x = (position) => MARGIN.left + position / (this.end + 1) * (right - MARGIN.left);
    for (const tick of countTicks(0, this.end, Math.max(Math.floor(right / 120), 2))) {
      drawing.append(svg("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, grouped(tick)));
    }
    drawing.append(svg("text", { x: right, y: HEIGHT - 3, "text-anchor": "end" }, "position in the schedule"));
    const line = (column) => stepped(rows.map((row) => [x(row.schedule_position), y(row[column])]), x(this.end + 1));
    const occupied = line("occupied_bytes");
    drawing.append(svg("path", { class: "area", d: `${path(occupied)}L${right} ${bottom}L${MARGIN.left} ${bottom}Z` }));
    drawing.append(svg("path", { class: "occupied", d: path(occupied) }));
    drawing.append(svg("path", { class: "listed", d: path(line("listed_bytes")) }));
    const across = { x1: MARGIN.left, x2: right, y1: y(facts.reserved_bytes), y2: y(facts.reserved_bytes) };
    drawing.append(svg("line", { class: "reserved", ...across }));
    if (limit !== null) {
      drawing.append(svg("line", { class: "capacity", x1: MARGIN.left, x2: right, y1: y(limit), y2: y(limit) }),
        svg("text", { class: "ink", x: right, y: y(limit) - 5, "text-anchor": "end" }, `capacity: ${humanBytes(limit)}`));
    }
    const peak = facts.occupied_peak_position, isLeft = peak * 2 < this.end;
    drawing.append(svg("line", { class: "peak", x1: x(peak), x2: x(peak), y1: 20, y2: bottom }));
    drawing.append(svg("text", { class: "ink", x: x(peak) + (isLeft ? 5 : -5), y: 26, "text-anchor": isLeft ? "start" : "end" },
      `peak: ${humanBytes(facts.occupied_peak_bytes)} occupied`));
    this.pointer = svg("line", { class: "pointed", y1: MARGIN.top, y2: bottom, visibility: "hidden" });
    this.said = svg("text", { class: "ink", y: 12 });
    this.mark = svg("line", { class: "chosen", y1: MARGIN.top, y2: bottom });
    drawing.append(this.pointer, this.mark, this.said);
    this.place.replaceChildren(drawing);
    if (this.position === undefined) return;
    this.moveMark();
    this.drawTree(this.shown);
  }

  moveMark() {
    const at = this.x(this.position + 0.5);
    this.mark.setAttribute("x1", at);
    this.mark.setAttribute("x2", at);
  }

  point(position) {
    this.pointer.setAttribute("visibility", position === null ? "hidden" : "visible");
    if (position === null) { this.said.textContent = ""; return; }
    // Of a long schedule the page has some positions only: what is said is of one of them.
    const row = this.rows.findLast((one) => one.schedule_position <= position) ?? this.rows[0];
    const at = this.x(row.schedule_position + 0.5);
    this.pointer.setAttribute("x1", at);
    this.pointer.setAttribute("x2", at);
    this.said.setAttribute("x", Math.min(Math.max(at, 160), this.right - 160));
    this.said.setAttribute("text-anchor", "middle");
    const name = row.instruction_name ? ` ${printable(row.instruction_name, 40)}` : "";
    this.said.textContent = `${grouped(row.schedule_position)}${name}: ${humanBytes(row.occupied_bytes)} occupied`;
  }

  /** Choose a moment, and let the address of the page say which. */
  choose(position) {
    this.show(position);
    try { history.replaceState(null, "", `#at-${this.space}-${position}`); } catch { /* a page that may not change it */ }
  }

  show(position) {
    this.position = position;
    this.moveMark();
    this.alive = this.values.filter((value) => value.start_position <= position && position <= value.end_position);
    this.owned = ownedBytes(this.alive);
    this.list();
  }

  list() {
    const words = this.wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const isFound = this.inArea ?? ((value) => words.every((word) => value.words.includes(word)));
    const shown = this.shown = this.alive
      .filter((value) => (!this.kind || value.kind === this.kind) && isFound(value))
      .sort((a, b) => this.owned.get(b) - this.owned.get(a) || a.value_id - b.value_id);
    const bytes = shown.reduce((sum, value) => sum + this.owned.get(value), 0);
    const left = this.left ? ` The page leaves out ${grouped(this.left)} smaller values of the program.` : "";
    this.tools();
    this.heading.textContent = `Alive at position ${grouped(this.position)}`;
    this.summary.textContent = `${grouped(shown.length)} of ${grouped(this.alive.length)} values, ${exactBytes(bytes)}.${left}`;
    answers.alive = {
      columns: ["value_name", "owned_bytes", "op_name", "source", "source_link", "kind", "shape_text", "size_bytes", "start_position", "end_position"],
      rows: shown.map((value) => [
        nameOf(value), this.owned.get(value), value.op_name, value.source, value.source_link ?? null, value.kind,
        value.shape_text, value.size_bytes, value.start_position, value.end_position,
      ]),
    };
    const columns = [
      ["value_name", "value", "text", 40], ["owned_bytes", "owned", "bytes"], ["op_name", "op_name", "text", 60],
      ["source", "source", "text", 40], ["kind", "kind", "text", 20], ["shape_text", "shape", "text", 40],
      ["size_bytes", "slot", "bytes"], ["start_position", "from", "count"], ["end_position", "to", "count"],
    ].map(([column, heading, kind, limit]) =>
      ({ column, heading, kind, limit, ...(column === "source" && { link: "source_link", root: "" }) }));
    const table = emptyTable(this.heading.textContent, columns, `alive-${this.space}`);
    this.tableAt.replaceChildren(table.parentElement);
    prepare(table, { source: "alive", where: {}, columns, hasSearch: false });
    chooseColumns(table);
    this.drawTree(shown);
  }

  /** The heading, the choices and the places below, made once. */
  tools() {
    if (this.heading) return;
    this.heading = element("h4", {});
    this.heading.setAttribute("aria-live", "polite");
    this.summary = element("p", { className: "soft" });
    this.tableAt = element("div");
    this.tree = element("div", { className: "figure tree" });
    const kind = element("select", { name: "kind" }, ...Object.entries(KINDS).map(([value, said]) =>
      element("option", { value }, said)));
    kind.addEventListener("change", () => { this.kind = kind.value; this.list(); });
    const find = this.find = element("input", { type: "search", name: "alive", placeholder: "name, op_name, file:line" });
    find.addEventListener("input", () => { this.wanted = find.value; this.inArea = null; this.list(); });
    const by = element("select", { name: "by" }, element("option", { value: "op_name" }, "op_name"),
      element("option", { value: "source" }, "source path"));
    by.addEventListener("change", () => { this.by = by.value; this.list(); });
    const label = (said, control) => element("label", {}, `${said} `, control);
    this.panel.append(this.heading, this.summary,
      element("div", { className: "tools" }, label("Show", kind), label("Find", find), label("Areas by", by)),
      this.tree, this.tableAt);
  }

  /** Areas of the bytes at the moment, by op_name or by source path; a click lists what is in one, and no more. */
  drawTree(shown) {
    const sums = new Map(), { by } = this, areaOf = (value) => value[by] ?? "(not printed)";
    for (const value of shown) {
      const key = areaOf(value);
      sums.set(key, (sums.get(key) ?? 0) + this.owned.get(value));
    }
    const areas = [...sums].filter(([, bytes]) => bytes > 0).sort((a, b) => b[1] - a[1]);
    const width = Math.max(this.tree.clientWidth || this.place.clientWidth, 240);
    const drawing = svg("svg", { viewBox: `0 0 ${width} ${TREE_HEIGHT}`, height: areas.length ? TREE_HEIGHT : 0 });
    for (const [i, { key, bytes, x, y, w, h }] of squares(areas, width, TREE_HEIGHT).entries()) {
      const rect = svg("rect", { x, y, width: w, height: h, class: `c${i % 8 + 1}` },
        svg("title", {}, `${printable(key, 200)}: ${exactBytes(bytes)}`));
      rect.addEventListener("click", () => {
        this.find.value = this.wanted = key;
        this.inArea = (value) => areaOf(value) === key;
        this.list();
      });
      drawing.append(rect);
      if (w > 60 && h > 30) {
        drawing.append(svg("text", { x: x + 5, y: y + 15 }, printable(key.split("/").at(-1), Math.max(Math.floor(w / 8), 3))),
          svg("text", { x: x + 5, y: y + 29 }, humanBytes(bytes)));
      }
    }
    this.tree.replaceChildren(drawing);
  }
}

/** Rectangles as square as can be, row by row, the largest first (Bruls, Huizing and van Wijk). */
function squares(areas, width, height) {
  const total = areas.reduce((sum, [, bytes]) => sum + bytes, 0), made = [];
  let left = 0, top = 0, w = width, h = height, rest = total, begin = 0;
  const worst = (row, sum, side) => {
    const scale = (w * h) / rest, thick = sum * scale / side;
    return Math.max(...row.map(([, bytes]) => { const long = bytes * scale / thick; return Math.max(long / thick, thick / long); }));
  };
  while (begin < areas.length) {
    const side = Math.min(w, h);
    let end = begin + 1, sum = areas[begin][1];
    while (end < areas.length && worst(areas.slice(begin, end + 1), sum + areas[end][1], side) <= worst(areas.slice(begin, end), sum, side)) {
      sum += areas[end][1];
      end += 1;
    }
    const thick = sum / rest * (w < h ? h : w);
    let along = 0;
    for (const [key, bytes] of areas.slice(begin, end)) {
      const long = bytes / sum * side;
      made.push(w < h ? { key, bytes, x: left + along, y: top, w: long, h: thick }
        : { key, bytes, x: left, y: top + along, w: thick, h: long });
      along += long;
    }
    if (w < h) { top += thick; h -= thick; } else { left += thick; w -= thick; }
    rest -= sum;
    begin = end;
  }
  return made;
}

for (const place of document.querySelectorAll(".timeline")) {
  const begin = () => { place.timeline ??= new Timeline(place); };
  const folded = place.closest("details");
  const follow = () => { // the address of the page, to a moment
    const [, space, position] = /^#at-(\d+)-(\d+)$/.exec(location.hash) ?? [];
    if (space !== place.dataset.space) return;
    if (folded) folded.open = true;
    begin();
    place.timeline.show(Math.min(Number(position), place.timeline.end));
    place.scrollIntoView();
  };
  if (folded && !folded.open) folded.addEventListener("toggle", begin, { once: true });
  else begin();
  follow();
  window.addEventListener("hashchange", follow);
}
