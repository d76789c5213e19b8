// The page: what it is made of, and what happens when something is touched.

import { axisOf } from "./axis.js";
import { Colours, css } from "./colours.js";
import { showCompared } from "./compare.js";
import { showBlock, showFound } from "./details.js";
import { choice, copy, element, fill, save } from "./dom.js";
import { showFlame, showModules } from "./flame.js";
import { SegmentMap } from "./map.js";
import { count, duration, size } from "./numbers.js";
import { svg } from "./paint_svg.js";
import { asPng, asSvg } from "./pictures.js";
import { outcome, showMenu } from "./replay.js";
import { holesFor, showSlice } from "./slice.js";
import { Source } from "./source.js";
import { State } from "./state.js";
import { MERGED, timelineTile } from "./tiles.js";
import { Timeline } from "./timeline.js";
import { showVerdict } from "./verdict.js";

const PARTS = ["class", "line", "module", "phase"];
const TABS = [["moment", "Moment"], ["flame", "By stack"], ["modules", "By module"], ["block", "Block and search"], ["compare", "Compare"]];
const HELP = "Left and right move, + and − zoom, 0 shows all; Shift with up and down moves along addresses, [ and ] zoom them. 1 to 4: by class, line, module, phase. " +
  "E, T, S: events, time, steps. P: the peak. F: the failure. /: search. C: copy as text. Escape: nothing chosen. " +
  "With the mouse: drag moves; wheel zooms once a picture was clicked, with Shift along addresses; Shift and drag chooses a stretch.";

class App {
  constructor() {
    this.source = new Source();
    this.state = new State();
    this.colours = new Colours();
    this.scheme = 0;
    this.hidden = new Set();
    this.holes = new Map();
    this.frames = [];
    this.metas = new Map();
    this.steps = [];
    this.verdict = null;
    this.variant = 0;
    this.chosen = null;
    this.stretch = null;
    this.shownKey = "";
  }

  async start() {
    this.list = (await this.source.json("list")).recordings;
    this.state.recording = Math.min(this.state.recording, this.list.length - 1);
    this.build();
    await this.open();
    this.state.onChange(() => this.changed());
    this.state.onMove(() => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours = new Colours();
      this.scheme += 1;
      this.changed();
    });
    new ResizeObserver(() => this.redraw()).observe(this.nodes.pictures);
    addEventListener("keydown", (event) => this.typed(event));
  }

  /** Everything that stays. */
  build() {
    const node = (name, kind = "div") => element(kind, { class: name });
    this.nodes = {
      head: node("head", "header"), verdict: element("section", { class: "card verdict", "aria-label": "Verdict" }, element("p", { class: "soft" }, "Explaining…")),
      tools: node("tools"), pictures: node("pictures"), legend: node("legend"), menu: node("menu"), told: node("told"), replayTold: node("told"),
      tabs: node("tabs"), under: element("div", { class: "under", "aria-live": "polite" }), status: element("p", { class: "status soft", role: "status" }), tip: element("div", { id: "tip", hidden: true }),
      note: node("note", "p"), chosen: node("chosen", "p"),
    };
    const { head, verdict, tools, pictures, legend, menu, tabs, under, status, tip, note, chosen } = this.nodes;
    fill(document.getElementById("page"), [head, verdict,
      element("section", { class: "card", "aria-label": "Memory over time" }, tools, chosen, legend, pictures, note, element("h2", {}, "The same job, replayed"), menu, this.nodes.replayTold),
      element("section", { class: "card", "aria-label": "Details" }, tabs, under), element("p", { class: "soft help" }, HELP), status, tip]);
    this.timelines = [];
    this.maps = [];
    this.addPictures(0);
  }

  addPictures(variant) {
    const acts = (of) => ({
      move: (dx, dy) => this.move(of().panel, dx, of() instanceof SegmentMap ? dy : 0),
      zoom: (x, y, factor, along) => this.zoom(of().panel, x, y, factor, along === "y" && of() instanceof SegmentMap),
      hover: (x, y) => this.point(of(), x, y),
      leave: () => { this.nodes.tip.hidden = true; },
      pick: (x, y) => this.pick(of(), x, y),
      choose: (x0, x1) => this.choose(of().panel, x0, x1),
    });
    const place = variant ? 1 : 0;
    this.timelines[place] = new Timeline(this, variant, acts(() => this.timelines[place]));
    this.maps[place] = new SegmentMap(this, variant, acts(() => this.maps[place]));
  }

  /** Reads the recording that is chosen, then its verdict. */
  async open() {
    const of = this.state.recording;
    this.metas.clear();
    this.holes.clear();
    this.steps = [];
    this.verdict = null;
    this.shownKey = "";
    const meta = await this.source.json(`${of}/0/meta`);
    this.metas.set(0, meta);
    this.meta = meta;
    if (!this.state.part) this.state.part = meta.has_classes ? "class" : "line";
    this.steps = meta.marks.filter((mark) => mark[0] === "step").map((mark) => [mark[1], Number(mark[3].split(" ")[1])]);
    if (this.state.slot === null) this.state.slot = meta.failures.length ? meta.failures[0].slot : meta.peak;
    this.setAxis();
    this.changed();
    const verdict = await this.source.json(`${of}/verdict`);
    if (of !== this.state.recording || !verdict) return;
    this.verdict = verdict;
    if (this.steps.length < 2) this.steps = verdict.steps;
    showVerdict(this.nodes.verdict, verdict, (slot) => this.show(slot));
    document.title = `${verdict.headline} · oomph`;
    this.setAxis();
    this.changed();
    document.documentElement.dataset.explained = "yes";
  }

  setAxis() {
    this.axis = axisOf(this.state.axis, this.meta, this.steps) || axisOf("events", this.meta, this.steps);
  }

  key(variant, what) { return `${this.state.recording}/${variant}/${what}`; }
  metaOf(variant) { return this.metas.get(variant); }

  marksOf(variant) {
    const meta = this.metaOf(variant);
    const marked = meta.marks.some((mark) => mark[0] === "step");
    if (marked || !this.steps.length) return meta.marks;
    return meta.marks.concat(this.steps.map(([slot, number], at) => ["step", slot, this.steps[at + 1] ? this.steps[at + 1][0] : meta.slots, `step ${number}`]));
  }

  /** What is seen of the axis, and where a slot is drawn. */
  view(panel) {
    const [from, to] = [this.state.from ?? 0, this.state.to ?? this.axis.end];
    const { width } = panel;
    return { from, to, width, slots: this.slots(), place: (slot) => (this.axis.x(slot) - from) / (to - from) * width };
  }

  /** The slots that are seen. */
  slots() {
    const [from, to] = [this.state.from ?? 0, this.state.to ?? this.axis.end];
    return [Math.max(Math.floor(this.axis.slot(from)), 0), Math.min(Math.ceil(this.axis.slot(to)), this.meta.slots)];
  }

  /** The top of the scale of bytes: the same for all pictures. */
  top() {
    const all = [...this.metas.values()];
    const most = Math.max(...all.map((meta) => meta.peaks.reserved), 1);
    const limits = all.map((meta) => meta.limit || 0).filter((limit) => limit < most * 2.2);
    return Math.max(most, ...limits) * 1.06;
  }

  /** A slot in words. */
  moment(slot) {
    const parts = [this.meta.events ? `event ${count(slot)}` : "when the snapshot was taken"];
    if (this.state.axis === "time" && this.axis.points) parts.push(duration(this.axis.x(slot)));
    const step = this.steps.findLast(([start]) => start <= slot);
    if (step) parts.push(`step ${count(step[1])}`);
    const phase = this.meta.marks.findLast((mark) => mark[0] === "phase" && mark[1] <= slot && slot < mark[2]);
    if (phase) parts.push(phase[3]);
    return parts.join(", ");
  }

  /** Something of the view is another. */
  changed() {
    if (this.shownRecording !== undefined && this.shownRecording !== this.state.recording) {
      this.shownRecording = this.state.recording;
      Object.assign(this.state, { from: null, to: null, low: null, high: null, slot: null, block: null, settings: null, limit: null, without: null, class: null, stream: null, pool: null });
      this.dropReplay();
      this.chosen = null;
      this.open();
      return;
    }
    this.shownRecording = this.state.recording;
    this.setAxis();
    this.controls();
    this.replay();
    this.under();
    this.redraw();
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const begun = performance.now();
      [...this.timelines, ...this.maps].forEach((picture) => picture && picture.draw());
      this.frames.push(performance.now() - begun);
      if (this.frames.length > 2000) this.frames.shift();
      if (this.timelines[0].drawn && this.timelines[0].drawn.length && !document.documentElement.dataset.drawn) {
        document.documentElement.dataset.drawn = String(performance.timeOrigin + performance.now());
      }
    });
  }

  /** Bounds a view to what there is, at least a few slots of it. */
  look(from, to) {
    const end = this.axis.end;
    const least = Math.min(end, Math.max(end / this.meta.slots * 4, end * 1e-7));
    const length = Math.min(Math.max(to - from, least), end);
    const begin = Math.min(Math.max(from, 0), end - length);
    this.state.set({ from: length >= end ? null : begin, to: length >= end ? null : begin + length });
  }

  lookAt(low, high) {
    const length = Math.min(Math.max(high - low, 1e-6), 1);
    const begin = Math.min(Math.max(low, 0), 1 - length);
    this.state.set({ low: length >= 1 ? null : begin, high: length >= 1 ? null : begin + length });
  }

  move(panel, dx, dy) {
    const { from, to, width } = this.view(panel);
    const [low, high] = [this.state.low ?? 0, this.state.high ?? 1];
    if (dy && this.state.low !== null) this.lookAt(low + dy / panel.drawn * (high - low), high + dy / panel.drawn * (high - low));
    const by = -dx / width * (to - from);
    this.look(from + by, to + by);
  }

  zoom(panel, x, y, factor, alongAddresses) {
    if (alongAddresses) {
      const [low, high] = [this.state.low ?? 0, this.state.high ?? 1];
      const at = high - y / panel.drawn * (high - low);
      this.lookAt(at - (at - low) * factor, at + (high - at) * factor);
      return;
    }
    const { from, to, width } = this.view(panel);
    const at = from + x / width * (to - from);
    this.look(at - (at - from) * factor, at + (to - at) * factor);
  }

  /** Goes to a moment: it is chosen, and brought into view. */
  show(slot) {
    const x = this.axis.x(slot);
    const [from, to] = [this.state.from ?? 0, this.state.to ?? this.axis.end];
    this.chosen = null;
    this.stretch = null;
    this.state.set({ slot, block: null });
    if (x < from || x > to) this.look(x - (to - from) / 2, x + (to - from) / 2);
    this.nodes.pictures.scrollIntoView({ block: "nearest" });
  }

  pick(picture, x, y) {
    this.stretch = null;
    if (picture instanceof SegmentMap) {
      const found = picture.find(x, y);
      if (found.id !== null && found.id !== MERGED) {
        this.chosen = { variant: picture.variant, id: found.id };
        this.state.set({ block: found.id, tab: "block", find: "", slot: Math.floor(found.slot) });
        return;
      }
    }
    const view = this.view(picture.panel);
    const slot = Math.floor(this.axis.slot(view.from + x / picture.panel.width * (view.to - view.from)));
    const found = picture instanceof Timeline ? picture.bucket(slot) : null;
    const exact = found ? found.tile.at[found.at] : slot;
    this.state.set({ slot: Math.min(Math.max(exact, 0), this.meta.slots - 1) });
  }

  /** A stretch of time is chosen: it says what it holds. */
  choose(panel, x0, x1) {
    const view = this.view(panel);
    const slot = (x) => Math.min(Math.max(Math.floor(this.axis.slot(view.from + x / panel.width * (view.to - view.from))), 0), this.meta.slots - 1);
    this.stretch = [slot(Math.min(x0, x1)), slot(Math.max(x0, x1))];
    this.said();
    this.redraw();
  }

  point(picture, x, y) {
    const { tip } = this.nodes;
    const inside = x >= 0 && x <= picture.panel.width && y <= picture.panel.drawn;
    const text = inside ? picture.hover(x, y) : null;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = picture.panel.root.getBoundingClientRect();
    const left = box.left + x + picture.panel.root.clientWidth - picture.panel.width + 14;
    tip.style.left = `${Math.max(Math.min(left, innerWidth - tip.offsetWidth - 8), 4)}px`;
    tip.style.top = `${Math.min(box.top + y + 16, innerHeight - tip.offsetHeight - 8)}px`;
  }

  /** The chosen moment and stretch, over a picture. */
  cursor(over, view, panel, height) {
    const line = (x) => svg("line", { x1: x, x2: x, y1: 0, y2: height, stroke: css(this.colours.ink, 0.7), "stroke-width": 1 });
    if (this.stretch) {
      const [x0, x1] = [view.place(this.stretch[0]), view.place(this.stretch[1] + 1)];
      over.append(svg("rect", { x: x0, width: Math.max(x1 - x0, 1), y: 0, height, fill: css(this.colours.ink, 0.12) }));
    }
    const x = view.place(this.state.slot + 0.5);
    if (x >= 0 && x <= panel.width) over.append(line(x));
  }

  /** What the chosen moment or stretch holds, in words. */
  async said() {
    const { chosen, legend } = this.nodes;
    const part = this.state.part;
    const names = this.meta.parts[part];
    const slot = this.state.slot;
    const found = this.timelines[0].bucket(slot);
    let words = this.moment(slot);
    let values = null;
    const key = this.key(0, `t/${part}/0/${Math.floor(slot / 512)}`) + this.state.only();
    if (this.source.has(key)) {
      const bytes = await this.source.bytes(key);
      const tile = bytes && timelineTile(bytes);
      const at = slot % 512;
      if (tile && at < tile.length && slot === this.state.slot) {
        values = tile.groups.map((group) => group[at]);
        words += `: ${size(tile.activeMax[at])} in use, ${size(tile.reservedMax[at])} held`;
      }
    } else if (found) {
      values = found.tile.groups.map((group) => group[found.at]);
      words += `: about ${size(found.tile.activeMax[found.at])} in use (this file has no finer level)`;
    }
    if (this.stretch) words = `${this.held()} ${words}`;
    chosen.textContent = words;
    const item = (name, rank) => element("li", {}, element("button", {
      type: "button", "aria-pressed": String(!this.hidden.has(name)), title: "show or hide",
      onclick: () => {
        if (!this.hidden.delete(name)) this.hidden.add(name);
        this.changed();
      },
    }, element("span", { class: "key", colour: css(this.colours.group(part, names, rank)) }), name, values ? element("b", {}, ` ${size(values[rank])}`) : null));
    const held = element("li", {}, element("span", { class: "plain" }, element("span", { class: "key", colour: css(this.colours.held) }), "held, not in use"));
    fill(legend, [element("ul", { class: "keys" }, names.map(item), held)]);
  }

  /** What a stretch of time holds, of the columns that are drawn. */
  held() {
    const [from, to] = this.stretch;
    let [least, most, at, reserved] = [Infinity, 0, from, 0];
    for (const { tile } of this.timelines[0].drawn || []) {
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

  told(variant, words) {
    if (variant === 0 && this.nodes.note.textContent !== words) this.nodes.note.textContent = words;
  }

  /** Buttons, menus and pictures, as the view is. */
  controls() {
    const { state, nodes, meta } = this;
    const controlsKey = [state.recording, state.part, state.axis, this.steps.length, state.class, state.stream, state.pool, state.find, this.scheme, Boolean(this.verdict)].join();
    if (controlsKey !== this.controlsKey) {
      this.controlsKey = controlsKey;
      const recordings = element("select", { "aria-label": "Recording", onchange: (event) => this.state.set({ recording: Number(event.target.value) }) },
        this.list.map((one, at) => element("option", { value: at, selected: at === state.recording }, one.name)));
      const search = element("input", { type: "search", placeholder: "line, 12 MiB or 0x7f…", "aria-label": "Search", value: state.find, disabled: this.source.isFile, title: this.source.isFile ? "a file cannot search" : null });
      const form = element("form", { class: "search", onsubmit: (event) => {
        event.preventDefault();
        this.state.set({ find: search.value.trim(), tab: "block", block: null });
      } }, search);
      const button = (text, act, title) => element("button", { type: "button", onclick: act, title }, text);
      fill(nodes.head, [element("p", { class: "brand" }, "oomph view"), this.list.length > 1 ? recordings : element("span", { class: "name" }, this.list[0].name), form,
        button("Copy text", () => this.copyText(), "what is chosen, as text"), button("Copy link", () => copy(location.href, (text) => this.status(text)), "an address that restores this view"),
        button("SVG", () => this.picture("svg"), "this view as a picture"), button("PNG", () => this.picture("png"), "this view as a picture"),
        this.source.isFile ? element("p", { class: "soft left-out" }, `This file leaves out: ${this.source.leftOut.join("; ")}.`) : null]);
      const reason = (name) => (axisOf(name, meta, this.steps) ? null : name === "time" ? "the recording has no times" : "no steps were found");
      const filter = (name, label, names) => element("select", { "aria-label": label, disabled: this.source.isFile || names.length < 2, onchange: (event) => this.state.set({ [name]: event.target.value === "" ? null : Number(event.target.value) }) },
        element("option", { value: "" }, `all ${label}`), names.map((text, at) => element("option", { value: at, selected: state[name] === at }, text)));
      fill(nodes.tools, [
        choice("In use by", PARTS.map((part) => [part, part, part === "class" && !meta.has_classes ? "the recording does not tell classes: record with `oomph run`" : null]), state.part, (part) => { this.hidden.clear(); this.state.set({ part }); }),
        choice("Axis", ["events", "time", "steps"].map((name) => [name, name, reason(name)]), state.axis, (axis) => this.chooseAxis(axis)),
        element("div", { class: "choice" }, filter("class", "classes", meta.has_classes ? meta.classes : []), filter("stream", "streams", meta.streams), filter("pool", "pools", meta.pools)),
        button("All of it", () => this.state.set({ from: null, to: null, low: null, high: null }), "the whole recording"),
      ]);
      showMenu(nodes.menu, this, this.verdict ? this.verdict.menu : [], (what) => this.chooseReplay(what));
    }
    if (!nodes.pictures.childNodes.length || this.picturesKey !== this.variant) {
      this.picturesKey = this.variant;
      const titled = (name, panel) => [element("h3", {}, name), panel.root];
      const replayed = this.variant ? [titled(`As replayed: ${this.replayed.title}`, this.timelines[1].panel), titled("Addresses, as replayed", this.maps[1].panel)] : [];
      fill(nodes.pictures, [titled(`As recorded: ${this.meta.settings}${this.meta.exact ? "" : " (the replay parts from the recording; the rest is the replay's)"}`, this.timelines[0].panel), replayed.slice(0, 1), titled("Addresses over time", this.maps[0].panel), replayed.slice(1)]);
    }
    if (this.tabsKey !== `${state.tab} ${this.list.length}`) {
      this.tabsKey = `${state.tab} ${this.list.length}`;
      fill(nodes.tabs, [choice("", TABS.map(([name, text]) => [name, text, name === "compare" && this.list.length < 2 ? "name two recordings to compare them" : null]), state.tab, (tab) => this.state.set({ tab }))]);
    }
    this.said();
  }

  chooseAxis(axis) {
    const [from, to] = this.slots();
    this.state.axis = axis;
    this.setAxis();
    this.state.set({ axis, from: null, to: null });
    if (to - from < this.meta.slots) this.look(this.axis.x(from), this.axis.x(to));
  }

  chooseReplay(what) {
    this.controlsKey = "";
    this.state.set(what || { settings: null, limit: null, without: null });
  }

  dropReplay() {
    if (this.variant) this.metas.delete(this.variant);
    [this.timelines[1], this.maps[1]].forEach((picture) => picture && picture.tiles.clear());
    this.timelines.length = this.maps.length = 1;
    [this.variant, this.replayed, this.replayKey] = [0, null, null];
    this.nodes.replayTold.textContent = "";
  }

  /** Asks for the replay that the view names, if it is not there. */
  async replay() {
    const { state } = this;
    const wanted = state.without !== null ? `without/${state.without}/${state.slot}` : state.settings !== null ? `replay/${encodeURIComponent(state.settings)}/${encodeURIComponent(state.limit || "")}` : null;
    if (state.without !== null && this.replayKey && this.replayKey.startsWith(`without/${state.without}/`)) return;
    if (wanted === this.replayKey || this.source.isFile) return;
    this.dropReplay();
    this.replayKey = wanted;
    if (!wanted) return this.changed();
    this.nodes.replayTold.textContent = "Replaying…";
    const found = await this.source.json(`${state.recording}/${wanted}`);
    if (this.replayKey !== wanted || !found) return undefined;
    this.nodes.replayTold.textContent = outcome(found, this.meta);
    if (found.refused) return undefined;
    const meta = await this.source.json(this.key(found.variant, "meta"));
    if (this.replayKey !== wanted || !meta) return undefined;
    [this.variant, this.replayed] = [found.variant, found];
    this.metas.set(found.variant, meta);
    this.addPictures(found.variant);
    this.controlsKey = "";
    return this.changed();
  }

  /** What stands below the pictures. */
  async under() {
    const { state, nodes } = this;
    const variant = this.chosen ? this.chosen.variant : 0;
    const wanted = {
      moment: `at/${state.slot}`, flame: `flame/${state.slot}`, modules: `modules/${state.slot}`,
      block: state.block !== null ? `block/${state.block}` : state.find ? `find/${encodeURIComponent(state.find)}` : null,
      compare: null,
    }[state.tab];
    const other = state.other ?? (state.recording === 0 ? 1 : 0);
    const key = state.tab === "compare" ? `compare/${Math.min(state.recording, other)}/${Math.max(state.recording, other)}` : wanted && this.key(variant, wanted);
    this.findHoles();
    const shown = `${key} ${state.part} ${this.scheme} ${nodes.under.clientWidth}`;
    if (shown === this.shownKey) return;
    this.shownKey = shown;
    const note = (text) => fill(nodes.under, [element("p", { class: "note" }, text)]);
    if (!key) return note("Click a block on the map, or search for a line, a size or an address.");
    if (!this.source.has(key)) return note("This file does not hold that: `oomph view FILE` shows it. It holds the peak and the first failure.");
    const found = await this.source.json(key);
    if (shown !== this.shownKey) return undefined;
    if (!found) return note("There is no answer to that.");
    const pick = (block) => {
      this.chosen = { ...block, variant };
      this.state.set({ block: block.id, tab: "block", slot: block.from });
      this.showBlockAt(block);
    };
    if (state.tab === "moment") showSlice(nodes.under, this, found, this.meta, (id) => this.state.set({ block: id, tab: "block", find: "" }));
    else if (state.tab === "flame") showFlame(nodes.under, this, found);
    else if (state.tab === "modules") showModules(nodes.under, this, found);
    else if (state.tab === "compare") showCompared(nodes.under, this, found, this.names(other));
    else if (state.block !== null) {
      this.chosen = { ...found.block, variant };
      showBlock(nodes.under, this, found, this.metaOf(variant) || this.meta, pick);
      this.redraw();
    } else showFound(nodes.under, this, state.find, found, pick, (slot) => this.show(slot));
    return undefined;
  }

  names(other) {
    const [first, second] = [Math.min(this.state.recording, other), Math.max(this.state.recording, other)];
    return [this.list[first].name, this.list[second].name];
  }

  /** Brings a block into view. */
  showBlockAt(block) {
    const [x0, x1] = [this.axis.x(block.from), this.axis.x(block.to)];
    const [from, to] = [this.state.from ?? 0, this.state.to ?? this.axis.end];
    if (x1 < from || x0 > to) this.look((x0 + x1) / 2 - (to - from) / 2, (x0 + x1) / 2 + (to - from) / 2);
  }

  /** The holes at a failure, which the map draws. */
  async findHoles() {
    const slot = this.state.slot;
    for (const [variant, meta] of this.metas) {
      const failure = meta.failures.find((failed) => failed.slot === slot);
      const name = `${variant} ${slot}`;
      const key = this.key(variant, `at/${slot}`);
      if (!failure || this.holes.has(name) || !this.source.has(key)) continue;
      this.holes.set(name, []);
      const found = await this.source.json(key);
      if (!found) continue;
      this.holes.set(name, holesFor(found, failure, meta));
      this.redraw();
    }
  }

  async copyText() {
    const { nodes, state } = this;
    const lines = [document.title, this.list[state.recording].name, this.meta.run, nodes.chosen.textContent];
    const parts = [...nodes.legend.querySelectorAll("button")].map((one) => `  ${one.textContent}`);
    lines.push(...parts, nodes.under.innerText);
    await copy(lines.join("\n"), (text) => this.status(text));
  }

  async picture(kind) {
    const picture = (of, name) => ({ panel: of.panel, name, draw: () => of.draw() });
    const all = [picture(this.timelines[0], `Memory in use by ${this.state.part}, as recorded`), this.timelines[1] && picture(this.timelines[1], `As replayed: ${this.replayed.title}`),
      picture(this.maps[0], "Addresses over time"), this.maps[1] && picture(this.maps[1], "Addresses, as replayed")].filter(Boolean);
    const text = asSvg(this, all, document.title);
    this.redraw();
    this.lastPicture = kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await asPng(text);
    save(`oomph-view.${kind}`, this.lastPicture);
  }

  status(text) {
    this.nodes.status.textContent = text;
    setTimeout(() => { this.nodes.status.textContent = ""; }, 4000);
  }

  typed(event) {
    if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const panel = this.timelines[0].panel;
    const middle = [panel.width / 2, this.maps[0].panel.drawn / 2];
    const [low, high] = [this.state.low ?? 0, this.state.high ?? 1];
    const acts = {
      ArrowLeft: () => this.move(panel, panel.width / 8, 0), ArrowRight: () => this.move(panel, -panel.width / 8, 0),
      ArrowUp: () => this.lookAt(low + (high - low) / 8, high + (high - low) / 8), ArrowDown: () => this.lookAt(low - (high - low) / 8, high - (high - low) / 8),
      "+": () => this.zoom(panel, ...middle, 0.6, false), "=": () => this.zoom(panel, ...middle, 0.6, false), "-": () => this.zoom(panel, ...middle, 1 / 0.6, false),
      "]": () => this.zoom(this.maps[0].panel, ...middle, 0.6, true), "[": () => this.zoom(this.maps[0].panel, ...middle, 1 / 0.6, true),
      0: () => this.state.set({ from: null, to: null, low: null, high: null }),
      e: () => this.chooseAxis("events"), t: () => axisOf("time", this.meta, this.steps) && this.chooseAxis("time"), s: () => axisOf("steps", this.meta, this.steps) && this.chooseAxis("steps"),
      p: () => this.show(this.meta.peak), f: () => this.meta.failures.length && this.show(this.meta.failures[0].slot),
      "/": () => this.nodes.head.querySelector("input").focus(), c: () => this.copyText(),
      Escape: () => { this.chosen = this.stretch = null; this.state.set({ block: null, find: "" }); },
    };
    PARTS.forEach((part, at) => { acts[at + 1] = () => (part !== "class" || this.meta.has_classes) && this.state.set({ part }); });
    const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
    if (vertical && !event.shiftKey && !document.activeElement.classList.contains("panel")) return;
    const act = acts[event.key] || acts[event.key.toLowerCase()];
    if (act) {
      event.preventDefault();
      act();
    }
  }
}

const app = new App();
app.readTile = timelineTile;
globalThis.oomphView = app;
app.start().catch((error) => {
  fill(document.getElementById("page"), [element("p", { class: "cause" }, `The page cannot show this: ${error.message}. Is \`oomph view\` still running?`)]);
});
