// Addresses against time. A block is a rectangle; what is held and covered by none is a hole.

import { counted, shortSize, size } from "./numbers.js";
import { ticks } from "./axis.js";
import { css } from "./colours.js";
import { Batch, Panel, TileCache } from "./panel.js";
import { svg } from "./paint_svg.js";
import { mapTile, MERGED } from "./tiles.js";

const COLUMNS = 512;
const ROWS = 256;

/** The map of one replay. */
export class SegmentMap {
  constructor(app, variant, acts) {
    this.app = app;
    this.variant = variant;
    this.panel = new Panel(variant ? "Addresses over time, replayed" : "Addresses over time", 320, acts);
    this.tiles = new TileCache(this.panel.painter, 80);
    this.drawn = [];
  }

  get meta() { return this.app.metaOf(this.variant); }

  /** The units of address that are seen, from and to. */
  units() {
    const { state } = this.app;
    const [low, high] = [state.low ?? 0, state.high ?? 1];
    return [low * this.meta.units, high * this.meta.units];
  }

  detail() {
    const [from, to] = this.app.slots();
    const [low, high] = this.units();
    const fit = (seen, pixels, most) => Math.min(Math.max(Math.floor(Math.log2(Math.max(seen / pixels, 1))), 0), most);
    return [fit(to - from, this.panel.width, this.meta.map_top), fit(high - low, this.panel.drawn, this.meta.map_height)];
  }

  draw() {
    const { app, panel } = this;
    if (!this.meta || !this.meta.units) return;
    const ratio = panel.begin(app.colours.card);
    const view = app.view(panel);
    const [first, last] = app.slots();
    const [low, high] = this.units();
    let [level, height] = this.detail();
    let drawn = [];
    // As the timeline: the finest level of which all is there.
    for (let { asks } = app, missing = true; missing;) {
      missing = false;
      drawn = [];
      const coarsest = level >= this.meta.map_top && height >= this.meta.map_height;
      const [wide, tall] = [COLUMNS * 2 ** level, ROWS * 2 ** height];
      for (let column = Math.floor(first / wide); column * wide < last; column += 1) {
        for (let row = Math.floor(low / tall); row * tall < high; row += 1) {
          const made = this.tile(level, column, height, row, asks || coarsest);
          if (made) drawn.push(made);
          else missing = true;
        }
      }
      if (coarsest) break;
      asks = app.source.isFile;
      level = Math.min(level + 1, this.meta.map_top);
      height = Math.min(height + 1, this.meta.map_height);
    }
    const [sx, sy] = [ratio * panel.width / (view.to - view.from), -ratio * panel.drawn / (high - low)];
    this.drawn = drawn;
    for (const layer of [0, 1]) {
      for (const made of drawn) {
        if (made.handles[layer].length) panel.painter.draw(made.handles[layer], view.from - made.origin, sx, high - made.base, sy);
      }
    }
    this.overlay(view, low, high);
    app.told(this.variant, this.says());
  }

  tile(level, column, height, row, asks) {
    const { app } = this;
    const key = app.key(this.variant, `m/${app.state.part}/${level}/${column}/${height}/${row}`) + app.state.only();
    if (!app.source.has(key)) return null;
    return this.tiles.get(`${key} ${app.state.axis} ${app.scheme}`, asks && (async () => {
      const bytes = await app.source.bytes(key);
      return bytes === null ? null : this.made(mapTile(bytes), level, column, height, row);
    }), () => app.redraw());
  }

  made(tile, level, column, height, row) {
    const { axis, colours, state } = this.app;
    const names = this.meta.parts[state.part];
    const [origin, base] = [axis.x(column * COLUMNS * 2 ** level), row * ROWS * 2 ** height];
    const held = new Batch(tile.held.length);
    const x = (slot) => axis.x(Math.min(slot, this.meta.slots)) - origin;
    for (let at = 0; at < tile.held.length; at += 1) {
      held.add(x(tile.held.from[at]), x(tile.held.to[at]), tile.held.low[at] - base, tile.held.high[at] - base, colours.held);
    }
    const blocks = new Batch(tile.blocks.length);
    const { from, to, low, high, id, group, filled } = tile.blocks;
    const colour = Array.from({ length: 16 }, (_, rank) => [0, 1, 2].map((turn) => colours.shade(colours.group(state.part, names, rank), turn)));
    for (let at = 0; at < tile.blocks.length; at += 1) {
      const shade = id[at] === MERGED ? 0 : id[at] % 3;
      blocks.add(x(from[at]), x(to[at]), low[at] - base, high[at] - base, colour[group[at]][shade], filled[at]);
    }
    return { batches: [held, blocks], origin, base, level, height, column, row, tile };
  }

  /** What the picture hides, in words. */
  says() {
    const now = this.drawn;
    const sum = (of) => now.reduce((total, made) => total + of(made.tile, made), 0);
    const [left, lowest] = [Math.min(...now.map((made) => made.column)), Math.min(...now.map((made) => made.row))];
    // A block that lies in several tiles counts in the first of those that are seen.
    const once = (first) => sum(({ merged: m }, { column, row }) =>
      m[first] + (column === left ? m[first + 1] : 0) + (row === lowest ? m[first + 2] : 0) + (column === left && row === lowest ? m[first + 3] : 0));
    const [merged, undrawn] = [once(0), sum((tile) => tile.undrawn)];
    const words = [];
    if (merged > 0) words.push(`${counted(merged, "block")} too small to be told apart are merged, ${size(once(4))} in all: zoom in to see them`);
    if (undrawn > 0) words.push(`${counted(undrawn, "piece")} of what is held, ${size(sum((tile) => tile.undrawnBytes))} in all, are too small to be drawn`);
    return words.length ? `${words.join("; ")}.` : "Every block of this view is drawn.";
  }

  overlay(view, low, high) {
    const { app, panel } = this;
    const { colours } = app;
    const over = panel.over;
    const y = (unit) => (high - unit) / (high - low) * panel.drawn;
    for (const bytes of ticks(low * this.meta.unit, high * this.meta.unit, 5, 2)) {
      const place = y(bytes / this.meta.unit);
      over.append(svg("line", { x1: -4, x2: 0, y1: place, y2: place, stroke: css(colours.soft) }));
      if (place > 8 && place < panel.drawn - 3) over.append(svg("text", { x: -6, y: place + 4, "text-anchor": "end", "font-size": 11, fill: css(colours.soft) }, shortSize(bytes)));
    }
    // Where addresses that were never held are left out.
    const gaps = this.meta.stretches.slice(1).map((stretch) => y(stretch[2])).filter((place) => place > 0 && place < panel.drawn);
    if (gaps.length < 80) gaps.forEach((place) => over.append(svg("line", { x1: 0, x2: panel.width, y1: place, y2: place, stroke: css(colours.ink, 0.22) })));
    const block = app.chosen;
    if (block && block.variant === this.variant && block.units) {
      const [x0, x1] = [view.place(block.from), view.place(block.to)];
      const box = { x: x0, width: Math.max(x1 - x0, 2), y: y(block.units[1]), height: Math.max(y(block.units[0]) - y(block.units[1]), 2) };
      over.append(svg("rect", { ...box, fill: "none", stroke: css(colours.ink), "stroke-width": 2 }));
    }
    this.request(view, y);
    app.cursor(over, view, panel, panel.drawn);
  }

  /** At a failure: the holes of the request's own pool, and the request beside the largest, to scale. */
  request(view, y) {
    const { app, panel } = this;
    const failure = this.meta.failures.find((failed) => failed.slot === app.state.slot);
    const holes = app.holes.get(`${this.variant} ${app.state.slot}`);
    if (!failure || !holes) return;
    const x = view.place(failure.slot + 1);
    const units = failure.size / this.meta.unit;
    const { colours } = app;
    const width = Math.min(Math.max(panel.width / 60, 8), 16);
    const left = x + width * 2.5 > panel.width ? x - width * 2.5 : x + 2;
    for (const hole of holes) {
      const [top, bottom] = [y(hole.units[1]), y(hole.units[0])];
      panel.over.append(svg("rect", { x: left, width, y: top, height: Math.max(bottom - top, 0.6), fill: css(colours.trapped, 0.75) }, svg("title", {}, `a hole of ${size(hole.size)}`)));
    }
    const largest = holes.reduce((most, hole) => (hole.size > most.size ? hole : most), holes[0]);
    if (!largest) return;
    const height = Math.max(units / (this.units()[1] - this.units()[0]) * panel.drawn, 1);
    const bottom = Math.max(Math.min(y(largest.units[0]), panel.drawn), Math.min(height, panel.drawn));
    panel.over.append(svg("rect", { x: left + width + 3, width, y: bottom - height, height, fill: css(colours.bad, 0.3), stroke: css(colours.bad), "stroke-width": 1.5 }, svg("title", {}, `the request, ${size(failure.size)}, to scale`)));
    const words = `request ${shortSize(failure.size)}, largest hole ${shortSize(largest.size)}`;
    // On the side with more room; where neither has enough for all of it, it stands at the panel's edge.
    const anchor = left > panel.width / 2 ? "end" : "start";
    const label = { x: anchor === "end" ? Math.max(left - 5, words.length * 6.6) : left + width * 2 + 8, y: Math.max(bottom - height + 10, 12), "font-size": 11, "font-weight": 600, "text-anchor": anchor, fill: css(colours.bad), class: "halo" };
    panel.over.append(svg("text", label, words));
  }

  /** The rectangle at a place, of the finest tile that has one. */
  find(x, y) {
    const { app, panel } = this;
    const view = app.view(panel);
    const slot = app.axis.slot(view.from + x / panel.width * (view.to - view.from));
    const [low, high] = this.units();
    const unit = high - y / panel.drawn * (high - low);
    let best = null;
    for (const made of this.drawn) {
      const { from, to, low: bottom, high: top, id, group, filled } = made.tile.blocks;
      for (let at = 0; at < made.tile.blocks.length; at += 1) {
        if (from[at] <= slot && slot < to[at] && bottom[at] <= unit && unit < top[at]) {
          const found = { id: id[at], from: from[at], to: to[at], size: (top[at] - bottom[at]) * this.meta.unit, group: group[at], filled: filled[at], slot, level: made.level };
          if (!best || found.id !== MERGED) best = found;
        }
      }
    }
    return best || { id: null, slot, unit };
  }

  hover(x, y) {
    const found = this.find(x, y);
    const names = this.meta.parts[this.app.state.part];
    const when = this.app.moment(Math.floor(found.slot));
    if (found.id === null) {
      const inside = this.drawn.some(({ tile }) => {
        const { held } = tile;
        for (let at = 0; at < held.length; at += 1) {
          if (held.from[at] <= found.slot && found.slot < held.to[at] && held.low[at] <= found.unit && found.unit < held.high[at]) return true;
        }
        return false;
      });
      return `${when}\n${inside ? "a hole: held, not in use" : "not held"}`;
    }
    if (found.id === MERGED) return `${when}\nsmall blocks, mostly ${names[found.group]}; ${Math.round(found.filled / 2.55)}% of this place in use`;
    return `${size(found.size)} ${names[found.group]}\nevents ${found.from.toLocaleString("en")} to ${found.to.toLocaleString("en")}`;
  }
}
