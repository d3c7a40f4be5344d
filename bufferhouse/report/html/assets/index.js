// The filters of the index: what moved, on which platform, in which of the newest runs.
const filters = document.getElementById("filters");
const allMovers = answers.movers, shownMovers = records("movers");

function filterMovers() {
  const wanted = Object.fromEntries([...filters.querySelectorAll("[name]")].map((control) => [control.name, control.value]));
  const since = wanted.since ? shownMovers.find((row) => row.run_name === wanted.since) : null;
  const fits = (row) => ["kind", "platform", "device_kind", "track", "memory_space"]
    .every((name) => !wanted[name] || String(row[name]) === wanted[name])
    && (!wanted.age || row.age <= Number(wanted.age)) && (!since || row.age <= since.age);
  answers.movers = { ...allMovers, rows: allMovers.rows.filter((_, i) => fits(shownMovers[i])) };
  const place = document.getElementById("movers-place"), old = place.querySelector("table");
  const columns = tables.movers.columns.map((column, i) => ({ ...column, heading: old.tHead.rows[0].cells[i].textContent }));
  const words = place.querySelector("input[type=search]")?.value;
  const by = Array.from(old.tHead.rows[0].cells).findIndex((head) => head.ariaSort), { ariaSort } = old.tHead.rows[0].cells[by] ?? {};
  const table = emptyTable(old.ariaLabel, columns, "movers"), heads = table.tHead.rows[0].cells;
  place.replaceChildren(table.parentElement);
  prepare(table, tables.movers);
  chooseColumns(table);
  // What was searched stays searched, what was sorted sorted.
  for (let clicks = 0; by >= 0 && heads[by].ariaSort !== ariaSort && clicks < 2; clicks += 1) heads[by].firstChild.click();
  const search = place.querySelector("input[type=search]");
  if (search && words) {
    search.value = words;
    search.dispatchEvent(new Event("input"));
  }
}

const names = [...new Set(shownMovers.map((row) => row.run_name))];
document.getElementById("runs-known").append(...names.map((value) => element("option", { value })));
for (const control of filters.querySelectorAll("[name]")) control.addEventListener("input", filterMovers);
filters.hidden = false;
