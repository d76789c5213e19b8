// Rectangles on a plain canvas, for browsers without WebGL2. A pixel is filled if its middle lies in the rectangle, as there.

import { PaintGl } from "./paint_gl.js";
import { css } from "./colours.js";

/** The same painter without a graphics card. */
export class Paint2d {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
  }

  begin(width, height, ground) {
    const { canvas, context } = this;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    context.fillStyle = css(ground);
    context.fillRect(0, 0, width, height);
  }

  upload(batch) { return batch; }

  draw({ rects, colours, length }, ox, sx, oy, sy) {
    const { context, canvas } = this;
    const words = new Uint32Array(colours.buffer, colours.byteOffset, length);
    let last = null;
    for (let at = 0; at < length; at += 1) {
      const x0 = Math.max(Math.round((rects[at * 4] - ox) * sx), 0);
      const x1 = Math.min(Math.round((rects[at * 4 + 1] - ox) * sx), canvas.width);
      const ya = Math.round((rects[at * 4 + 2] - oy) * sy);
      const yb = Math.round((rects[at * 4 + 3] - oy) * sy);
      const [y0, y1] = ya < yb ? [ya, yb] : [yb, ya];
      if (x0 >= x1 || y0 >= y1 || y1 <= 0 || y0 >= canvas.height) continue;
      if (words[at] !== last) {
        last = words[at];
        context.fillStyle = css(colours.subarray(at * 4, at * 4 + 3), colours[at * 4 + 3] / 255);
      }
      context.fillRect(x0, y0, x1 - x0, y1 - y0);
    }
  }

  release() {}
}

/** The best painter that the browser has; `?plain` in the address asks for the plain one. */
export function painterFor(canvas) {
  if (!new URLSearchParams(location.search).has("plain")) {
    try {
      return new PaintGl(canvas);
    } catch {
      // A canvas that was asked for WebGL2 in vain is as good as new.
    }
  }
  return new Paint2d(canvas);
}
