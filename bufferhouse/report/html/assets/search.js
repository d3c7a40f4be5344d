// The search over all functions of a site: words in any order, the largest functions first.
const SHOWN_FUNCTIONS = 60;
const search = document.getElementById("search");

function searchFunctions() {
  const known = globalThis.siteData?.functions ?? [];
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = known.filter(([name]) => words.every((word) => name.toLowerCase().includes(word)));
  const list = document.getElementById("found"), all = document.getElementById("all");
  list.hidden = !words.length;
  if (all) all.hidden = Boolean(words.length);
  const root = search.dataset.root ?? "";
  list.replaceChildren(...found.slice(0, SHOWN_FUNCTIONS).map(([name, slug, bytes]) => element("li", {},
    element("a", { href: `${root}${slug || name}.html` }, element("bdi", {}, printable(name, 60))), ` ${humanBytes(bytes)}`)));
  const said = search.closest(".tools").querySelector("output");
  const more = found.length - SHOWN_FUNCTIONS;
  said.textContent = !words.length ? "" : `${grouped(found.length)} of ${grouped(known.length)}${more > 0 ? `, the first ${SHOWN_FUNCTIONS}` : ""}`;
}
search.addEventListener("input", searchFunctions);
if (search.value) searchFunctions();
