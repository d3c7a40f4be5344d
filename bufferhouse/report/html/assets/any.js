// Any two runs, compared in the browser: each has its figures in a script beside its page.
const known = globalThis.siteData?.runs ?? [];
const chooser = document.getElementById("any");

const figures = new Map(); // promises by run: a run may be called as other data of the site is

function loaded(slug) {
  if (figures.has(slug)) return figures.get(slug);
  const coming = new Promise((done, failed) => {
    const script = element("script", { src: `../runs/${slug}.js` });
    script.addEventListener("load", () => done(globalThis.siteData[slug]));
    script.addEventListener("error", () => { figures.delete(slug); failed(new Error(slug)); });
    document.head.append(script);
  });
  figures.set(slug, coming);
  return coming;
}

/** The programs of a run, each with its rows by memory space; `key` says which program it is. */
function programsOf({ columns, rows }) {
  const found = new Map();
  for (const cells of rows) {
    const row = Object.fromEntries(columns.map((name, i) => [name, cells[i]]));
    const key = ["program_id", "compile_target", "platform"].map((name) => row[name]).join("\n");
    if (!found.has(key)) found.set(key, { id: row.program_id, spaces: new Map() });
    found.get(key).spaces.set(row.memory_space, row);
  }
  return found;
}

/** Pairs of programs of two runs: of one compile target, then across targets where it is clear; none that was reshaped or renamed. */
function pairsOf(olds, news) {
  const pairs = [...news].filter(([key]) => olds.has(key)).map(([key, now]) => [olds.get(key), now]);
  const left = (own, other) => [...own].filter(([key]) => !other.has(key)).map(([, one]) => one);
  const gone = left(olds, news), come = left(news, olds);
  const only = (programs, id) => { const same = programs.filter((one) => one.id === id); return same.length === 1 ? same[0] : null; };
  for (const now of come) {
    const old = only(come, now.id) && only(gone, now.id);
    pairs.push([old, now]);
    if (old) gone.splice(gone.indexOf(old), 1);
  }
  return [...pairs, ...gone.map((old) => [old, null])];
}

function differences(before, after, metric) {
  return pairsOf(programsOf(before), programsOf(after)).flatMap(([old, now]) =>
    [...new Set([...now?.spaces.keys() ?? [], ...old?.spaces.keys() ?? []])].map((space) => {
      const any = now?.spaces.get(space) ?? old.spaces.get(space);
      // A program that has nothing in a memory space takes 0 bytes of it.
      const bytes = (one) => { const row = one?.spaces.get(space); return row ? row[metric] : one ? 0 : null; };
      const [from, to] = [bytes(old), bytes(now)], change = from === null || to === null ? null : to - from;
      const status = !old ? "new" : !now ? "gone" : change === null ? "not compared" : change ? "changed" : "unchanged";
      return [any.program_name, status, any.compile_target, space, from, to, change, any.program_link];
    })).sort((a, b) => Math.abs(b[6] ?? 0) - Math.abs(a[6] ?? 0) || Math.max(b[4] ?? 0, b[5] ?? 0) - Math.max(a[4] ?? 0, a[5] ?? 0));
}

const chosen = () => ["before", "after", "metric"].map((name) => chooser.querySelector(`[name=${name}]`).value);

async function compareChosen() {
  const [before, after, metric] = chosen();
  const said = chooser.querySelector("output"), place = document.getElementById("any-table");
  let runs, fault;
  try { runs = await Promise.all([loaded(before), loaded(after)]); } catch (error) { fault = error; }
  if (String(chosen()) !== String([before, after, metric])) return; // a later choice draws its own table
  if (fault) {
    said.textContent = `The figures of a run are not there yet: ${fault.message}`;
    place.replaceChildren();
    return;
  }
  const rows = differences(...runs, metric);
  const changed = rows.filter((row) => row[1] !== "unchanged");
  const unknown = rows.filter((row) => row[1] === "not compared").length;
  said.textContent = `${grouped(changed.length - unknown)} of ${grouped(rows.length)} differ`
    + (unknown ? `, ${grouped(unknown)} not compared: a dump lacks the figure` : "");
  document.getElementById("any-links").replaceChildren(...runs.map((run) =>
    element("li", {}, element("a", { href: `../${run.link}` }, `Run ${printable(run.name, 60)}`))));
  answers.any = {
    columns: ["program_name", "status", "compile_target", "memory_space", "before", "after", "change", "program_link"],
    rows: changed,
  };
  const columns = [
    ["program_name", "program", "text", 60], ["status", "status", "text", 20], ["compile_target", "target", "text", 20],
    ["memory_space", "memory space", "count"], ["before", "before", "bytes"], ["after", "after", "bytes"],
    ["change", "change", "change"],
  ].map(([column, heading, kind, limit]) =>
    ({ column, heading, kind, limit, ...(column === "program_name" && { link: "program_link", root: "../" }) }));
  const table = emptyTable("Programs of both runs", columns);
  place.replaceChildren(table.parentElement);
  prepare(table, { source: "any", where: {}, columns });
  try { history.replaceState(null, "", `#${before}..${after}`); } catch { /* a page that may not change its address */ }
}

if (known.length) {
  const asked = location.hash.slice(1).split("..");
  for (const [name, other] of [["before", 1], ["after", 0]]) {
    const choice = chooser.querySelector(`[name=${name}]`);
    choice.append(...known.map(([run, slug, started]) => element("option", { value: slug }, `${printable(run, 60)} (${started})`)));
    const wanted = asked.length === 2 ? asked[name === "before" ? 0 : 1] : null;
    choice.value = known.some(([, slug]) => slug === wanted) ? wanted : known[Math.min(other, known.length - 1)][1];
    choice.addEventListener("change", compareChosen);
  }
  chooser.querySelector("[name=metric]").addEventListener("change", compareChosen);
  compareChosen();
}
