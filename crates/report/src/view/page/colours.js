// Colours: those of the style sheet, as numbers.

const GROUPS = 16;
const CLASSES = {
  weights: 0, gradients: 3, "optimizer state": 1, buffers: 6, workspaces: 7, activations: 2, "optimizer temporaries": 4,
};

function parsed(text) {
  const digits = text.trim().replace("#", "");
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16));
}

function mixed(a, b, share) {
  return a.map((value, at) => Math.round(value * (1 - share) + b[at] * share));
}

/** All colours of the scheme that is in force. */
export class Colours {
  constructor() {
    const style = getComputedStyle(document.documentElement);
    const named = (name) => parsed(style.getPropertyValue(`--${name}`));
    this.card = named("card");
    this.ink = named("ink");
    this.soft = named("soft");
    this.line = named("line");
    this.bad = named("bad");
    this.trapped = named("trapped");
    this.held = mixed(this.card, named("trapped-wash"), 0.9);
    this.rest = named("hx");
    this.groups = Array.from({ length: 8 }, (_, at) => named(`h${at}`));
  }

  /** The colour of a group: the same for the same class everywhere, else by rank. */
  group(part, names, rank) {
    const name = names[rank] || "";
    if (part === "class") {
      if (name in CLASSES) return this.groups[CLASSES[name]];
      return name === "rounding" ? mixed(this.rest, this.card, 0.45) : this.rest;
    }
    if (rank === GROUPS - 1 || name === "no stack recorded" || name === "not marked") return this.rest;
    const base = this.groups[rank % 8];
    return rank < 8 ? base : mixed(base, this.card, 0.45);
  }

  /** A neighbour of a colour, so that blocks side by side can be told apart. */
  shade(colour, id) {
    return mixed(colour, this.ink, [0, 0.09, 0.18][id % 3]);
  }
}

/** As CSS writes it. */
export function css(colour, alpha = 1) {
  return `rgba(${colour[0]},${colour[1]},${colour[2]},${alpha})`;
}
