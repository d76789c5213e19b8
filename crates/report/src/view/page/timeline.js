// Memory in use and held over time, in parts that add up.

import { shortSize, size } from "./numbers.js";
import { ticks } from "./axis.js";
import { css } from "./colours.js";
import { drawMarks, STRIP } from "./marks.js";
import { Batch, Panel, TileCache } from "./panel.js";
import { svg } from "./paint_svg.js";
import { TILE, timelineTile } from "./tiles.js";

const AXIS = 18;

/** The least power of two that is not below a value. */
function above(value) {
  return 2 ** Math.ceil(Math.log2(value));
}

/** One timeline: of the recording, or of a replay. */
export class Timeline {
  constructor(app, variant, acts) {
    this.app = app;
    this.variant = variant;
    this.panel = new Panel(variant ? "Memory over time, replayed" : "Memory over time", 250, acts);
    this.panel.strip = AXIS;
    this.tiles = new TileCache(this.panel.painter, 60);
  }

  /** The level whose columns are at least a pixel wide. */
  level() {
    const { app, panel } = this;
    const [from, to] = app.slots();
    const perPixel = Math.max((to - from) / panel.width, 1e-9);
    return Math.min(Math.max(Math.ceil(Math.log2(perPixel)), 0), this.variant ? this.meta.top : app.meta.top);
  }

  get meta() { return this.app.metaOf(this.variant); }

  draw() {
    const { app, panel } = this;
    if (!this.meta) return;
    panel.strip = AXIS + (app.marksOf(this.variant).some((mark) => mark[0] === "step" || mark[0] === "phase") ? STRIP : 4);
    const ratio = panel.begin(app.colours.card);
    const view = app.view(panel);
    const top = app.top();
    let drawn = [];
    const grain = above((view.to - view.from) / panel.width);
    const [first, last] = app.slots();
    // The finest level of which all is there; until then the coarsest, which is asked for too.
    for (let level = this.level(), asks = app.asks, missing = true; missing && level <= this.meta.top; level += 1) {
      missing = false;
      drawn = [];
      const wide = TILE * 2 ** level;
      for (let tile = Math.floor(first / wide); tile * wide < last; tile += 1) {
        const made = this.tile(level, tile, grain, asks || level === this.meta.top);
        if (made) drawn.push(made);
        else missing = true;
      }
      asks = app.source.isFile;
    }
    const scale = [ratio * panel.width / (view.to - view.from), -ratio * panel.drawn / top];
    for (const made of drawn) panel.painter.draw(made.handles[0], view.from - made.origin, scale[0], top, scale[1]);
    this.drawn = drawn;
    this.overlay(view, top);
  }

  tile(level, tile, grain, asks) {
    const { app } = this;
    const key = app.key(this.variant, `t/${app.state.part}/${level}/${tile}`) + app.state.only();
    const name = `${key} ${app.state.axis} ${grain} ${app.hidden.size ? [...app.hidden].join() : ""} ${app.scheme}`;
    if (!app.source.has(key)) return null;
    return this.tiles.get(name, asks && (async () => {
      const bytes = await app.source.bytes(key);
      return bytes === null ? null : this.made(timelineTile(bytes), grain);
    }), () => app.redraw());
  }

  made(tile, grain) {
    const { app } = this;
    const { axis, colours } = app;
    const part = app.state.part;
    const names = this.meta.parts[part];
    const wide = 2 ** tile.level;
    const first = tile.tile * TILE * wide;
    const origin = axis.x(first);
    const batch = new Batch(tile.length * (tile.groups.length + 1));
    const colour = names.map((_, rank) => colours.group(part, names, rank));
    for (let at = 0; at < tile.length;) {
      const begin = axis.x(first + at * wide);
      // Columns that are narrower than a pixel are one; it shows the one with the most in use.
      let most = at;
      let held = tile.reservedMax[at];
      let next = at + 1;
      while (next < tile.length && axis.x(Math.min(first + (next + 1) * wide, this.meta.slots)) - begin <= grain) {
        if (tile.activeMax[next] > tile.activeMax[most]) most = next;
        held = Math.max(held, tile.reservedMax[next]);
        next += 1;
      }
      const end = axis.x(Math.min(first + next * wide, this.meta.slots));
      const [x0, x1] = [begin - origin, end - origin];
      if (held > 0) batch.add(x0, x1, 0, held, colours.held);
      let sum = 0;
      for (let rank = 0; rank < tile.groups.length; rank += 1) {
        const bytes = tile.groups[rank][most];
        if (bytes > 0 && !app.hidden.has(names[rank])) {
          batch.add(x0, x1, sum, sum + bytes, colour[rank]);
          sum += bytes;
        }
      }
      at = next;
    }
    return { batches: [batch], origin, level: tile.level, tile };
  }

  /** The bucket that is drawn at a slot, of the finest tile that is there. */
  bucket(slot) {
    let best = null;
    for (const made of this.drawn || []) {
      const { tile } = made;
      const at = Math.floor(slot / 2 ** tile.level) - tile.tile * TILE;
      if (at >= 0 && at < tile.length && (!best || tile.level < best.tile.level)) best = { tile, at };
    }
    return best;
  }

  overlay(view, top) {
    const { app, panel } = this;
    const { colours } = app;
    const over = panel.over;
    const height = panel.drawn;
    const label = (text, x, y, anchor) => svg("text", { x, y, "text-anchor": anchor, "font-size": 11, fill: css(colours.soft) }, text);
    for (const bytes of ticks(0, top, 4, 2)) {
      const y = height - bytes / top * height;
      over.append(svg("line", { x1: 0, x2: panel.width, y1: y, y2: y, stroke: css(colours.ink, 0.13) }));
      if (y > 8) over.append(label(shortSize(bytes), -6, y + 4, "end"));
    }
    for (const x of ticks(view.from, view.to, Math.max(panel.width / 110, 2), 10, app.axis.least || 0)) {
      const place = (x - view.from) / (view.to - view.from) * panel.width;
      over.append(svg("line", { x1: place, x2: place, y1: height, y2: height + 4, stroke: css(colours.soft) }));
      if (place > 12 && place < panel.width - 16) over.append(label(app.axis.tick(x), place, height + AXIS - 3, "middle"));
    }
    this.levelLine(this.meta.limit, top, `limit ${shortSize(this.meta.limit || 0)}`, colours.bad);
    this.levelLine(this.meta.card && this.meta.card.total, top, `card ${shortSize((this.meta.card && this.meta.card.total) || 0)}`, colours.ink);
    if (this.variant) this.outline(view, top);
    const marks = svg("g");
    drawMarks(marks, view, app.marksOf(this.variant), colours, height + AXIS);
    over.append(marks);
    app.cursor(over, view, panel, height);
  }

  levelLine(bytes, top, text, colour) {
    if (!bytes || bytes > top) return;
    const { panel } = this;
    const y = panel.drawn - bytes / top * panel.drawn;
    panel.over.append(svg("line", { x1: 0, x2: panel.width, y1: y, y2: y, stroke: css(colour), "stroke-dasharray": "6 4" }));
    const words = svg("text", { x: 6, y: y + (y < 16 ? 13 : -5), "font-size": 11, "font-weight": 600, fill: css(colour), class: "halo" }, text);
    panel.over.append(words);
  }

  /** What was held as recorded, as a line over the replay: where they part is the difference. */
  outline(view, top) {
    const recorded = this.app.timelines[0];
    const { panel } = this;
    const points = [];
    const columns = Math.max(Math.round(panel.width / 2), 1);
    for (let at = 0; at <= columns; at += 1) {
      const slot = this.app.axis.slot(view.from + (view.to - view.from) * at / columns);
      const found = recorded.bucket(Math.min(Math.max(Math.floor(slot), 0), this.meta.slots - 1));
      if (found) points.push(`${(at / columns * panel.width).toFixed(1)},${(panel.drawn - found.tile.reservedMax[found.at] / top * panel.drawn).toFixed(1)}`);
    }
    const line = { points: points.join(" "), fill: "none", stroke: css(this.app.colours.ink), "stroke-width": 1.5, "stroke-dasharray": "2 3" };
    panel.over.append(svg("polyline", line));
  }

  /** What a place of the picture says. */
  hover(x, y) {
    const { app, panel } = this;
    const view = app.view(panel);
    const slot = Math.floor(app.axis.slot(view.from + x / panel.width * (view.to - view.from)));
    const found = this.bucket(slot);
    if (!found || slot < 0 || slot >= this.meta.slots) return null;
    const { tile, at } = found;
    const bytes = (panel.drawn - y) / panel.drawn * app.top();
    const lines = [app.moment(tile.at[at])];
    const many = tile.level > 0 ? `, of ${(2 ** tile.level).toLocaleString("en")} events in this column the one with the most in use` : "";
    lines[0] += many;
    lines.push(`${size(tile.activeMax[at])} in use, ${size(tile.reservedMax[at])} held`);
    let sum = 0;
    const names = this.meta.parts[app.state.part];
    for (let rank = 0; rank < tile.groups.length; rank += 1) {
      if (app.hidden.has(names[rank])) continue;
      sum += tile.groups[rank][at];
      if (bytes <= sum && bytes >= 0) {
        lines.push(`${size(tile.groups[rank][at])} ${names[rank]}`);
        break;
      }
    }
    return lines.join("\n");
  }
}
