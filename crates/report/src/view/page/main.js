// The page: what it is made of, and what happens when something is touched.

import { axisOf } from "./axis.js";
import { Colours, css } from "./colours.js";
import { sayChosen } from "./chosen.js";
import { showCompared } from "./compare.js";
import { showControls } from "./controls.js";
import { showBlock, showFound } from "./details.js";
import { copy, element, fill, save } from "./dom.js";
import { showFlame, showModules } from "./flame.js";
import { HELP, typed } from "./keys.js";
import { SegmentMap } from "./map.js";
import { count, duration } from "./numbers.js";
import { svg } from "./paint_svg.js";
import { asPng, asSvg } from "./pictures.js";
import { outcome } from "./replay.js";
import { holesFor, showSlice } from "./slice.js";
import { Source } from "./source.js";
import { State } from "./state.js";
import { MERGED, timelineTile } from "./tiles.js";
import { Timeline } from "./timeline.js";
import { showVerdict } from "./verdict.js";

/** Milliseconds after which a view stands still, and between questions while it moves. */
const STILL = 120;
const SELDOM = 400;
/** Events from which on the verdict waits for the first picture; and for how long, in milliseconds. */
const LONG = 1e6;
const UNSEEN = 1000;

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
    this.firstPicture = new Promise((done) => { this.hasDrawn = done; });
    this.shownKey = "";
  }

  async start() {
    const list = await this.source.json("list");
    if (list === null) {
      fill(document.getElementById("page"), [element("p", { class: "cause" }, "`oomph view` has ended: its terminal says why.")]);
      return;
    }
    this.list = list.recordings;
    this.state.recording = Math.min(this.state.recording, this.list.length - 1);
    this.build();
    this.source.whenLost = () => { this.nodes.status.textContent = "`oomph view` has ended: start it again, and open the new address."; };
    await this.open();
    this.state.onChange(() => this.changed());
    this.state.onMove(() => {
      this.movedAt = performance.now();
      this.redraw();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours = new Colours();
      this.scheme += 1;
      this.changed();
    });
    new ResizeObserver(() => this.redraw()).observe(this.nodes.pictures);
    addEventListener("keydown", (event) => typed(this, event));
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
    // To explain a long recording takes all cores, so the picture comes first; a page that nobody looks at draws none.
    if (meta.slots > LONG) await Promise.race([this.firstPicture, new Promise((done) => { setTimeout(done, UNSEEN); })]);
    const verdict = await this.source.json(`${of}/verdict`);
    if (of !== this.state.recording || !verdict) return;
    this.verdict = verdict;
    if (this.steps.length < 2) this.steps = verdict.steps;
    showVerdict(this.nodes.verdict, verdict, meta.parts.line, (slot) => this.show(slot));
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

  /** The top of the scale of bytes: the same for all pictures. The limit and the card are on it, unless they are far above. */
  top() {
    const all = [...this.metas.values()];
    const most = Math.max(...all.map((meta) => meta.peaks.reserved), 1);
    const ceilings = all.flatMap((meta) => [meta.limit || 0, (meta.card && meta.card.total) || 0]);
    return Math.max(most, ...ceilings.filter((ceiling) => ceiling < most * 2.2)) * 1.06;
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
    showControls(this);
    this.replay();
    this.under();
    this.redraw();
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      const begun = performance.now();
      this.asks = this.mayAsk();
      [...this.timelines, ...this.maps].forEach((picture) => picture && picture.draw());
      this.frames.push(performance.now() - begun);
      if (this.frames.length > 2000) this.frames.shift();
      if (this.timelines[0].drawn && this.timelines[0].drawn.length && !document.documentElement.dataset.drawn) {
        document.documentElement.dataset.drawn = String(performance.timeOrigin + performance.now());
        this.hasDrawn();
      }
    });
  }

  /** Whether tiles may be asked for: while the view moves, only if none is on its way, and not too often. */
  mayAsk() {
    const now = performance.now();
    const stands = now - (this.movedAt ?? -Infinity) > STILL;
    const asks = stands || (this.source.waiting.size === 0 && now - (this.askedAt ?? 0) > SELDOM);
    if (asks) this.askedAt = now;
    else {
      clearTimeout(this.askTimer);
      this.askTimer = setTimeout(() => this.redraw(), STILL + 10);
    }
    return asks;
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
    sayChosen(this);
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

  told(variant, words) {
    if (variant === 0 && this.nodes.note.textContent !== words) this.nodes.note.textContent = words;
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

  /** What is asked for where a replay is chosen, or null. A file has what a line holds at the moment of its verdict. */
  replayOf({ settings, limit, without }) {
    if (without !== null) return `without/${without}/${(this.source.isFile && this.verdict ? this.verdict : this.state).slot}`;
    return settings === null ? null : `replay/${encodeURIComponent(settings)}/${encodeURIComponent(limit || "")}`;
  }

  /** Whether a replay is to be had. */
  hasReplay(what) {
    return this.source.has(`${this.state.recording}/${this.replayOf(what)}`);
  }

  /** Asks for the replay that the view names, if it is not there. */
  async replay() {
    const { state } = this;
    const wanted = this.replayOf(state);
    if (state.without !== null && this.replayKey && this.replayKey.startsWith(`without/${state.without}/`)) return;
    if (wanted === this.replayKey || (wanted && !this.hasReplay(state))) return;
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
    else if (state.tab === "compare") showCompared(nodes.under, found);
    else if (state.block !== null) {
      this.chosen = { ...found.block, variant };
      showBlock(nodes.under, this, found, this.metaOf(variant) || this.meta, pick);
      this.redraw();
    } else showFound(nodes.under, this, state.find, found, pick, (slot) => this.show(slot));
    return undefined;
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

}

const app = new App();
app.readTile = timelineTile;
globalThis.oomphView = app;
app.start().catch((error) => {
  fill(document.getElementById("page"), [element("p", { class: "cause" }, `The page cannot show this: ${error.message}. Is \`oomph view\` still running?`)]);
});
