// Which columns of a wide table are shown: chosen once, remembered by the browser for all pages with such a table.
function kept(key, value) {
  try {
    if (value !== undefined) localStorage.setItem(key, JSON.stringify(value));
    return JSON.parse(localStorage.getItem(key)) ?? [];
  } catch {
    return value ?? []; // a browser that remembers nothing
  }
}

/** Let the reader choose the columns of a table with many of them; the first always stays. */
function chooseColumns(table) {
  const headings = Array.from(table.tHead?.rows[0]?.cells ?? [], (cell) => cell.textContent.trim());
  if (headings.length < 7 || !table.id) return;
  const key = `bufferhouse columns: ${headings.join("|")}`, hidden = new Set(kept(key));
  const apply = () => {
    for (const row of table.rows) for (const [i, cell] of [...row.cells].entries()) cell.hidden = hidden.has(headings[i]);
  };
  const choices = headings.slice(1).map((heading) => {
    const box = element("input", { type: "checkbox", checked: !hidden.has(heading) });
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(heading); else hidden.add(heading);
      kept(key, [...hidden]);
      apply();
    });
    return element("label", {}, box, ` ${heading}`);
  });
  const folded = element("details", { className: "choose" }, element("summary", {}, "Columns"), ...choices);
  const tools = table.parentElement.previousElementSibling;
  if (tools?.classList.contains("tools")) tools.append(folded);
  else table.parentElement.before(element("div", { className: "tools" }, folded));
  new MutationObserver(apply).observe(table.tBodies[0], { childList: true });
  apply();
}
for (const table of document.querySelectorAll("main table")) if (!table.closest(".moment")) chooseColumns(table);
