// The allocation map: time from left to right, addresses upwards, a rectangle for each value.
const MODES = {
  opcode: (value) => value.opcode ?? "(not printed)",
  element_type: (value) => value.element_type ?? "tuple table",
  kind: (value) => value.kind,
  layout_padding: (value) => shareClass(value.layout_padding_bytes, value.size_bytes),
  slack: (value) => shareClass(value.slack_bytes, value.size_bytes),
};
const SHARES = ["none", "below 10%", "10% to 50%", "50% to 90%", "90% and more"];
const SHARE_COLORS = [8, 4, 2, 3, 5];
const GUTTER = { left: 72, right: 8, top: 8, bottom: 26 }; // pixels
const STEP = 0.15, ZOOM = 1.25;

function shareClass(part, whole) {
  const share = part > 0 ? part / whole : 0;
  return SHARES[share === 0 ? 0 : share < 0.1 ? 1 : share < 0.5 ? 2 : share < 0.9 ? 3 : 4];
}

/** The slots after an edit, each with all that is known of its value, but for what the edit changed. */
function edited(edit) {
  const values = new Map(records("program_map").map((value) => [value.value_id, value]));
  return records("program_edited_map", { edit_number: edit }).filter((slot) => values.has(slot.value_id))
    .map((slot) => {
      const value = values.get(slot.value_id);
      const parts = slot.size_bytes === value.size_bytes ? {} : { element_bytes: 0, layout_padding_bytes: 0, slack_bytes: 0 };
      return { ...value, ...slot, ...parts };
    });
}

/**
 * The values of a memory space, each with its rectangle {x0, x1, y0, y1}; allocations lie one above the other. With an
 * edit they stand as they could after it.
 */
function rectangles(space, edit = null) {
  const allocations = new Map();
  let top = 0;
  const found = edit === null ? records("program_allocations", { memory_space: space })
    : records("program_edited_allocations", { edit_number: edit });
  for (const allocation of found) {
    allocations.set(allocation.allocation_index, { ...allocation, base: top });
    top += allocation.size_bytes;
  }
  const values = (edit === null ? records("program_map") : edited(edit))
    .filter((value) => allocations.has(value.allocation_index));
  for (const value of values) {
    const { base, kind } = allocations.get(value.allocation_index);
    const y0 = base + value.offset_bytes;
    // A live range is closed: a value takes its bytes at its last position still.
    Object.assign(value, { kind, x0: value.start_position, x1: value.end_position + 1, y0, y1: y0 + value.size_bytes });
    value.words = wordsOf(value);
  }
  // A shared byte belongs to the value that starts last, then to the lowest id: that one is drawn on top.
  values.sort((a, b) => a.x0 - b.x0 || b.value_id - a.value_id);
  const end = values.reduce((most, value) => Math.max(most, value.x1), 1);
  return { values, allocations: [...allocations.values()], bounds: { x0: 0, x1: end, y0: 0, y1: Math.max(top, 1) } };
}

/** Classes of a mode with their colors: the seven that take most bytes for most time, and all others. */
function classes(values, mode) {
  const areas = new Map();
  for (const value of values) {
    value.class = MODES[mode](value);
    areas.set(value.class, (areas.get(value.class) ?? 0) + value.size_bytes * (value.x1 - value.x0));
  }
  if (mode === "layout_padding" || mode === "slack") {
    return SHARES.filter((name) => areas.has(name)).map((name) => [name, SHARE_COLORS[SHARES.indexOf(name)]]);
  }
  const names = [...areas.keys()].sort((a, b) => areas.get(b) - areas.get(a));
  const named = names.slice(0, names.length > 8 ? 7 : 8).map((name, i) => [name, i + 1]);
  const others = names.length - named.length;
  for (const value of values) if (!named.some(([name]) => name === value.class)) value.class = null;
  return others ? [...named, [null, 8, `${others} others`]] : named;
}

/** What there is to know of a value, as names and texts. */
function facts(value) {
  const parts = [["elements", "element"], ["layout padding", "layout_padding"], ["slack", "slack"],
    ["tuple table", "tuple_table"]].filter(([, part]) => value[`${part}_bytes`]);
  return [
    ["value", `${nameOf(value)} (${value.opcode ?? "operation not printed"})`],
    ["shape", value.shape_text],
    ["slot", `${exactBytes(value.size_bytes)} (${humanBytes(value.size_bytes)})`],
    ...parts.map(([name, part]) => [name, exactBytes(value[`${part}_bytes`])]),
    ["place", `allocation ${value.allocation_index} (${value.kind}), offset ${grouped(value.offset_bytes)}`],
    ["alive", `positions ${grouped(value.start_position)} to ${grouped(value.end_position)}`],
    ["op_name", value.op_name],
    ["source", sourceOf(value)],
  ].filter(([, text]) => text);
}

const described = (value, limit) => element("dl", {}, ...facts(value).flatMap(([name, text]) =>
  [element("dt", {}, name), element("dd", {}, element("bdi", {}, printable(text, limit)))]));

/** Round numbers between two, about `wanted` of them; bytes at multiples of powers of two. */
function ticks(from, to, wanted, base) {
  const raw = Math.max((to - from) / wanted, 1), power = base ** Math.floor(Math.log(raw) / Math.log(base));
  const step = base === 2 ? 2 * power : [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
  const found = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) found.push(tick);
  return found;
}
