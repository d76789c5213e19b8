// Two recordings: what each line had in use at the peak of either.

import { element, fill } from "./dom.js";
import { counted, size } from "./numbers.js";

const SHOWN = 40;

function signed(bytes) {
  return `${bytes < 0 ? "−" : "+"}${size(Math.abs(bytes))}`;
}

/** The lines that differ most, first. */
export function showCompared(into, app, found, names) {
  const sum = (place) => found.lines.reduce((total, line) => total + line[place], 0);
  const head = ["line", "first", "second", "difference"].map((text, at) => element("th", { class: at ? "n" : "" }, text));
  const row = ([name, before, after, blocks, more]) => element("tr", {},
    element("td", {}, name), element("td", { class: "n", title: counted(blocks, "block") }, size(before)), element("td", { class: "n", title: counted(more, "block") }, size(after)),
    element("td", { class: after > before ? "n worse" : "n better" }, after === before ? "same" : signed(after - before)));
  const rest = found.lines.length - SHOWN;
  const difference = sum(2) - sum(1);
  fill(into, [
    element("p", { class: "note" }, `In use at the peak of each: first ${names[0]}, ${size(sum(1))}; second ${names[1]}, ${size(sum(2))}${difference ? `, ${signed(difference)}` : ", the same"}.`),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, found.lines.slice(0, SHOWN).map(row)))),
    rest > 0 ? element("p", { class: "note" }, `${counted(rest, "line")} that differ less not shown.`) : null,
  ]);
}
