// One moment: every segment with its blocks and holes, all on one scale.

import { element, fill } from "./dom.js";
import { counted, size } from "./numbers.js";
import { css } from "./colours.js";
import { svg } from "./paint_svg.js";

const ROW = 15;
const STEP = 20;
const MOST_ROWS = 60;
const PAGE = 2 ** 21;

/** Rows of one length, filled from the first; what is longer goes on in the next. */
function placed(segments, row) {
  const filled = [];
  const sorted = [...segments].sort((a, b) => b.size - a.size);
  return sorted.map((segment) => {
    const free = filled.findIndex((used) => used + segment.size <= row);
    if (free >= 0) {
      const at = free * row + filled[free];
      filled[free] += segment.size;
      return { segment, at };
    }
    const at = filled.length * row;
    for (let left = segment.size; left > 0; left -= row) filled.push(Math.min(left, row));
    return { segment, at };
  });
}

/** The parts of a stretch, row by row. */
function spans(at, length, row) {
  const found = [];
  for (let from = at; from < at + length;) {
    const n = Math.floor(from / row);
    const to = Math.min(at + length, (n + 1) * row);
    found.push({ x: (from - n * row) / row, width: (to - from) / row, y: n * STEP });
    from = to;
  }
  return found;
}

/** The sums of a moment. */
export function sums(slice) {
  let [held, used, blocks, holes, largest] = [0, 0, 0, 0, 0];
  for (const segment of slice.segments) {
    held += segment.size;
    for (const [length, id] of segment.pieces) {
      if (id !== undefined) {
        used += length;
        blocks += 1;
      } else {
        holes += 1;
        largest = Math.max(largest, length);
      }
    }
  }
  return { held, used, blocks, holes, largest };
}

/** Shows a moment. `pick` is told which block was clicked. */
export function showSlice(into, app, slice, meta, pick) {
  const { held, used, blocks, holes, largest } = sums(slice);
  const failure = meta.failures.find((failed) => failed.slot === slice.slot);
  const total = Math.max(held, failure ? failure.size : 0, 1);
  const longest = slice.segments.reduce((most, segment) => Math.max(most, segment.size), 0);
  const least = Math.max(longest <= total / 6 ? longest : 0, failure ? failure.size : 0, total / 20, 1);
  // A whole number, so that no rest is left at the end of a row.
  const row = Math.ceil(least / PAGE) * PAGE;
  const all = placed(slice.segments, row);
  const part = Object.keys(meta.parts).indexOf(app.state.part);
  const names = meta.parts[app.state.part];
  const width = Math.max(into.clientWidth - 4, 200);
  const top = failure ? STEP + 6 : 0;
  const rects = [];
  const rect = (span, fill, more, text) => rects.push(svg("rect", { x: span.x * width, y: top + span.y, width: Math.max(span.width * width, 0.2), height: ROW, fill, ...more }, svg("title", {}, text)));
  for (const { segment, at } of all) {
    let place = at;
    for (const [length, id, groups] of segment.pieces) {
      for (const span of spans(place, length, row)) {
        if (span.y / STEP > MOST_ROWS || span.width * width < 0.15) continue;
        if (id === undefined) rect(span, css(app.colours.held), { class: "hole" }, `a hole of ${size(length)}`);
        else rect(span, css(app.colours.shade(app.colours.group(app.state.part, names, groups[part]), id)), { "data-id": id }, `${size(length)} ${names[groups[part]]}`);
      }
      place += length;
    }
    const about = `segment of ${size(segment.size)}, ${meta.pools[segment.pool]}, ${meta.streams[segment.stream] || "stream 0x0"}${segment.small ? ", for requests up to 1 MiB" : ""}${segment.pages ? ", expandable" : ""}`;
    for (const span of spans(at, segment.size, row)) rect(span, "none", { stroke: css(app.colours.ink, 0.55), "pointer-events": "none" }, about);
  }
  if (failure) {
    const span = { x: 0, width: failure.size / row, y: -top };
    rect(span, css(app.colours.bad, 0.3), { stroke: css(app.colours.bad) }, "the request that failed, to scale");
    const words = `${size(failure.size)} was asked for${width < 600 ? "" : ": drawn to the same scale"}`;
    rects.push(svg("text", { x: Math.max(Math.min(failure.size / row * width + 6, width - words.length * 6.8), 4), y: 12, "font-size": 12, fill: css(app.colours.bad), class: "halo" }, words));
  }
  const height = top + Math.min(Math.max(...all.map(({ at, segment }) => Math.ceil((at + segment.size) / row)), 1), MOST_ROWS) * STEP;
  const picture = svg("svg", { width, height, role: "img", "aria-label": "Segments and their blocks" }, ...rects);
  picture.addEventListener("click", (event) => { if (event.target.dataset.id) pick(Number(event.target.dataset.id)); });
  const told = `${counted(slice.segments.length, "segment")}, ${size(held)} held: ${size(used)} in use in ${counted(blocks, "block")}, ${size(held - used)} in ${counted(holes, "hole")}${holes ? `, the largest of ${size(largest)}` : ""}. A row is ${size(row)}.`;
  fill(into, [element("p", { class: "note" }, `${app.moment(slice.slot)}: ${told}`), picture]);
}

/** The holes of the pool and stream that a failed request asked, with their units on the map. */
export function holesFor(slice, failure, meta) {
  const starts = meta.stretches.map(([addr, length, at]) => [BigInt(addr), length, at]);
  const unitOf = (addr) => {
    const found = starts.findLast(([start]) => start <= addr);
    return found ? found[2] + Number(addr - found[0]) / meta.unit : 0;
  };
  const holes = [];
  const small = failure.size <= 2 ** 20;
  for (const segment of slice.segments) {
    if (segment.stream !== failure.stream || segment.pool !== failure.pool || (segment.small !== small && !segment.pages)) continue;
    let addr = BigInt(segment.addr);
    for (const [length, id] of segment.pieces) {
      if (id === undefined) holes.push({ size: length, units: [unitOf(addr), unitOf(addr) + length / meta.unit] });
      addr += BigInt(length);
    }
  }
  return holes;
}
