// What is in use at a moment: by the calls that led to it, and by module.

import { element, fill } from "./dom.js";
import { counted, size } from "./numbers.js";
import { css } from "./colours.js";

const CALL = 19;

/** The calls as a flame graph: the outermost above, as wide as what was asked for below them. */
export function showFlame(into, app, found) {
  const calls = found.calls;
  const starts = [];
  const used = [];
  calls.forEach(([depth, , bytes], at) => {
    const start = depth === 0 ? 0 : (used[depth - 1] ?? 0);
    starts[at] = start;
    used[depth - 1] = start + bytes;
    used[depth] = start;
  });
  const deepest = calls.reduce((most, call) => Math.max(most, call[0]), 0);
  const canvas = element("canvas", { role: "img", tabindex: 0, "aria-label": "Memory in use by call stack" });
  const told = element("p", { class: "note" });
  let focus = 0;
  const name = ([depth, frame]) => {
    if (depth === 0) return "all in use";
    return frame ? `${frame[1].split(/[\\/]/).pop()}:${frame[2]} ${frame[0]}` : "smaller ones, together";
  };
  const draw = () => {
    const width = Math.max(into.clientWidth - 2, 200);
    const ratio = Math.min(devicePixelRatio || 1, 2);
    const height = (deepest + 1) * CALL;
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    const [from, length] = [starts[focus], calls[focus][2] || 1];
    calls.forEach((call, at) => {
      const [depth, frame, bytes] = call;
      const x0 = Math.max((starts[at] - from) / length, 0) * width;
      const x1 = Math.min((starts[at] + bytes - from) / length, 1) * width;
      if (x1 - x0 < 0.7) return;
      const file = frame ? frame[1] : "";
      const own = file && !/(site|dist)-packages|lib\/python|^torch\/|^</.test(file);
      const colour = depth === 0 || !frame ? app.colours.rest : app.colours.groups[own ? 0 : 4];
      context.fillStyle = css(app.colours.shade(colour, at), own ? 1 : 0.75);
      context.fillRect(x0, depth * CALL, Math.max(x1 - x0 - 1, 0.7), CALL - 1);
      if (x1 - x0 > 40) {
        context.fillStyle = own && depth > 0 ? "#fff" : css(app.colours.ink);
        context.save();
        context.beginPath();
        context.rect(x0, depth * CALL, x1 - x0 - 3, CALL);
        context.clip();
        context.fillText(`${name(call)}  ${size(bytes)}`, x0 + 4, depth * CALL + 13);
        context.restore();
      }
    });
  };
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const depth = Math.floor((event.clientY - box.top) / CALL);
    const place = starts[focus] + (event.clientX - box.left) / box.width * calls[focus][2];
    return calls.findIndex((call, index) => call[0] === depth && starts[index] <= place && place < starts[index] + call[2]);
  };
  canvas.addEventListener("pointermove", (event) => {
    const index = at(event);
    if (index >= 0) told.textContent = `${name(calls[index])}: ${size(calls[index][2])} in ${counted(calls[index][3], "block")}`;
  });
  canvas.addEventListener("click", (event) => {
    const index = at(event);
    focus = index === focus || index < 0 ? 0 : index;
    draw();
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      focus = 0;
      draw();
    }
  });
  told.textContent = `${app.moment(found.slot)}: ${size(calls[0][2])} in use by call stack, your own lines darker. Click a call to see only what is below it.`;
  fill(into, [told, element("div", { class: "scroll" }, canvas)]);
  draw();
}

/** The tree of modules, lines and classes. */
export function showModules(into, app, found) {
  const all = found.branches.filter(([depth]) => depth === 0).reduce((sum, branch) => sum + branch[2], 0) || 1;
  const rows = found.branches.slice(0, 400).map(([depth, name, bytes, blocks]) =>
    element("tr", { class: `deep${depth}` },
      element("td", {}, name), element("td", { class: "n" }, size(bytes)), element("td", { class: "n soft" }, depth < 2 ? counted(blocks, "block") : ""),
      element("td", { class: "share" }, element("span", { class: "fill", width: `${bytes / all * 100}%`, colour: css(app.colours.groups[[0, 2, 4][depth]]) }))));
  const rest = found.branches.length - rows.length;
  fill(into, [
    element("p", { class: "note" }, `${app.moment(found.slot)}: ${size(all)} in use by module, line and class.`),
    element("div", { class: "scroll" }, element("table", {}, element("tbody", {}, rows))),
    rest > 0 ? element("p", { class: "note" }, `${counted(rest, "smaller row")} not shown.`) : null,
  ]);
}
