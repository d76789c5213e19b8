// A canvas with axes over it, and what mouse, touch and wheel do to it.

import { element } from "./dom.js";
import { painterFor } from "./paint_2d.js";
import { svg } from "./paint_svg.js";

/** Room for the labels left of a picture. */
export const LEFT = 62;

/** Tiles that were loaded and put on the card; the oldest are given up. */
export class TileCache {
  constructor(painter, most) {
    this.painter = painter;
    this.most = most;
    this.ready = new Map();
    this.asked = new Set();
  }

  /** What was made of a tile, if it is there; else, with a `load`, it is asked for, and `arrived` called once it is. */
  get(key, load, arrived) {
    const found = this.ready.get(key);
    if (found !== undefined) {
      this.ready.delete(key);
      this.ready.set(key, found);
      return found;
    }
    if (load && !this.asked.has(key)) {
      this.asked.add(key);
      load().then((made) => {
        this.asked.delete(key);
        if (made !== null) made.handles = made.batches.map((batch) => this.painter.upload(batch));
        this.ready.set(key, made);
        while (this.ready.size > this.most) this.drop(this.ready.keys().next().value);
        arrived();
      });
    }
    return undefined;
  }

  drop(key) {
    const made = this.ready.get(key);
    if (made) made.handles.forEach((handle) => this.painter.release(handle));
    this.ready.delete(key);
  }

  clear() {
    [...this.ready.keys()].forEach((key) => this.drop(key));
  }
}

/** Rectangles and their colours, filled one by one. */
export class Batch {
  constructor(most) {
    this.rects = new Float32Array(most * 4);
    this.colours = new Uint8Array(most * 4);
    this.length = 0;
  }

  add(x0, x1, y0, y1, colour, alpha = 255) {
    const at = this.length * 4;
    this.rects[at] = x0;
    this.rects[at + 1] = x1;
    this.rects[at + 2] = y0;
    this.rects[at + 3] = y1;
    this.colours[at] = colour[0];
    this.colours[at + 1] = colour[1];
    this.colours[at + 2] = colour[2];
    this.colours[at + 3] = alpha;
    this.length += 1;
  }
}

/** One picture on the page. `acts` says what to do: move(dx, dy), zoom(x, y, factor, both), hover(x, y), leave(), pick(x, y), choose(x0, x1). */
export class Panel {
  constructor(name, height, acts) {
    this.height = height;
    this.canvas = element("canvas", { role: "img", "aria-label": name });
    this.painter = painterFor(this.canvas);
    this.over = svg("svg", { class: "over", "aria-hidden": "true" });
    this.root = element("div", { class: "panel", tabindex: 0, "aria-label": `${name}: arrows move, plus and minus zoom` }, this.canvas, this.over);
    this.root.style.height = `${height}px`;
    this.canvas.style.left = `${LEFT}px`;
    this.across = 0;
    new ResizeObserver(() => { this.across = 0; }).observe(this.root);
    this.listen(acts);
  }

  /** The picture's size in CSS pixels, without the labels. It is measured once for each size: while the axes are drawn, each
   * question would lay out the page again. */
  get width() {
    this.across ||= this.root.clientWidth;
    return Math.max(this.across - LEFT, 50);
  }

  /** Where in the picture a pointer is. */
  at(event) {
    const box = this.root.getBoundingClientRect();
    return [event.clientX - box.left - LEFT, event.clientY - box.top];
  }

  listen(acts) {
    const pointers = new Map();
    let moved = 0;
    let start = null;
    this.root.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey && document.activeElement !== this.root && !this.root.matches(":focus-within")) return;
      event.preventDefault();
      const [x, y] = this.at(event);
      acts.zoom(x, y, Math.exp((event.deltaY || event.deltaX) * 0.0016), event.shiftKey ? "y" : "x");
    }, { passive: false });
    this.root.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, this.at(event));
      this.root.setPointerCapture(event.pointerId);
      this.root.focus({ preventScroll: true });
      moved = 0;
      start = event.shiftKey ? this.at(event) : null;
    });
    this.root.addEventListener("pointermove", (event) => {
      const now = this.at(event);
      const before = pointers.get(event.pointerId);
      if (!before) {
        acts.hover(...now);
        return;
      }
      moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      if (start) acts.choose(start[0], now[0]);
      else if (pointers.size === 1) acts.move(now[0] - before[0], now[1] - before[1]);
      else this.pinch(pointers, event.pointerId, now, acts);
      pointers.set(event.pointerId, now);
    });
    const end = (event) => {
      if (pointers.delete(event.pointerId) && moved < 5 && event.type === "pointerup") acts.pick(...this.at(event));
      start = null;
    };
    this.root.addEventListener("pointerup", end);
    this.root.addEventListener("pointercancel", end);
    this.root.addEventListener("pointerleave", () => acts.leave());
  }

  /** Two fingers: what they spread apart, they zoom. */
  pinch(pointers, id, now, acts) {
    const other = [...pointers.entries()].find(([key]) => key !== id)[1];
    const before = pointers.get(id);
    const spread = (a) => Math.abs(a[0] - other[0]) + 20;
    acts.zoom((now[0] + other[0]) / 2, now[1], spread(before) / spread(now), "x");
  }

  /** Begins a picture: sizes of the screen, and an empty layer above. */
  begin(ground) {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.drawn * ratio)];
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.drawn}px`;
    this.painter.begin(width, height, ground);
    this.over.replaceChildren();
    this.over.setAttribute("viewBox", `${-LEFT} 0 ${this.width + LEFT} ${this.height}`);
    return ratio;
  }

  /** The part of the height that is the picture; the rest is the strip below. */
  get drawn() { return this.height - (this.strip || 0); }
}
