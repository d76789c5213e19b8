// The keyboard.

import { axisOf } from "./axis.js";

/** What memory in use can be parted by, in the order of its keys. */
export const PARTS = ["class", "line", "module", "phase"];

/** The keys in words. */
export const HELP = "Left and right move, + and − zoom, 0 shows all; Shift with up and down moves along addresses, [ and ] zoom them. 1 to 4: by class, line, module, phase. " +
  "E, T, S: events, time, steps. P: the peak. F: the failure. /: search. C: copy as text. Escape: nothing chosen. " +
  "With the mouse: drag moves; wheel zooms once a picture was clicked, with Shift along addresses; Shift and drag chooses a stretch.";

/** Does what a key stands for, unless something is being written. */
export function typed(app, event) {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  const panel = app.timelines[0].panel;
  const middle = [panel.width / 2, app.maps[0].panel.drawn / 2];
  const [low, high] = [app.state.low ?? 0, app.state.high ?? 1];
  const acts = {
    ArrowLeft: () => app.move(panel, panel.width / 8, 0), ArrowRight: () => app.move(panel, -panel.width / 8, 0),
    ArrowUp: () => app.lookAt(low + (high - low) / 8, high + (high - low) / 8), ArrowDown: () => app.lookAt(low - (high - low) / 8, high - (high - low) / 8),
    "+": () => app.zoom(panel, ...middle, 0.6, false), "=": () => app.zoom(panel, ...middle, 0.6, false), "-": () => app.zoom(panel, ...middle, 1 / 0.6, false),
    "]": () => app.zoom(app.maps[0].panel, ...middle, 0.6, true), "[": () => app.zoom(app.maps[0].panel, ...middle, 1 / 0.6, true),
    0: () => app.state.set({ from: null, to: null, low: null, high: null }),
    e: () => app.chooseAxis("events"), t: () => axisOf("time", app.meta, app.steps) && app.chooseAxis("time"), s: () => axisOf("steps", app.meta, app.steps) && app.chooseAxis("steps"),
    p: () => app.show(app.meta.peak), f: () => app.meta.failures.length && app.show(app.meta.failures[0].slot),
    "/": () => app.nodes.head.querySelector("input").focus(), c: () => app.copyText(),
    Escape: () => { app.chosen = app.stretch = null; app.state.set({ block: null, find: "" }); },
  };
  PARTS.forEach((part, at) => { acts[at + 1] = () => (part !== "class" || app.meta.has_classes) && app.state.set({ part }); });
  const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
  if (vertical && !event.shiftKey && !document.activeElement.classList.contains("panel")) return;
  const act = acts[event.key] || acts[event.key.toLowerCase()];
  if (act) {
    event.preventDefault();
    act();
  }
}
