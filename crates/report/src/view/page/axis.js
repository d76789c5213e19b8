// Time along x: events, the clock, or steps. Each is a rising line from slots to x and back.

import { count, duration, roundStep } from "./numbers.js";

function between(points, from, to, value) {
  let low = 0;
  let high = points.length - 1;
  if (high < 1) return points.length ? points[0][to] : 0;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][from] <= value) low = middle;
    else high = middle;
  }
  const [a, b] = [points[low], points[high]];
  const length = b[from] - a[from];
  const share = length > 0 ? (value - a[from]) / length : 0;
  return a[to] + share * (b[to] - a[to]);
}

/** The axis of events: a slot is its own place. */
class Events {
  constructor(slots) { this.end = slots; }
  x(slot) { return slot; }
  slot(x) { return x; }
  name(x) { return `event ${count(Math.floor(x))}`; }
  tick(x) { return count(x); }
}

/** An axis through points `[slot, x]`, both rising. */
class Line {
  constructor(points, name, tick) {
    this.points = points;
    this.end = points[points.length - 1][1];
    this.name = name;
    this.tick = tick;
  }

  x(slot) { return between(this.points, 0, 1, slot); }
  slot(x) { return between(this.points, 1, 0, x); }
}

/** Points whose second value always rises, by a little where it stood still. */
function rising(points) {
  const least = (points[points.length - 1][1] || 1) * 1e-7;
  for (let at = 1; at < points.length; at += 1) {
    points[at][1] = Math.max(points[at][1], points[at - 1][1] + least);
  }
  return points;
}

/** The axis of this name, or null where the recording does not tell. */
export function axisOf(name, meta, steps) {
  if (name === "time" && meta.clock && meta.clock.length > 1) {
    const points = meta.clock.map((point) => [...point]);
    points.push([meta.slots, points[points.length - 1][1]]);
    return new Line(rising(points), (x) => `${duration(x)} after the start`, duration);
  }
  if (name === "steps" && steps.length > 1) {
    const points = steps.map(([slot, number]) => [slot, number]);
    if (points[0][0] > 0) points.unshift([0, points[0][1] - 1]);
    const last = points[points.length - 1];
    if (last[0] < meta.slots) points.push([meta.slots, last[1] + 1]);
    const first = points[0][1];
    const line = new Line(rising(points.map(([slot, number]) => [slot, number - first])), null, null);
    line.name = (x) => `step ${count(Math.floor(x + first))}`;
    line.tick = (x) => count(x + first);
    return line;
  }
  return name === "events" ? new Events(meta.slots) : null;
}

/** Round places on an axis from `from` to `to`. */
export function ticks(from, to, wanted, base = 10, least = 0) {
  const step = Math.max(roundStep(to - from, wanted, base), least);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to && found.length < 100; at += step) found.push(at);
  return found;
}
