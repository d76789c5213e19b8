// One block, and what a search found.

import { element, fill } from "./dom.js";
import { counted, count, size } from "./numbers.js";

/** A table of allocations; a row that is clicked is picked. */
export function blockTable(blocks, pick) {
  const head = [["size", "n"], ["line", ""], ["class", ""], ["events", "n"], ["address", "n"]].map(([text, side]) => element("th", { class: side }, text));
  const row = (block) => element("tr", { tabindex: 0, class: "link", onclick: () => pick(block), onkeydown: (event) => { if (event.key === "Enter") pick(block); } },
    element("td", { class: "n" }, size(block.size)), element("td", { class: "wide" }, block.line), element("td", {}, block.class),
    element("td", { class: "n" }, `${count(block.from)} – ${count(block.to)}`), element("td", { class: "n mono" }, block.addr));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, blocks.map(row))));
}

/** Everything that is known of a block. */
export function showBlock(into, app, found, meta, pick) {
  const { block } = found;
  const facts = [
    ["Size", block.size === block.requested ? size(block.size) : `${size(block.size)}, of which ${size(block.requested)} was asked for`],
    ["Line", block.line], ["Class", block.class], ["Phase", found.step ? `${block.phase}, step ${found.step}` : block.phase],
    ["Life", `${found.was_there ? "before the first event" : `event ${count(block.from)}`} to ${block.to >= meta.slots ? "the end" : `event ${count(block.to)}`}`],
    ["Where", `${block.addr}, ${meta.pools[found.pool]}, ${meta.streams[found.stream] || "stream 0x0"}`],
  ];
  if (found.said) facts.push(["Said", found.said]);
  const list = element("dl", {}, facts.map(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]));
  const frames = found.frames.map(({ frame, code }) => element("li", {}, element("code", {}, `${frame[1]}:${frame[2]} ${frame[0]}`), code ? element("pre", {}, code) : null));
  const stack = frames.length
    ? [element("p", { class: "label" }, found.lent ? "Who asked for it, innermost first (the stack of the same request in another step)" : "Who asked for it, innermost first"), element("ol", { class: "stack" }, frames)]
    : [element("p", { class: "label" }, "No stack was recorded.")];
  const before = found.before ? [element("p", { class: "label" }, "It took the place of"), blockTable([found.before], pick)] : [];
  fill(into, [list, stack, before]);
}

/** What a search found, and what it holds together. */
export function showFound(into, app, wanted, found, pick, go) {
  const none = `No allocation matches “${wanted}”. Search for a part of a line's name, a size (12 MiB) or an address (0x7f…).`;
  if (found.count === 0) return fill(into, [element("p", { class: "note" }, none)]);
  const more = found.count > found.first.length ? ` The largest ${found.first.length} are listed.` : "";
  const told = `${counted(found.count, "allocation")} for “${wanted}”; together they had at most ${size(found.most)} in use.${more}`;
  const show = element("button", { type: "button", onclick: () => go(found.most_at) }, "Show that moment");
  return fill(into, [element("p", { class: "note" }, `${told} `, show), blockTable(found.first, pick)]);
}
