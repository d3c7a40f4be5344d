// Tables that sort and search. Without this script they are there, in their first order.
const SEARCH_FROM = 8; // rows
const SHOWN_AT_ONCE = 25; // of an answer; what stands in the page is shown whole
const MORE = 500;

/** How a cell of each kind reads: its text, and what it says when pointed at. As in bufferhouse/report/html/page.py. */
const CELLS = {
  text: (value, limit) => [printable(value, limit), printable(value)],
  bytes: (value) => [humanBytes(value), exactBytes(value)],
  change: (value) => [humanBytes(value, true), exactBytes(value, true)],
  count: (value) => [grouped(value), ""],
  share: (value) => [`${rounded(value * 100)}%`, ""],
};

function cell(value, column, isFirst, href = null) {
  const made = element(isFirst ? "th" : "td");
  if (isFirst) made.scope = "row";
  if (value === null) {
    made.className = column.kind === "text" ? "text soft" : "soft";
    made.textContent = "–";
    return made;
  }
  const [shown, exact] = CELLS[column.kind](value, column.limit);
  if (column.kind === "text") made.className = "text";
  if (column.kind === "change" && value) made.className = value > 0 ? "rise" : "fall";
  if (exact && exact !== shown) made.title = exact;
  const said = column.kind === "text" ? element("bdi", {}, shown) : shown;
  made.append(href === null ? said : element("a", { href }, said));
  return made;
}

/** A table of columns without a row, in the frame that scrolls it; as `framed` of templates/parts.html. */
function emptyTable(label, columns, id = null) {
  const headings = columns.map(({ heading, kind }) =>
    element("th", { scope: "col", className: kind === "text" ? "text" : "" }, heading));
  const table = element("table", { ariaLabel: label, ...(id && { id }) },
    element("thead", {}, element("tr", {}, ...headings)), element("tbody"));
  element("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: label }, table);
  return table;
}

/** Rows as {keys, words, element()}: of an embedded answer, else those that stand in the table. */
function rowsOf(table, spec) {
  if (!spec) {
    return Array.from(table.tBodies[0].rows, (row) => ({
      keys: Array.from(row.cells, ({ dataset, textContent }) => key(dataset.key ?? textContent.trim())),
      words: row.textContent.toLowerCase(),
      element: () => row,
    }));
  }
  return records(spec.source, spec.where).map((record) => {
    const keys = spec.columns.map(({ column }) => record[column]);
    let made = null;
    const leads = ({ link, root }) => {
      const found = link && record[link];
      return found ? (/^https?:/.test(found) ? found : root + found) : null;
    };
    const row = () => element("tr", {}, ...keys.map((value, i) =>
      cell(value, spec.columns[i], i === 0, leads(spec.columns[i]))));
    return {
      keys,
      words: keys.filter((value) => typeof value === "string").join("\n").toLowerCase(),
      element: () => (made ??= row()),
    };
  });
}

/** What a cell is sorted by: null, a number, or its text; few bytes stand in it to the byte, as in "512 B". */
function key(text) {
  if (text === "" || text === "–" || text === "·") return null;
  const number = text.replace(/ B$/, "");
  return isNaN(number) ? text : Number(number);
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), undefined, { numeric: true });
}

function sorted(rows, column, direction) {
  if (column === null) return rows;
  const known = rows.filter((row) => row.keys[column] !== null);
  const unknown = rows.filter((row) => row.keys[column] === null); // last, whichever way
  return [...known.sort((a, b) => direction * compare(a.keys[column], b.keys[column])), ...unknown];
}

function prepare(table, spec) {
  const rows = rowsOf(table, spec), atOnce = spec ? SHOWN_AT_ONCE : Infinity;
  const state = { column: null, direction: 1, wanted: "", shown: atOnce };
  const count = element("output", { className: "soft" });
  const more = element("button", { type: "button", hidden: true });
  const headings = Array.from(table.tHead.rows[0].cells);

  function show() {
    const words = state.wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const found = rows.filter((row) => words.every((word) => row.words.includes(word)));
    const shown = sorted(found, state.column, state.direction).slice(0, state.shown);
    table.tBodies[0].replaceChildren(...shown.map((row) => row.element()));
    const total = grouped(rows.length);
    count.textContent = words.length ? `${grouped(found.length)} of ${total}` : `${total} ${rows.length === 1 ? "row" : "rows"}`;
    const rest = found.length - shown.length;
    more.hidden = rest <= 0;
    const press = element("span", { className: "press" }, `: show ${Math.min(MORE, rest)}`); // not on paper
    more.replaceChildren(`${grouped(rest)} more`, press);
    headings.forEach((heading, i) => {
      if (i === state.column) heading.ariaSort = state.direction > 0 ? "ascending" : "descending";
      else heading.removeAttribute("aria-sort");
    });
  }

  headings.forEach((heading, i) => {
    const button = element("button", { type: "button" }, ...heading.childNodes);
    button.addEventListener("click", () => {
      const isNumber = rows.some((row) => typeof row.keys[i] === "number");
      const first = isNumber ? -1 : 1; // the largest number first, the first word first, then the other way round
      state.direction = state.column === i ? -state.direction : first;
      state.column = i;
      show();
    });
    heading.replaceChildren(button);
  });
  more.addEventListener("click", () => { state.shown += MORE; show(); });
  if (rows.length >= SEARCH_FROM && spec?.hasSearch !== false) {
    const search = element("input", { type: "search", ariaLabel: `Search ${table.ariaLabel}` });
    search.addEventListener("input", () => { state.wanted = search.value; state.shown = atOnce; show(); });
    table.parentElement.before(element("div", { className: "tools" }, element("label", {}, "Search ", search), count));
  }
  table.parentElement.after(more);
  if (rows.length > table.tBodies[0].rows.length) show();
}

const tables = read("tables") ?? {};
for (const table of document.querySelectorAll("table")) prepare(table, tables[table.id]);
