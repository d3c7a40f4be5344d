// How the allocation map is drawn, and what lies under a point of it.
Object.assign(AllocationMap.prototype, {
  /** The rectangle of the canvas that holds values, in CSS pixels from its corner. */
  box() {
    const { left, right, top, bottom } = GUTTER;
    const { clientWidth, clientHeight } = this.canvas;
    return { left, top, width: clientWidth - left - right, height: clientHeight - top - bottom };
  },

  /** Functions from position and address to pixels. */
  scales() {
    const { left, top, width, height } = this.box(), { x0, x1, y0, y1 } = this.view;
    return {
      x: (position) => left + (position - x0) / (x1 - x0) * width,
      y: (address) => top + (y1 - address) / (y1 - y0) * height,
    };
  },

  toData(event) {
    const frame = this.canvas.getBoundingClientRect();
    const { left, top, width, height } = this.box(), { x0, x1, y0, y1 } = this.view;
    return {
      x: x0 + (event.clientX - frame.left - this.canvas.clientLeft - left) / width * (x1 - x0),
      y: y1 - (event.clientY - frame.top - this.canvas.clientTop - top) / height * (y1 - y0),
    };
  },

  isSeen({ x0, x1, y0, y1 }) {
    const { view } = this;
    return x1 > view.x0 && x0 < view.x1 && y1 > view.y0 && y0 < view.y1;
  },

  isShown(value) {
    return (!this.matches || this.matches.has(value)) && (!this.only || value.class === this.only.class);
  },

  /** The value on top at the place of an event; where none is, one that is drawn there though it is thinner. */
  hit(event) {
    const { x, y } = this.toData(event), { view } = this, { width, height } = this.box();
    if (x < view.x0 || x > view.x1 || y < view.y0 || y > view.y1) return null;
    const under = (dx, dy) => this.values.findLast(({ x0, x1, y0, y1 }) =>
      x >= x0 - dx && x < x1 + dx && y >= y0 - dy && y < y1 + dy);
    return under(0, 0) ?? under((view.x1 - view.x0) / width, (view.y1 - view.y0) / height) ?? null;
  },

  /** Where in the window the value with an id can be pointed at; null where it is not in sight. */
  placeOf(id) {
    const value = this.values.find((one) => one.value_id === id);
    if (!value || !this.isSeen(value)) return null;
    const { view } = this, { x, y } = this.scales(), frame = this.canvas.getBoundingClientRect();
    const middle = (low, high, least, most) => (Math.max(low, least) + Math.min(high, most)) / 2;
    return {
      x: frame.left + this.canvas.clientLeft + x(middle(value.x0, value.x1, view.x0, view.x1)),
      y: frame.top + this.canvas.clientTop + y(middle(value.y0, value.y1, view.y0, view.y1)),
    };
  },

  /** Draw at the next frame, however often it is asked for. */
  paint() {
    if (this.isAsked || !this.view) return;
    this.isAsked = true;
    requestAnimationFrame(() => {
      const begun = performance.now();
      this.isAsked = false;
      this.draw();
      this.frames.push(performance.now() - begun);
      if (this.frames.length > 200) this.frames.shift();
    });
  },

  draw() {
    const { canvas } = this, context = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    this.drawAxes(context);
    const box = this.box();
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.width, box.height);
    context.clip();
    this.drawValues(context);
    this.drawEdges(context);
    context.restore();
  },

  drawValues(context) {
    const { x, y } = this.scales();
    let filled = null;
    context.globalAlpha = 1;
    for (const value of this.values) {
      if (!this.isSeen(value)) continue;
      const left = x(value.x0), top = y(value.y1), width = x(value.x1) - left, height = y(value.y0) - top;
      const fill = this.colors.get(value.class);
      if (fill !== filled) context.fillStyle = filled = fill;
      context.globalAlpha = this.isShown(value) ? 1 : 0.12;
      // A hair between neighbors where there is room for it; and nothing so thin that it cannot be seen.
      const seen = (length) => Math.max(length > 4 ? length - 0.6 : length, 0.8);
      context.fillRect(left, top, seen(width), seen(height));
    }
    context.globalAlpha = 1;
  },

  /** Where allocations begin, where the peak is, and what is pointed at. */
  drawEdges(context) {
    const { x, y } = this.scales(), box = this.box(), ink = color("ink");
    context.strokeStyle = color("line");
    context.lineWidth = 1;
    context.beginPath();
    for (const { base, size_bytes: size } of this.allocations) {
      if (y(base) - y(base + size) < 3) continue;
      context.moveTo(box.left, y(base));
      context.lineTo(box.left + box.width, y(base));
    }
    context.stroke();
    context.strokeStyle = context.fillStyle = ink;
    const position = this.peak();
    if (position !== null && position !== undefined) {
      context.setLineDash([2, 2]);
      const left = x(position), width = Math.max(x(position + 1) - left, 1);
      context.strokeRect(left, box.top - 2, width, box.height + 4);
      context.setLineDash([]);
    }
    for (const value of [this.pinned, this.pointed]) {
      if (!value) continue;
      context.lineWidth = 2;
      const left = x(value.x0), top = y(value.y1);
      context.strokeRect(left, top, Math.max(x(value.x1) - left, 2), Math.max(y(value.y0) - top, 2));
    }
  },

  /** Where the occupied peak is, after the edit that is chosen. */
  peak() {
    const { space, edit } = this.controls;
    const [row] = edit?.value ? records("program_edits", { edit_number: Number(edit.value) })
      : records("program_spaces", { memory_space: Number(space.value) });
    return row?.occupied_peak_position;
  },

  drawAxes(context) {
    const { x, y } = this.scales(), box = this.box(), { x0, x1, y0, y1 } = this.view;
    context.fillStyle = color("soft");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(y0 - this.home.y0, y1 - this.home.y0, 8, 2)) {
      context.fillText(tickBytes(tick), box.left - 6, y(tick + this.home.y0));
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    for (const tick of ticks(x0, x1, Math.max(box.width / 110, 2), 10)) {
      context.fillText(grouped(tick), x(tick), box.top + box.height + 17);
    }
  },
});

for (const place of document.querySelectorAll(".map")) place.map = new AllocationMap(place);
