// Two recordings, as `oomph diff` compares them: what each line holds at the peak of either.

import { element, fill } from "./dom.js";
import { counted, size } from "./numbers.js";

const SHOWN = 40;

function signed(bytes) {
  return `${bytes < 0 ? "−" : "+"}${size(Math.abs(bytes))}`;
}

/** The answer, and the lines that differ most. */
export function showCompared(into, found) {
  const head = ["line", "A", "B", "change"].map((text, at) => element("th", { class: at ? "n" : "" }, text));
  const change = ({ a, b }) => element("td", { class: b > a ? "n worse" : "n better" }, a === b ? "same" : signed(b - a));
  const row = (line) => element("tr", { title: line.code || "" }, element("td", {}, line.line),
    element("td", { class: "n", title: counted(line.blocks_a, "block") }, size(line.a)), element("td", { class: "n", title: counted(line.blocks_b, "block") }, size(line.b)), change(line));
  const facts = [["A", found.a], ["B", found.b], ...found.minds.map((mind) => ["Mind", mind])];
  const rest = found.lines.length - SHOWN;
  fill(into, [
    element("p", { class: "note" }, `${found.answer}.`),
    element("dl", {}, facts.map(([label, text]) => [element("dt", {}, label), element("dd", {}, text)])),
    element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, found.lines.slice(0, SHOWN).map(row)))),
    rest > 0 ? element("p", { class: "note" }, `${counted(rest, "line")} that differ less not shown.`) : null,
  ]);
}
