// How the allocation map is looked at: drawing, moving, zooming, finding, pointing.
class AllocationMap {
  constructor(place) {
    const part = (name) => place.querySelector(name);
    Object.assign(this, { place, canvas: part("canvas"), tip: part(".tip"), details: part(".details") });
    this.legend = part(".key");
    const names = ["space", "edit", "allocation", "mode", "find"];
    this.controls = Object.fromEntries(names.map((name) => [name, part(`[name=${name}]`)]));
    this.found = part("output");
    this.pinned = this.pointed = this.only = null;
    this.frames = []; // milliseconds that the last drawings took
    this.listen();
    this.chooseSpace();
    part(".tools").hidden = false;
  }

  listen() {
    const { canvas, controls } = this;
    controls.space.addEventListener("change", () => this.chooseSpace());
    controls.edit?.addEventListener("change", () => this.chooseEdit());
    controls.allocation.addEventListener("change", () => this.reset());
    controls.mode.addEventListener("change", () => this.chooseMode());
    controls.find.addEventListener("input", () => this.find());
    for (const button of this.place.querySelectorAll("[data-key]")) {
      button.addEventListener("click", () => this.obey(button.dataset.key));
    }
    canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && this.obey(event.key)) event.preventDefault();
    });
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // else nobody could scroll past
      event.preventDefault();
      const factor = ZOOM ** Math.sign(event.deltaY || event.deltaX);
      this.zoom(event.altKey ? 1 : factor, event.shiftKey ? 1 : factor, this.toData(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return; // where a menu opens, the button is never let go
      canvas.focus({ preventScroll: true });
      this.drag = { x: event.clientX, y: event.clientY, view: this.view, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) =>
      (this.drag ? this.dragged(event) : this.point(this.hit(event), event)));
    canvas.addEventListener("pointerup", (event) => {
      if (this.drag && !this.drag.moved) this.pin(this.hit(event));
      this.drag = null;
    });
    canvas.addEventListener("pointercancel", () => { this.drag = null; }); // a finger scrolls the page
    canvas.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.paint()).observe(canvas);
    dark.addEventListener("change", () => this.chooseMode());
  }

  chooseSpace() {
    const { edit } = this.controls, space = Number(this.controls.space.value);
    if (edit) {
      const edits = records("program_edits", { memory_space: space });
      edit.replaceChildren(element("option", { value: "" }, "none: as XLA placed it"),
        ...edits.map(({ edit_number: number, edit_text: text }) =>
          element("option", { value: number }, printable(text, 80))));
      edit.closest("label").hidden = !edits.length;
    }
    this.chooseEdit();
  }

  chooseEdit() {
    const edit = this.controls.edit?.value;
    Object.assign(this, rectangles(Number(this.controls.space.value), edit ? Number(edit) : null));
    const sizes = this.allocations.toSorted((a, b) => b.size_bytes - a.size_bytes).slice(0, 200);
    const all = element("option", { value: "" }, `all ${grouped(this.allocations.length)}`);
    this.controls.allocation.replaceChildren(all,
      ...sizes.map(({ allocation_index: index, kind, size_bytes: size }) =>
        element("option", { value: index }, `${index} (${kind}, ${humanBytes(size)})`)));
    this.pin(null);
    this.chooseMode();
    this.find();
    this.reset();
  }

  chooseMode() {
    this.only = null;
    this.classes = classes(this.values, this.controls.mode.value);
    this.colors = new Map(this.classes.map(([name, number]) => [name, color(`c${number}`)]));
    this.legend.replaceChildren(...this.classes.map(([name, number, label]) => {
      const button = element("button", { type: "button", ariaPressed: "false" });
      button.append(element("span", { className: `swatch c${number}` }), label ?? printable(name, 40));
      button.addEventListener("click", () => {
        const isOn = button.ariaPressed !== "true";
        for (const other of this.legend.querySelectorAll("button")) other.ariaPressed = "false";
        button.ariaPressed = String(isOn);
        this.only = isOn ? { class: name } : null;
        this.paint();
      });
      return element("li", {}, button);
    }));
    this.paint();
  }

  find() {
    const words = this.controls.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (value) => words.every((word) => value.words.includes(word));
    this.matches = words.length ? new Set(this.values.filter(fits)) : null;
    const total = `${grouped(this.values.length)} ${this.values.length === 1 ? "value" : "values"}`;
    this.found.textContent = this.matches ? `${grouped(this.matches.size)} of ${total}` : "";
    this.paint();
  }

  /** Carry out the command of a key; return whether the key has one. */
  obey(key) {
    const { x0, x1, y0, y1 } = this.view, x = (x1 - x0) * STEP, y = (y1 - y0) * STEP;
    const doings = {
      ArrowLeft: () => this.move(-x, 0), ArrowRight: () => this.move(x, 0),
      ArrowUp: () => this.move(0, y), ArrowDown: () => this.move(0, -y),
      "+": () => this.zoom(1 / ZOOM, 1 / ZOOM), "=": () => this.zoom(1 / ZOOM, 1 / ZOOM),
      "-": () => this.zoom(ZOOM, ZOOM),
      0: () => this.reset(), n: () => this.step(1), p: () => this.step(-1), Escape: () => this.pin(null),
    };
    doings[key]?.();
    return key in doings;
  }

  /** Everything of the allocation that is chosen, or of all. */
  reset() {
    const index = this.controls.allocation.value;
    const chosen = index === "" ? null : this.allocations.find((one) => one.allocation_index === Number(index));
    this.home = { ...this.bounds, ...(chosen && { y0: chosen.base, y1: chosen.base + chosen.size_bytes }) };
    this.show(this.home);
  }

  show({ x0, x1, y0, y1 }) {
    const { home } = this;
    const width = Math.min(Math.max(x1 - x0, 1), home.x1 - home.x0);
    const height = Math.min(Math.max(y1 - y0, 1), home.y1 - home.y0);
    const left = Math.min(Math.max(x0, home.x0), home.x1 - width);
    const low = Math.min(Math.max(y0, home.y0), home.y1 - height);
    this.view = { x0: left, x1: left + width, y0: low, y1: low + height };
    this.paint();
  }

  move(x, y) {
    const { x0, x1, y0, y1 } = this.view;
    this.show({ x0: x0 + x, x1: x1 + x, y0: y0 + y, y1: y1 + y });
  }

  zoom(x, y, at = { x: (this.view.x0 + this.view.x1) / 2, y: (this.view.y0 + this.view.y1) / 2 }) {
    const { x0, x1, y0, y1 } = this.view;
    this.show({
      x0: at.x - (at.x - x0) * x, x1: at.x + (x1 - at.x) * x,
      y0: at.y - (at.y - y0) * y, y1: at.y + (y1 - at.y) * y,
    });
  }

  dragged(event) {
    const { x, y, view } = this.drag, box = this.box();
    if (Math.abs(event.clientX - x) + Math.abs(event.clientY - y) > 3) this.drag.moved = true;
    const right = (x - event.clientX) / box.width * (view.x1 - view.x0);
    const up = (event.clientY - y) / box.height * (view.y1 - view.y0);
    this.show({ x0: view.x0 + right, x1: view.x1 + right, y0: view.y0 + up, y1: view.y1 + up });
    this.point(null);
  }

  /** Pin the next value in sight, in the order of time. */
  step(by) {
    const seen = this.values.filter((value) => this.isSeen(value) && (!this.matches || this.matches.has(value)));
    if (!seen.length) return;
    const place = seen.indexOf(this.pinned);
    this.pin(seen[place < 0 ? (by > 0 ? 0 : seen.length - 1) : (place + by + seen.length) % seen.length]);
  }

  pin(value) {
    this.pinned = value ?? null;
    this.details.replaceChildren(value ? described(value, Infinity) : "");
    this.paint();
  }

  point(value, event) {
    this.tip.hidden = !value;
    if (value) {
      if (value !== this.pointed) this.tip.replaceChildren(described(value, 120));
      const frame = this.place.getBoundingClientRect(), right = event.clientX - frame.left;
      const isLeft = right > frame.width / 2;
      Object.assign(this.tip.style, {
        left: isLeft ? "" : `${right + 14}px`, right: isLeft ? `${frame.width - right + 14}px` : "",
        top: `${event.clientY - frame.top + 14}px`,
      });
    }
    if (value !== this.pointed) this.paint();
    this.pointed = value;
  }
}
