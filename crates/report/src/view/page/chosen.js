// What is chosen, in words: a moment with its parts, or a stretch of time.

import { css } from "./colours.js";
import { element, fill } from "./dom.js";
import { count, size } from "./numbers.js";
import { TILE, timelineTile } from "./tiles.js";

// A stretch is read at a level where it is about as many columns as a screen has.
const FINE = 1024;

/** What the chosen moment or stretch holds, in words. */
export async function sayChosen(app) {
  const { chosen, legend } = app.nodes;
  const part = app.state.part;
  const names = app.meta.parts[part];
  const slot = app.state.slot;
  const found = app.timelines[0].bucket(slot);
  let words = app.moment(slot);
  let values = null;
  const key = app.key(0, `t/${part}/0/${Math.floor(slot / TILE)}`) + app.state.only();
  if (app.source.has(key)) {
    const bytes = await app.source.bytes(key);
    const tile = bytes && timelineTile(bytes);
    const at = slot % TILE;
    if (tile && at < tile.length && slot === app.state.slot) {
      values = tile.groups.map((group) => group[at]);
      words += `: ${size(tile.activeMax[at])} in use, ${size(tile.reservedMax[at])} held`;
    }
  } else if (found) {
    values = found.tile.groups.map((group) => group[found.at]);
    words += `: about ${size(found.tile.activeMax[found.at])} in use (this file has no finer level)`;
  }
  const { stretch } = app;
  if (stretch) words = `${await heldIn(app, stretch)} ${words}`;
  // Something else was chosen while tiles were on their way: that has its own words.
  if (slot !== app.state.slot || part !== app.state.part || stretch !== app.stretch) return;
  chosen.textContent = words;
  const item = (name, rank) => element("li", {}, element("button", {
    type: "button", "aria-pressed": String(!app.hidden.has(name)), title: "show or hide",
    onclick: () => {
      if (!app.hidden.delete(name)) app.hidden.add(name);
      app.changed();
    },
  }, element("span", { class: "key", colour: css(app.colours.group(part, names, rank)) }), name, values ? element("b", {}, ` ${size(values[rank])}`) : null));
  const held = element("li", {}, element("span", { class: "plain" }, element("span", { class: "key", colour: css(app.colours.held) }), "held, not in use"));
  fill(legend, [element("ul", { class: "keys" }, names.map(item), held)]);
}

/** What a stretch of time holds. */
async function heldIn(app, [from, to]) {
  let [least, most, at, reserved] = [Infinity, 0, from, 0];
  for (const tile of await tilesOf(app, from, to)) {
    const wide = 2 ** tile.level;
    for (let index = 0; index < tile.length; index += 1) {
      const slot = (tile.tile * TILE + index) * wide;
      if (slot + wide <= from || slot > to) continue;
      least = Math.min(least, tile.activeMin[index]);
      reserved = Math.max(reserved, tile.reservedMax[index]);
      if (tile.activeMax[index] > most) [most, at] = [tile.activeMax[index], tile.at[index]];
    }
  }
  const held = least === Infinity ? "nothing is known of it." : `${size(least)} to ${size(most)} in use, the most at event ${count(at)}; at most ${size(reserved)} held.`;
  return `Events ${count(from)} to ${count(to)}: ${held}`;
}

/** The tiles of a stretch: of the finest level that is fine enough for a screen, and of which all is there. */
async function tilesOf(app, from, to) {
  for (let level = Math.max(Math.ceil(Math.log2((to - from + 1) / FINE)), 0); level <= app.meta.top; level += 1) {
    const wide = TILE * 2 ** level;
    const keys = [];
    for (let tile = Math.floor(from / wide); tile * wide <= to; tile += 1) keys.push(app.key(0, `t/${app.state.part}/${level}/${tile}`) + app.state.only());
    if (!keys.every((key) => app.source.has(key))) continue;
    const read = await Promise.all(keys.map((key) => app.source.bytes(key)));
    if (read.every(Boolean)) return read.map(timelineTile);
  }
  return [];
}
