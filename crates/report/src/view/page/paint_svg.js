// Rectangles as SVG, for papers.

import { css } from "./colours.js";

const SVG = "http://www.w3.org/2000/svg";

/** An element of SVG. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, String(value)));
  made.append(...children);
  return made;
}

/** The same painter, into a group of an SVG. */
export class PaintSvg {
  begin(width, height, ground) {
    this.size = [width, height];
    this.group = svg("g", {}, svg("rect", { width, height, fill: css(ground) }));
  }

  upload(batch) { return batch; }

  /** What was uploaded elsewhere still has its batch. */
  draw(handle, ox, sx, oy, sy) {
    const { rects, colours, length } = handle.batch || handle;
    const [width, height] = this.size;
    const fixed = (value) => Number(value.toFixed(2));
    for (let at = 0; at < length; at += 1) {
      const x0 = Math.max((rects[at * 4] - ox) * sx, 0);
      const x1 = Math.min((rects[at * 4 + 1] - ox) * sx, width);
      const ends = [(rects[at * 4 + 2] - oy) * sy, (rects[at * 4 + 3] - oy) * sy];
      const y0 = Math.max(Math.min(...ends), 0);
      const y1 = Math.min(Math.max(...ends), height);
      if (x1 - x0 < 0.05 || y1 - y0 < 0.05) continue;
      const box = { x: fixed(x0), y: fixed(y0), width: fixed(x1 - x0), height: fixed(y1 - y0) };
      const fill = css(colours.subarray(at * 4, at * 4 + 3), fixed(colours[at * 4 + 3] / 255));
      this.group.append(svg("rect", { ...box, fill }));
    }
  }

  release() {}
}
