// Marks on the axis: steps and phases in a strip, retries, failures and what the program said as lines.

import { svg } from "./paint_svg.js";
import { css } from "./colours.js";

const PHASES = { forward: 2, backward: 3, optimizer: 1, evaluation: 4 };
/** Marks of one kind that are drawn at once; of more, every n-th. */
const MOST = 120;
/** The height of the strip. */
export const STRIP = 30;

/** The marks that lie in these slots, and how many are passed over. */
function within(marks, kind, from, to) {
  const found = marks.filter((mark) => mark[0] === kind && mark[1] < to && mark[2] > from);
  const every = Math.ceil(found.length / MOST);
  return every > 1 ? found.filter((_, at) => at % every === 0) : found;
}

/** Draws the marks into an SVG of this width, the strip at `top`, lines from 0 to it. */
export function drawMarks(into, view, marks, colours, top) {
  const { place } = view;
  const [from, to] = view.slots;
  const middle = (text, x, y, room, colour) => {
    if (room < text.length * 6.2 + 6) return null;
    return svg("text", { x, y, fill: css(colour), "font-size": 10, "text-anchor": "middle" }, text);
  };
  const nodes = [];
  for (const [, begin, end, text] of within(marks, "phase", from, to)) {
    const [x0, x1] = [Math.max(place(begin), 0), Math.min(place(end), view.width)];
    const colour = colours.groups[PHASES[text] ?? 5];
    nodes.push(svg("rect", { x: x0, y: top + 18, width: Math.max(x1 - x0, 0.5), height: 10, fill: css(colour, 0.55) }, title(text)));
    nodes.push(middle(text, (x0 + x1) / 2, top + 26.5, x1 - x0, colours.ink));
  }
  for (const [, begin, end, text] of within(marks, "step", from, to)) {
    const x = place(begin);
    nodes.push(svg("line", { x1: x, x2: x, y1: top + 4, y2: top + 16, stroke: css(colours.soft, 0.7) }, title(text)));
    const [x0, x1] = [Math.max(x, 0), Math.min(place(end), view.width)];
    nodes.push(middle(text, (x0 + x1) / 2, top + 14, x1 - x0, colours.soft));
  }
  for (const [, begin, end, text] of within(marks, "scope", from, to)) {
    const [x0, x1] = [Math.max(place(begin), 0), Math.min(place(end), view.width)];
    nodes.push(svg("path", { d: `M${x0},${top + 1}h${Math.max(x1 - x0, 1)}`, stroke: css(colours.groups[6]), "stroke-width": 3, opacity: 0.6 }, title(text)));
  }
  const lines = [["remark", colours.groups[7], "2 4"], ["retry", colours.trapped, "4 3"], ["failure", colours.bad, ""]];
  for (const [kind, colour, dash] of lines) {
    for (const [, begin, , text] of within(marks, kind, from, to)) {
      const x = place(begin + 0.5);
      nodes.push(svg("line", { x1: x, x2: x, y1: 0, y2: top, stroke: css(colour), "stroke-width": kind === "failure" ? 2 : 1, "stroke-dasharray": dash }, title(text)));
      nodes.push(svg("path", { d: `M${x - 4},0h8l-4,7z`, fill: css(colour) }, title(text)));
    }
  }
  into.append(...nodes.filter((node) => node !== null));
}

function title(text) {
  return svg("title", {}, text);
}
