// What is looked at. It is kept in the address behind #, so that a link restores it.

const DEFAULTS = {
  recording: 0, part: "", axis: "events", from: null, to: null, low: null, high: null, slot: null, block: null, tab: "moment",
  settings: null, limit: null, without: null, class: null, stream: null, pool: null, find: "", other: null,
};
const MOVES = ["from", "to", "low", "high"];
const NUMBERS = ["recording", "from", "to", "low", "high", "slot", "block", "without", "class", "stream", "pool", "other"];

/** The view, and who wants to know that it changes. */
export class State {
  constructor() {
    Object.assign(this, DEFAULTS);
    this.listeners = [];
    this.movers = [];
    this.read();
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) === this.written) return;
      Object.assign(this, DEFAULTS);
      this.read();
      this.tell();
    });
  }

  read() {
    for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
      if (!(key in DEFAULTS)) continue;
      const number = Number(value);
      if (!NUMBERS.includes(key)) this[key] = value.slice(0, 400);
      else if (Number.isFinite(number) && value !== "") this[key] = number;
    }
  }

  /** Changes the view; the address follows a little later, so that moving stays quick. */
  set(changes) {
    Object.assign(this, changes);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), 150);
    if (Object.keys(changes).every((key) => MOVES.includes(key))) this.movers.forEach((mover) => mover());
    else this.tell();
  }

  /** The part of the address behind #. */
  fragment() {
    const words = new URLSearchParams();
    for (const [key, usual] of Object.entries(DEFAULTS)) {
      if (this[key] === usual || this[key] === null || this[key] === "") continue;
      words.set(key, NUMBERS.includes(key) ? String(Number(this[key].toPrecision(12))) : this[key]);
    }
    return words.toString();
  }

  write() {
    this.written = this.fragment();
    history.replaceState(null, "", `#${this.written}`);
  }

  onChange(listener) { this.listeners.push(listener); }
  /** Only what is seen of the axes has changed. */
  onMove(mover) { this.movers.push(mover); }
  tell() { this.listeners.forEach((listener) => listener()); }

  /** The filter as the server reads it. */
  only() {
    const parts = ["class", "stream", "pool"].filter((name) => this[name] !== null).map((name) => `${name}=${this[name]}`);
    return parts.length ? `?only=${parts.join(",")}` : "";
  }
}
