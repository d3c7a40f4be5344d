// A table of contents at the side of a long page, made of its headings; pages that have one in their text keep it.
if (!document.querySelector("details.contents")) {
  const headings = Array.from(document.querySelectorAll("main h2"));
  for (const [i, heading] of headings.entries()) heading.id ||= `part-${i + 1}`;
  const items = headings.map((heading) => element("li", {}, element("a", { href: `#${heading.id}` }, heading.textContent.trim())));
  const contents = element("details", { className: "contents", open: window.matchMedia("(min-width: 108rem)").matches },
    element("summary", {}, "On this page"), element("ul", {}, ...items));
  headings[0].before(contents);
}
