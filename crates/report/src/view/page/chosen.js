// What is chosen, in words: a moment with its parts, or a stretch of time.

import { css } from "./colours.js";
import { element, fill } from "./dom.js";
import { count, size } from "./numbers.js";
import { timelineTile } from "./tiles.js";

/** What the chosen moment or stretch holds, in words. */
export async function sayChosen(app) {
  const { chosen, legend } = app.nodes;
  const part = app.state.part;
  const names = app.meta.parts[part];
  const slot = app.state.slot;
  const found = app.timelines[0].bucket(slot);
  let words = app.moment(slot);
  let values = null;
  const key = app.key(0, `t/${part}/0/${Math.floor(slot / 512)}`) + app.state.only();
  if (app.source.has(key)) {
    const bytes = await app.source.bytes(key);
    const tile = bytes && timelineTile(bytes);
    const at = slot % 512;
    if (tile && at < tile.length && slot === app.state.slot) {
      values = tile.groups.map((group) => group[at]);
      words += `: ${size(tile.activeMax[at])} in use, ${size(tile.reservedMax[at])} held`;
    }
  } else if (found) {
    values = found.tile.groups.map((group) => group[found.at]);
    words += `: about ${size(found.tile.activeMax[found.at])} in use (this file has no finer level)`;
  }
  if (app.stretch) words = `${heldIn(app)} ${words}`;
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

/** What a stretch of time holds, of the columns that are drawn. */
function heldIn(app) {
  const [from, to] = app.stretch;
  let [least, most, at, reserved] = [Infinity, 0, from, 0];
  for (const { tile } of app.timelines[0].drawn || []) {
    const wide = 2 ** tile.level;
    for (let index = 0; index < tile.length; index += 1) {
      const slot = (tile.tile * 512 + index) * wide;
      if (slot + wide <= from || slot > to) continue;
      least = Math.min(least, tile.activeMin[index]);
      reserved = Math.max(reserved, tile.reservedMax[index]);
      if (tile.activeMax[index] > most) [most, at] = [tile.activeMax[index], tile.at[index]];
    }
  }
  return `Events ${count(from)} to ${count(to)}: ${size(least)} to ${size(most)} in use, the most at event ${count(at)}; at most ${size(reserved)} held.`;
}
