// Buttons and menus: what is seen, along which axis, of which allocations.

import { axisOf } from "./axis.js";
import { sayChosen } from "./chosen.js";
import { choice, copy, element, fill } from "./dom.js";
import { PARTS } from "./keys.js";
import { showMenu } from "./replay.js";

const TABS = [["moment", "Moment"], ["flame", "By stack"], ["modules", "By module"], ["block", "Block and search"], ["compare", "Compare"]];

/** Buttons, menus and pictures, as the view is; what has not changed stays. */
export function showControls(app) {
  const { state, nodes, meta } = app;
  const controlsKey = [state.recording, state.part, state.axis, app.steps.length, state.class, state.stream, state.pool, state.find, app.scheme, Boolean(app.verdict)].join();
  if (controlsKey !== app.controlsKey) {
    app.controlsKey = controlsKey;
    const recordings = element("select", { "aria-label": "Recording", onchange: (event) => app.state.set({ recording: Number(event.target.value) }) },
      app.list.map((one, at) => element("option", { value: at, selected: at === state.recording }, one.name)));
    const search = element("input", { type: "search", placeholder: "line, 12 MiB or 0x7f…", "aria-label": "Search", value: state.find, disabled: app.source.isFile, title: app.source.isFile ? "a file cannot search" : null });
    const form = element("form", { class: "search", onsubmit: (event) => {
      event.preventDefault();
      app.state.set({ find: search.value.trim(), tab: "block", block: null });
    } }, search);
    const button = (text, act, title) => element("button", { type: "button", onclick: act, title }, text);
    fill(nodes.head, [element("p", { class: "brand" }, "oomph view"), app.list.length > 1 ? recordings : element("span", { class: "name" }, app.list[0].name), form,
      button("Copy text", () => app.copyText(), "what is chosen, as text"), button("Copy link", () => copy(location.href, (text) => app.status(text)), "an address that restores this view"),
      button("SVG", () => app.picture("svg"), "this view as a picture"), button("PNG", () => app.picture("png"), "this view as a picture"),
      app.source.isFile ? element("p", { class: "soft left-out" }, `This file leaves out: ${app.source.leftOut.join("; ")}.`) : null]);
    const reason = (name) => (axisOf(name, meta, app.steps) ? null : name === "time" ? "the recording has no times" : "no steps were found");
    const filter = (name, label, names) => element("select", { "aria-label": label, disabled: app.source.isFile || names.length < 2, onchange: (event) => app.state.set({ [name]: event.target.value === "" ? null : Number(event.target.value) }) },
      element("option", { value: "" }, `all ${label}`), names.map((text, at) => element("option", { value: at, selected: state[name] === at }, text)));
    fill(nodes.tools, [
      choice("In use by", PARTS.map((part) => [part, part, part === "class" && !meta.has_classes ? "the recording does not tell classes: record with `oomph run`" : null]), state.part, (part) => { app.hidden.clear(); app.state.set({ part }); }),
      choice("Axis", ["events", "time", "steps"].map((name) => [name, name, reason(name)]), state.axis, (axis) => app.chooseAxis(axis)),
      element("div", { class: "choice" }, filter("class", "classes", meta.has_classes ? meta.classes : []), filter("stream", "streams", meta.streams), filter("pool", "pools", meta.pools)),
      button("All of it", () => app.state.set({ from: null, to: null, low: null, high: null }), "the whole recording"),
    ]);
    showMenu(nodes.menu, app, app.verdict ? app.verdict.menu : [], (what) => app.chooseReplay(what));
  }
  if (!nodes.pictures.childNodes.length || app.picturesKey !== app.variant) {
    app.picturesKey = app.variant;
    const titled = (name, panel) => [element("h3", {}, name), panel.root];
    const replayed = app.variant ? [titled(`As replayed: ${app.replayed.title}`, app.timelines[1].panel), titled("Addresses, as replayed", app.maps[1].panel)] : [];
    fill(nodes.pictures, [titled(`As recorded: ${app.meta.settings}${app.meta.exact ? "" : " (the replay parts from the recording; the rest is the replay's)"}`, app.timelines[0].panel), replayed.slice(0, 1), titled("Addresses over time", app.maps[0].panel), replayed.slice(1)]);
  }
  if (app.tabsKey !== `${state.tab} ${app.list.length}`) {
    app.tabsKey = `${state.tab} ${app.list.length}`;
    fill(nodes.tabs, [choice("", TABS.map(([name, text]) => [name, text, name === "compare" && app.list.length < 2 ? "name two recordings to compare them" : null]), state.tab, (tab) => app.state.set({ tab }))]);
  }
  sayChosen(app);
}
