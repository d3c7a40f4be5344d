// The figures of the page, and how they are written. The same as bufferhouse/report/text/figures.py.
const read = (id) => JSON.parse(document.getElementById(id)?.textContent ?? "null");
const answers = read("answers") ?? {};

/** Rows of an answer as objects; cells of a column in `texts` are places in its list of texts. */
function records(name, where = {}) {
  const { columns, rows, texts = {} } = answers[name];
  const kept = Object.entries(where);
  return rows
    .map((row) => Object.fromEntries(columns.map((column, i) =>
      [column, texts[column] && row[i] !== null ? texts[column][row[i]] : row[i]])))
    .filter((record) => kept.every(([column, value]) => record[column] === value));
}

/** One digit behind the point, as Python writes it: of 6.25 the even 6.2. No other middle is a binary number. */
const rounded = (value) => (Math.abs(value) % 1 === 0.25 ? value - Math.sign(value) * 0.05 : value)
  .toFixed(1).replace(/^-(?=0\.0$)/, "");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
function humanBytes(count, signed = false) {
  if (count === null) return "–";
  let size = Math.abs(count), unit = 0;
  while (size >= 1023.95 && unit < UNITS.length - 1) { size /= 1024; unit += 1; }
  const sign = count < 0 ? "-" : signed && count > 0 ? "+" : "";
  return `${sign}${unit ? rounded(size) : size} ${UNITS[unit]}`;
}
/** Bytes without loss, for the ticks of an axis: 1.25 MiB, and 6,691,772 B where that is shorter. */
function tickBytes(count) {
  let size = count, unit = 0;
  while (Math.abs(size) >= 1024 && unit < UNITS.length - 1) { size /= 1024; unit += 1; }
  const text = `${Number(size.toPrecision(12))} ${UNITS[unit]}`, exact = exactBytes(count);
  return text.length <= exact.length ? text : exact;
}
const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
const exactBytes = (count, signed = false) =>
  count === null ? "–" : `${signed && count > 0 ? "+" : ""}${grouped(count)} B`;

/** Text of a dump without what a browser would obey; too long a text loses its middle. */
function printable(text, limit = Infinity) {
  const shown = String(text).replace(/[\p{C}\p{Z}]/gu, (char) => {
    if (char === " ") return char;
    const code = char.codePointAt(0), short = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
    const [mark, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return short ?? `\\${mark}${code.toString(16).padStart(digits, "0")}`;
  });
  const letters = Array.from(shown);
  if (letters.length <= limit) return shown;
  const tail = Math.floor(limit / 2);
  return letters.slice(0, limit - tail - 1).join("") + "…" + letters.slice(-tail).join("");
}

/** A value of the map: its name, where it comes from, and what a search looks into. */
const nameOf = ({ instruction_name: name, shape_index: index }) => name + (index && index !== "{}" ? index : "");
const sourceOf = ({ source_file: file, source_line: line }) => file && file + (line ? `:${line}` : "");
const wordsOf = (value) => [value.instruction_name, value.opcode, value.op_name, value.shape_text, sourceOf(value)]
  .join("\n").toLowerCase();

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** An element with properties and children; text is only ever text. */
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}
